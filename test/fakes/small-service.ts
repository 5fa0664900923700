/** The gate and the HTTP server around endpoints that a test declares, on a real store and a real socket. */
import { randomBytes } from 'node:crypto'
import { type Accounts, createAccounts } from '../../src/accounts/accounts.ts'
import { createIdempotency } from '../../src/accounts/idempotency.ts'
import { KeyRing } from '../../src/accounts/key-ring.ts'
import { Ledger } from '../../src/accounts/ledger.ts'
import { planBook } from '../../src/accounts/plans.ts'
import { createViewAllowances } from '../../src/accounts/view-allowance.ts'
import type { Certificate } from '../../src/api/http/certificate.ts'
import { startHttp } from '../../src/api/http/server.ts'
import { checkDeclarations } from '../../src/api/publish/check.ts'
import { publishedRoutes } from '../../src/api/publish/router.ts'
import type { AnyEndpoint } from '../../src/contract/endpoint.ts'
import { createAuthThrottle } from '../../src/gate/auth-throttle.ts'
import { createGate } from '../../src/gate/gate.ts'
import type { UnreadAnswers } from '../../src/gate/unread-answers.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import type { Logger } from '../../src/kit/log.ts'
import { createMetrics } from '../../src/kit/metrics.ts'
import { createSecretBox } from '../../src/kit/secret-box.ts'
import type { AccountsStore } from '../../src/store/accounts.ts'
import type { Stores } from '../../src/store/open-stores.ts'
import { type KeyRequest, makeKey } from './keys.ts'
import { dataFolder, silentLog, WIDE_PLAN } from './service.ts'
import { storesIn } from './stores.ts'

type OpenedStore = ReturnType<Stores['accounts']>

export interface SmallService {
  readonly url: string
  readonly store: AccountsStore
  readonly accounts: Accounts
  readonly ledger: Ledger
  readonly unread: UnreadAnswers
  key(request?: KeyRequest): Promise<string>
  stop(): Promise<void>
}

export async function startSmallService<Services>(options: {
  endpoints: readonly AnyEndpoint<Services>[]
  services: Services
  clock?: Clock
  log?: Logger
  plans?: readonly object[]
  trustedProxies?: readonly string[]
  corsOrigins?: readonly string[]
  bodyLimitBytes?: number
  keepAliveMs?: number
  requestTimeoutMs?: number
  certificate?: Certificate
  /** Wraps the store, for example to make it fail. */
  wrapStore?: (store: OpenedStore) => OpenedStore
}): Promise<SmallService> {
  const { endpoints, services } = options
  checkDeclarations(endpoints)
  const folder = dataFolder()
  const clock = options.clock ?? systemClock
  const log = options.log ?? silentLog
  const plans = planBook({ plans: options.plans ?? [WIDE_PLAN] })
  const opened = storesIn(folder.path, clock).accounts()
  const store = options.wrapStore?.(opened) ?? opened
  const accounts = createAccounts({ store, plans, clock, randomBytes })
  const ledger = new Ledger({ store, holder: 'small service', clock, log })
  const keys = new KeyRing({ store, plans, ledger })
  const unwatch = await store.watch({
    onAccounts: (ids) => {
      keys.forget(ids)
      ledger.reload(ids)
    },
    onWanted: () => ledger.yieldLeases(),
  })
  const gate = createGate<Services>({
    keys,
    ledger,
    idempotency: createIdempotency({ store, clock, box: createSecretBox(Buffer.alloc(32, 5), randomBytes) }),
    allowances: createViewAllowances({ store, clock }),
    authThrottle: createAuthThrottle(clock),
    clock,
    log,
    services: { test: services },
    openServices: services,
    plans: plans.list(),
    upgradeUrl: '/upgrade',
    pageCacheBytes: 1_048_576,
  })
  const http = await startHttp({
    host: '127.0.0.1',
    port: 0,
    bodyLimitBytes: options.bodyLimitBytes ?? 65_536,
    trustedProxies: options.trustedProxies ?? [],
    corsOrigins: options.corsOrigins ?? ['*'],
    metricsPort: null,
    metricsToken: null,
    gate,
    routes: publishedRoutes(endpoints),
    withdrawn: {},
    pages: [],
    ...(options.certificate === undefined ? {} : { certificate: options.certificate }),
    ...(options.keepAliveMs === undefined ? {} : { keepAliveMs: options.keepAliveMs }),
    ...(options.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: options.requestTimeoutMs }),
    metrics: createMetrics({ defaults: false }),
    log,
  })
  return {
    url: http.url,
    store,
    accounts,
    ledger,
    unread: gate.unread,
    key: (request = {}) => makeKey(accounts, request),
    stop: async () => {
      await http.close(1_000)
      unwatch()
      await ledger.close()
      await store.close()
      folder.remove()
    },
  }
}
