import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Accounts } from './accounts/accounts.ts'
import { createIdempotency } from './accounts/idempotency.ts'
import { KeyRing } from './accounts/key-ring.ts'
import { Ledger } from './accounts/ledger.ts'
import { ENDPOINTS } from './api/endpoints/list.ts'
import type { Readiness, Services } from './api/endpoints/services.ts'
import { WITHDRAWN } from './api/endpoints/withdrawn.ts'
import { docsFiles } from './api/http/docs-page.ts'
import { startHttp } from './api/http/server.ts'
import { asyncapiDocument } from './api/publish/asyncapi.ts'
import { featuresOf, sourcesCatalog } from './api/publish/catalog.ts'
import { checkDeclarations } from './api/publish/check.ts'
import { openapiDocument } from './api/publish/openapi.ts'
import { routesOf } from './api/publish/router.ts'
import { startChain } from './app/chain.ts'
import { startDashboard } from './app/dashboard.ts'
import { openDeliveryStore, startDelivery } from './app/delivery.ts'
import { checkVenueSettings } from './app/live-setting.ts'
import { startMarket } from './app/market.ts'
import { openAccounts } from './app/open-accounts.ts'
import type { Probe } from './app/parts.ts'
import { serviceStatus } from './app/status.ts'
import type { Config } from './config.ts'
import { cursorCodec } from './core/cursor.ts'
import type { Environment } from './core/environment.ts'
import type { Plan } from './core/plan.ts'
import { DAY_MS } from './core/time.ts'
import { eventSchema } from './events/event.ts'
import { createGate } from './gate/gate.ts'
import { createSlowDown } from './gate/slow-down.ts'
import { createStreamDoor } from './gate/stream-door.ts'
import type { Clock } from './kit/clock.ts'
import type { Logger } from './kit/log.ts'
import { createMetrics } from './kit/metrics.ts'
import { createSecretBox } from './kit/secret-box.ts'
import { createShutdown } from './kit/shutdown.ts'
import { type AccountsStore, ConflictError } from './store/accounts.ts'
import type { Hub } from './stream/hub.ts'

/**
 * The composition root. Together with the files in app/ it is the only place that names concrete engines,
 * venues and nodes.
 */
export interface Service {
  readonly url: string
  readonly metricsUrl: string | null
  /** The key of a first start; later starts do not know it any more. */
  readonly firstKey: string | undefined
  /** Opens the operator's account once; there while no operator exists. */
  readonly operatorToken: string | undefined
  stop(): Promise<{ clean: boolean; failures: { name: string; reason: string }[] }>
}

const LEDGER_PRUNE_INTERVAL_MS = 3_600_000
const SECRET_BYTES = 32
/** The rest of the time is for what has to be written down. */
const HTTP_SHARE_OF_SHUTDOWN = 0.6
const DEMO_EMAIL = 'demo@localhost'

export async function startService(
  config: Config,
  deps: { clock: Clock; log: Logger; version: string },
): Promise<Service> {
  const { clock, log } = deps
  checkDeclarations(ENDPOINTS)
  checkVenueSettings(config)
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

  const startedAtMs = clock.now()
  const probes: Probe[] = [{ name: 'accounts', check: () => store.probe() }]
  const common = {
    about: { version: deps.version, startedAtMs },
    readiness: () => askParts(probes),
    documents: {
      openapi: JSON.stringify(openapiDocument(ENDPOINTS)),
      asyncapi: JSON.stringify(asyncapiDocument(eventSchema)),
    },
    sourcesCatalog: sourcesCatalog(ENDPOINTS),
    features: (plan: Plan) => featuresOf(ENDPOINTS, plan),
  }
  const box = createSecretBox(secretFile(join(config.data, 'webhook.key')))
  const cursors = cursorCodec(secretFile(join(config.data, 'cursor.key')))
  const services: Partial<Record<Environment, Services>> = {}
  const hubs: Partial<Record<Environment, Hub>> = {}
  const recordings: (() => void)[] = []
  const slowDown = createSlowDown(clock)
  for (const environment of runningEnvironments(config)) {
    const parts = { environment, config, clock, log, metrics, shutdown, probes }
    const market = await startMarket(parts, cursors)
    recordings.push(market.record)
    const deliveries = openDeliveryStore(parts)
    const chain = await startChain(parts, cursors, await deliveries.highestSeq())
    const delivery = await startDelivery(parts, {
      store: deliveries,
      events: chain.index.events.store,
      tail: chain.index.events.tail,
      watched: chain.index.watched,
      network: chain.upstreams.network,
      ledger,
      accounts: store,
      plans,
      box,
    })
    hubs[environment] = delivery.hub
    services[environment] = {
      ...common,
      ...market.services,
      ...chain.services,
      ...delivery.services,
      status: async () =>
        serviceStatus(
          environment,
          market.ingestion(),
          chain.nodes(),
          await chain.index.indexing(),
          await delivery.deliveries(),
        ),
    }
  }

  const gate = createGate<Services>({
    keys,
    ledger,
    idempotency: createIdempotency({ store, clock, box }),
    slowDown,
    clock,
    log,
    services,
    openServices: openServices(common),
    plans: plans.list(),
    upgradeUrl: config.publicUrl ?? '/',
  })
  const routes = routesOf(ENDPOINTS)
  const { dashboard, sessionDoor, inviteOperator } = startDashboard({
    ...{ config, clock, log, version: deps.version, store, plans, accounts },
    ...{ keys, gate, routes, services, box },
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
    routes,
    dashboard,
    withdrawn: WITHDRAWN,
    docs: docsFiles(),
    metrics,
    log,
    stream: { door: createStreamDoor({ keys, slowDown, clock }), sessionDoor, hubs },
  })
  shutdown.add('http', () => http.close(config.shutdownSeconds * 1000 * HTTP_SHARE_OF_SHUTDOWN))
  for (const record of recordings) record()
  const firstKey = await createDemoAccount(store, accounts)
  return {
    url: http.url,
    metricsUrl: http.metricsUrl,
    firstKey,
    operatorToken: await inviteOperator(),
    stop: () => shutdown.run(config.shutdownSeconds * 1000),
  }
}

function runningEnvironments(config: Config): Environment[] {
  const live = config.live.length > 0 || config.nodes.length > 0
  return [...(config.test ? (['test'] as const) : []), ...(live ? (['live'] as const) : [])]
}

/** Open endpoints have no environment; whatever of it they touched would be a mistake. */
function openServices(
  common: Omit<Services, 'market' | 'chain' | 'chainIndex' | 'webhooks' | 'symbols' | 'status'>,
): Services {
  const none = (): never => {
    throw new Error('an open endpoint has no environment')
  }
  return {
    ...common,
    symbols: none,
    status: none,
    get market(): never {
      return none()
    },
    get chain(): never {
      return none()
    },
    get chainIndex(): never {
      return none()
    },
    get webhooks(): never {
      return none()
    },
  }
}

async function askParts(probes: readonly Probe[]): Promise<Readiness> {
  const parts = await Promise.all(probes.map(({ name, check }) => askPart(name, check)))
  return { ready: parts.every((part) => part.ok), parts }
}

async function askPart(name: string, check: () => Promise<void>): Promise<Readiness['parts'][number]> {
  try {
    await check()
    return { name, ok: true }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}

/** A secret of this installation, made on first use and kept in the data folder. */
function secretFile(file: string): Buffer {
  if (!existsSync(file)) {
    // Two processes may start on one empty folder: the file appears whole, and the first one wins.
    const own = `${file}.${process.pid}`
    writeFileSync(own, randomBytes(SECRET_BYTES), { mode: 0o600 })
    try {
      linkSync(own, file)
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error
    } finally {
      rmSync(own)
    }
  }
  const secret = readFileSync(file)
  if (secret.length !== SECRET_BYTES) throw new Error(`${file} is not a secret of ${SECRET_BYTES} bytes`)
  return secret
}

/** An empty data folder gets a demo account and one test key, once. */
async function createDemoAccount(store: AccountsStore, accounts: Accounts): Promise<string | undefined> {
  if ((await store.listAccounts()).length > 0) return undefined
  const account = await accounts.create({ email: DEMO_EMAIL, plan: 'business' }).catch((error: unknown) => {
    // Another process started on the same empty folder at the same moment: the key is its to print.
    if (error instanceof ConflictError) return undefined
    throw error
  })
  if (account === undefined) return undefined
  const { key } = await accounts.createKey({ accountId: account.id, environment: 'test', name: 'demo' })
  return key
}
