import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Accounts, createAccounts } from './accounts/accounts.ts'
import { createIdempotency } from './accounts/idempotency.ts'
import { KeyRing } from './accounts/key-ring.ts'
import { Ledger } from './accounts/ledger.ts'
import { type PlanBook, planBook } from './accounts/plans.ts'
import { ENDPOINTS } from './api/endpoints/list.ts'
import type { Readiness, Services } from './api/endpoints/services.ts'
import { WITHDRAWN } from './api/endpoints/withdrawn.ts'
import { docsFiles } from './api/http/docs-page.ts'
import { startHttp } from './api/http/server.ts'
import { featuresOf, sourcesCatalog, symbolsCatalog } from './api/publish/catalog.ts'
import { checkDeclarations } from './api/publish/check.ts'
import { openapiDocument } from './api/publish/openapi.ts'
import { routesOf } from './api/publish/router.ts'
import type { Config } from './config.ts'
import type { Environment } from './core/environment.ts'
import { DAY_MS } from './core/time.ts'
import { createGate } from './gate/gate.ts'
import { createSlowDown } from './gate/slow-down.ts'
import type { Clock } from './kit/clock.ts'
import type { Logger } from './kit/log.ts'
import { createMetrics } from './kit/metrics.ts'
import { createShutdown } from './kit/shutdown.ts'
import type { AccountsStore } from './store/accounts.ts'
import { openSqliteAccounts } from './store/sqlite/accounts.ts'

/** The composition root: the only file that names concrete engines, venues and nodes. */
export interface Service {
  readonly url: string
  readonly metricsUrl: string | null
  /** The key of a first start; later starts do not know it any more. */
  readonly firstKey: string | undefined
  stop(): Promise<{ clean: boolean; failures: { name: string; reason: string }[] }>
}

export interface AccountsParts {
  store: AccountsStore
  plans: PlanBook
  accounts: Accounts
}

const LEDGER_PRUNE_INTERVAL_MS = 3_600_000
const DEMO_EMAIL = 'demo@localhost'

/** Accounts and keys on this data folder; the command line uses the same as the service. */
export function openAccounts(config: Config, clock: Clock): AccountsParts {
  mkdirSync(config.data, { recursive: true })
  const plans = planBook(config.plans === null ? undefined : JSON.parse(readFileSync(config.plans, 'utf8')))
  const store = openSqliteAccounts({ file: join(config.data, 'accounts.db'), clock })
  return { store, plans, accounts: createAccounts({ store, plans, clock }) }
}

export async function startService(
  config: Config,
  deps: { clock: Clock; log: Logger; version: string },
): Promise<Service> {
  const { clock, log } = deps
  checkDeclarations(ENDPOINTS)
  const shutdown = createShutdown()
  const { store, plans, accounts } = openAccounts(config, clock)
  shutdown.add('accounts store', () => store.close())
  const metrics = createMetrics({ defaults: true })
  const ledger = new Ledger({ store, clock, log })
  const keys = new KeyRing({ store, plans, ledger })
  shutdown.add(
    'changes of accounts',
    store.watch({
      onAccounts: (ids) => {
        keys.forget(ids)
        ledger.reload(ids)
      },
      onWanted: () => ledger.yieldLeases(),
    }),
  )
  shutdown.add('ledger', () => ledger.close())
  const pruning = setInterval(() => {
    store
      .pruneLedger(clock.now() - config.ledgerDays * DAY_MS)
      .catch((err) => log.error({ err }, 'pruning failed'))
  }, LEDGER_PRUNE_INTERVAL_MS)
  pruning.unref()
  shutdown.add('pruning', () => clearInterval(pruning))

  const readiness = async (): Promise<Readiness> => {
    const parts = [await probe('accounts', () => store.probe())]
    return { ready: parts.every((part) => part.ok), parts }
  }
  const openapi = JSON.stringify(openapiDocument(ENDPOINTS))
  const catalog = sourcesCatalog(ENDPOINTS)
  const symbols = symbolsCatalog(() => null)
  const servicesOf = (environment: Environment): Services => ({
    about: { version: deps.version, startedAtMs },
    readiness,
    documents: { openapi },
    sourcesCatalog: catalog,
    features: (plan) => featuresOf(ENDPOINTS, plan),
    symbols: () => symbols,
    status: async () => ({
      status: 'ok',
      environment,
      ingestion: [],
      nodes: [],
      webhooks: { pending: 0, oldest_pending_seconds: 0 },
    }),
  })
  const startedAtMs = clock.now()
  const services: Partial<Record<Environment, Services>> = {}
  if (config.test) services.test = servicesOf('test')
  if (config.live.length > 0 || config.nodes.length > 0) services.live = servicesOf('live')

  const gate = createGate<Services>({
    keys,
    ledger,
    idempotency: createIdempotency({ store, clock }),
    slowDown: createSlowDown(clock),
    clock,
    log,
    services,
    openServices: servicesOf('test'),
    upgradeUrl: config.publicUrl ?? '/',
  })
  const http = await startHttp({
    host: config.host,
    port: config.port,
    bodyLimitBytes: config.bodyLimitBytes,
    trustedProxies: config.trustedProxies,
    corsOrigins: config.corsOrigins,
    metricsPort: config.metricsPort,
    metricsToken: config.metricsToken,
    gate,
    routes: routesOf(ENDPOINTS),
    withdrawn: WITHDRAWN,
    docs: docsFiles(),
    metrics,
    log,
  })
  shutdown.add('http', () => http.close())
  const firstKey = await createDemoAccount(store, accounts)
  return {
    url: http.url,
    metricsUrl: http.metricsUrl,
    firstKey,
    stop: () => shutdown.run(config.shutdownSeconds * 1000),
  }
}

async function probe(name: string, check: () => Promise<void>): Promise<Readiness['parts'][number]> {
  try {
    await check()
    return { name, ok: true }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}

/** An empty data folder gets a demo account and one test key, once. */
async function createDemoAccount(store: AccountsStore, accounts: Accounts): Promise<string | undefined> {
  if ((await store.listAccounts()).length > 0) return undefined
  const account = await accounts.create({ email: DEMO_EMAIL, plan: 'business' })
  const { key } = await accounts.createKey({ accountId: account.id, environment: 'test', name: 'demo' })
  return key
}
