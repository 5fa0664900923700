import { randomBytes, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { createIdempotency } from './accounts/idempotency.ts'
import { KeyRing } from './accounts/key-ring.ts'
import { Ledger } from './accounts/ledger.ts'
import { createNotices } from './accounts/notices.ts'
import type { PlanBook } from './accounts/plans.ts'
import { createUptime } from './accounts/uptime.ts'
import { createViewAllowances } from './accounts/view-allowance.ts'
import { nothingToRecord } from './api/endpoints/account/idle-notice.ts'
import { ENDPOINTS } from './api/endpoints/list.ts'
import type { Services } from './api/endpoints/services.ts'
import { WITHDRAWN } from './api/endpoints/withdrawn.ts'
import { type BoundPort, bindPort } from './api/http/bind-port.ts'
import { type Certificate, openCertificate } from './api/http/certificate.ts'
import { startHttp } from './api/http/server.ts'
import { errorsPage } from './api/pages/errors-page.ts'
import { guidePages } from './api/pages/guide.ts'
import { asyncapiDocument } from './api/publish/asyncapi.ts'
import { featuresOf, sourcesCatalog } from './api/publish/catalog.ts'
import { checkDeclarations } from './api/publish/check.ts'
import { publishedRoutes } from './api/publish/router.ts'
import { servedOpenapi } from './api/publish/served-openapi.ts'
import { canAnswer, sharedReadiness } from './app/ask-parts.ts'
import { exportBackupMetrics } from './app/backup-metrics.ts'
import { type DashboardDeps, startDashboard } from './app/dashboard.ts'
import { lockDataFolder, prepareDataFolder, storeAddress } from './app/data-folder.ts'
import { createDemoAccount } from './app/demo-account.ts'
import { diskMetrics } from './app/disk-status.ts'
import { startDiskUse } from './app/disk-use.ts'
import { type CommonServices, startEnvironment } from './app/environment.ts'
import { runningEnvironments } from './app/environments.ts'
import type { Leadership } from './app/lead.ts'
import { checkVenueSettings } from './app/live-setting.ts'
import { startMcpWorker } from './app/mcp-worker.ts'
import { openAccounts } from './app/open-accounts.ts'
import { ownReports, sharedReports } from './app/part-reports.ts'
import type { ReadinessProbe } from './app/parts.ts'
import { checkPlansInUse } from './app/plans-in-use.ts'
import { type PublicPagesDeps, publicPages, upgradeUrl } from './app/public-pages.ts'
import { openSecrets, openSharedSecrets } from './app/secrets.ts'
import { serviceMetrics } from './app/service-metrics.ts'
import { openSharedLimits, type SharedLimits } from './app/shared-limits.ts'
import { tracedGate } from './app/traced-parts.ts'
import { type Config, ConfigError } from './config/config.ts'
import { exposure } from './config/exposure.ts'
import { PROCESS_ROLES, type ProcessRole } from './config/service.ts'
import { cursorCodec } from './core/cursor.ts'
import type { Environment } from './core/environment.ts'
import type { Plan } from './core/plan.ts'
import { brokenPromise } from './core/retention.ts'
import { SOURCES } from './core/source.ts'
import { DAY_MS } from './core/time.ts'
import { eventSchema } from './events/event-schema.ts'
import { createAuthThrottle } from './gate/auth-throttle.ts'
import { createGate } from './gate/gate.ts'
import { createMcpGate } from './gate/mcp-gate.ts'
import { createRecentCalls } from './gate/recent-calls.ts'
import { createStreamGate } from './gate/stream-gate.ts'
import type { Clock } from './kit/clock.ts'
import type { Logger } from './kit/log.ts'
import { createMetrics } from './kit/metrics.ts'
import { createShutdown, type Shutdown } from './kit/shutdown.ts'
import type { Tracing } from './kit/tracing.ts'
import { describeAddress, openStores, type Stores, watchFiles } from './store/open-stores.ts'
import type { StreamHub } from './stream/hub.ts'

/**
 * The composition root. Together with the files in app/ it is the only place that names concrete engines,
 * venues and nodes.
 */
export interface Service {
  readonly url: string
  readonly metricsUrl: string | null
  /** Only at the first start with a test environment, because keys are stored as hashes and cannot be shown again. */
  readonly firstKey: string | undefined
  /** Claims the operator's account once; undefined if there is an operator. */
  readonly operatorToken: string | undefined
  /** Why nothing is recorded and what to set; undefined if something is recorded. */
  readonly notice: string | undefined
  /** Resolves with the reason when the service cannot continue; the reason is logged too. */
  readonly failed: Promise<string>
  stop(): Promise<{ clean: boolean; failures: { name: string; reason: string }[] }>
}

const LEDGER_PRUNE_INTERVAL_MS = 3_600_000
/** The rest of the time is for writing what is in memory. */
const HTTP_SHARE_OF_SHUTDOWN = 0.6

interface ServiceDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
}

/**
 * Takes the port first, then the lock of the data folder, then everything else, so that a second service on the same
 * port or folder ends before it has changed anything.
 */
export async function startService(config: Config, deps: ServiceDeps): Promise<Service> {
  checkDeclarations(ENDPOINTS)
  checkVenueSettings(config)
  const shutdown = createShutdown(deps.clock)
  const certificate = openTls(config, deps, shutdown)
  const bound = await bindPort({ ...config, isSecure: certificate !== undefined, log: deps.log })
  shutdown.add('port', () => bound.close())
  try {
    prepareDataFolder(config.data)
    const lock = lockDataFolder(config.data, { clock: deps.clock, address: bound.url })
    shutdown.add('lock of the data folder', () => lock.release())
    return await startParts(config, deps, { shutdown, bound, ...(certificate && { certificate }) })
  } catch (error) {
    await shutdown.run(config.shutdownSeconds * 1000)
    throw error
  }
}

async function startParts(
  config: Config,
  deps: ServiceDeps,
  { shutdown, bound, certificate }: { shutdown: Shutdown; bound: BoundPort; certificate?: Certificate },
): Promise<Service> {
  const { clock, log } = deps
  const address = storeAddress(config)
  const stores = openStores(address, clock)
  const does = rolesOf(config, stores)
  if (stores.isShared) log.info({ store: describeAddress(address), roles: config.roles }, 'shares a store')
  const coordination = stores.isShared ? stores.coordination() : undefined
  shutdown.add('coordination', () => coordination?.close())
  const leadership = openLeadership(stores, deps, shutdown)
  const reports = coordination === undefined ? ownReports() : sharedReports(coordination, deps)
  shutdown.add('reports', () => reports.close())
  const holder = randomUUID()
  // Only processes that answer requests share their limits.
  const limits = openSharedLimits(does('api') ? coordination : undefined, { holder, clock, log }, shutdown)
  const { store, plans, accounts, ledger, keys, onAccountsChanged } = await startAccounts(config, deps, {
    ...{ holder, limits, shutdown },
  })
  checkPromises(config, plans)
  const accountsBefore = await store.listAccounts()
  checkPlansInUse(accountsBefore, plans)
  const metrics = createMetrics({ defaults: true })
  const tracing = await openTracing(config, deps)
  shutdown.add('traces', () => tracing?.close())
  exportBackupMetrics(metrics, {
    ...{ data: config.data, clock },
    isBackedUp: !stores.isShared && runningEnvironments(config).includes('live'),
  })
  const probes: ReadinessProbe[] = [{ name: 'accounts', isStore: true, check: () => store.probe() }]
  if (certificate !== undefined)
    metrics.read({
      name: 'tapeline_tls_certificate_expiry_timestamp_seconds',
      help: "When the certificate of the service's own TLS expires.",
      type: 'gauge',
      values: () => [{ labels: {}, value: certificate.expiresAtMs / 1000 }],
    })
  serviceMetrics(metrics, { version: deps.version, ledger, probes })
  const services: Partial<Record<Environment, Services>> = {}
  const common: CommonServices = {
    about: { version: deps.version, startedAtMs: clock.now() },
    readiness: sharedReadiness(probes, { log }),
    documents: {
      openapi: servedOpenapi({ services, now: clock.now }),
      asyncapi: Buffer.from(JSON.stringify(asyncapiDocument(eventSchema))),
    },
    sourcesCatalog: sourcesCatalog(ENDPOINTS, plans.list()),
    features: (plan: Plan) => featuresOf(ENDPOINTS, plan),
  }
  const isFirstStart = accountsBefore.length === 0
  const secrets =
    coordination === undefined
      ? openSecrets(config.data, { isFirstStart, log })
      : await openSharedSecrets(coordination, config.secret)
  const disk = await startDiskUse({
    ...{ config, stores, leadership, reports, does, clock, log, shutdown },
  })
  diskMetrics(metrics, disk)
  const shared = {
    ...{ common, cursors: cursorCodec(secrets.cursorKey), secrets, ledger, accounts: store, plans, disk },
  }
  const hubs: Partial<Record<Environment, StreamHub>> = {}
  const coverage: DashboardDeps['coverage'] = {}
  const gapHistories: PublicPagesDeps['gapHistories'] = {}
  const recordings: (() => void)[] = []
  for (const environment of runningEnvironments(config)) {
    const parts = {
      ...{ environment, config, stores, leadership, reports, does, limits },
      ...{ clock, log, metrics, tracing, shutdown, probes },
    }
    const started = await startEnvironment(parts, shared)
    services[environment] = started.services
    hubs[environment] = started.hub
    coverage[environment] = started.coverage
    gapHistories[environment] = started.gapHistory
    recordings.push(started.record)
    onAccountsChanged.push(started.accountsChanged)
  }
  secrets.save()

  const authThrottle = createAuthThrottle(clock)
  const allowances = createViewAllowances({ store, clock })
  const calls = createRecentCalls(clock)
  const plainGate = createGate<Services>({
    keys,
    ledger,
    idempotency: createIdempotency({ store, box: secrets.box, clock }),
    allowances,
    authThrottle,
    heavyCalls: limits.active('heavy'),
    clock,
    log,
    services,
    openServices: openServices(common),
    plans: plans.list(),
    upgradeUrl: upgradeUrl(config),
    pageCacheBytes: config.pageCacheMb * 1024 * 1024,
    calls,
  })
  const gate = tracing === undefined ? plainGate : tracedGate(plainGate, tracing)
  const notices = createNotices({ store, clock, randomBytes })
  const uptime = createUptime({ store, clock })
  if (does('api'))
    shutdown.add(
      'uptime',
      uptime.mark(() => canAnswer(probes)),
    )
  // Without this role a process only answers whether it is healthy.
  const routes = publishedRoutes(
    does('api') ? ENDPOINTS : ENDPOINTS.filter(({ access }) => access.auth === 'none'),
  )
  const { dashboard, sessionGate, inviteOperator } = startDashboard({
    ...{ config, clock, log, version: deps.version, store, plans, accounts },
    ...{
      keys,
      gate,
      routes,
      services,
      coverage,
      disk,
      notices,
      calls,
      box: secrets.box,
      allowances,
      attempts: limits.attempts,
    },
  })
  const http = await startHttp({
    host: config.host,
    port: config.port,
    bound,
    ...(certificate && { certificate }),
    bodyLimitBytes: config.bodyLimitBytes,
    trustedProxies: config.trustedProxies,
    corsOrigins: config.corsOrigins,
    metricsPort: config.metricsPort,
    metricsToken: config.metricsToken,
    gate,
    routes,
    ...(does('api') ? { dashboard } : {}),
    withdrawn: WITHDRAWN,
    pages: [
      ...guidePages(),
      errorsPage,
      ...(does('api')
        ? publicPages({ config, clock, log, plans, services, gapHistories, notices, uptime })
        : []),
    ],
    metrics,
    log,
    ...(does('api')
      ? {
          stream: {
            gate: createStreamGate({ keys, authThrottle, clock }),
            sessionGate,
            hubs,
            maxPendingPerAddress: config.streamPending,
          },
          mcp: {
            gate: createMcpGate({ keys, authThrottle, clock }),
            http: startMcpWorker({ version: deps.version }),
          },
        }
      : {}),
  })
  shutdown.add('http', () => http.close(config.shutdownSeconds * 1000 * HTTP_SHARE_OF_SHUTDOWN))
  for (const record of recordings) record()
  const failed = watchDatabases(stores.files(runningEnvironments(config)), { clock, log, shutdown })
  // A process without the role could not show what the key is for.
  const firstKey = config.test && does('api') ? await createDemoAccount(store, accounts, clock) : undefined
  return {
    url: http.url,
    metricsUrl: http.metricsUrl,
    firstKey,
    operatorToken: does('api') ? await inviteOperator(secrets.invitation) : undefined,
    notice: nothingToRecord(config),
    failed,
    stop: () => shutdown.run(config.shutdownSeconds * 1000),
  }
}

/** The service's own TLS if its files are set; logs a warning if the service is exposed without TLS. */
function openTls(config: Config, { log }: ServiceDeps, shutdown: Shutdown): Certificate | undefined {
  const { tlsCert: cert, tlsKey: key } = config
  const exposed = exposure(config)
  if (exposed !== undefined) log.warn(exposed)
  if (cert === null && key === null) return undefined
  if (cert === null || key === null)
    throw new ConfigError('TAPELINE_TLS_CERT and TAPELINE_TLS_KEY are set together, or none of them.')
  const certificate = openCertificate({ cert, key }, { log })
  shutdown.add('certificate', () => certificate.close())
  return certificate
}

/** A plan must not sell what retention deletes. The test environment is exempt: it keeps little and costs nothing. */
function checkPromises(config: Config, plans: PlanBook): void {
  const sources = SOURCES.filter((source) => config.live.includes(source))
  const broken = brokenPromise(config.retention, plans.list(), sources)
  if (broken !== undefined) throw new ConfigError(`TAPELINE_RETENTION: ${broken}`)
}

/** The roles of this process; it may have only some of them if the store is shared between processes. */
function rolesOf({ roles }: Config, { isShared }: Stores): (role: ProcessRole) => boolean {
  if (!isShared && PROCESS_ROLES.some((role) => !roles.includes(role)))
    throw new ConfigError(
      `TAPELINE_ROLES is ${roles.join(',')}, but one process does everything on a data folder: leave it out, or set TAPELINE_STORE to a PostgreSQL database that processes share.`,
    )
  return (role) => roles.includes(role)
}

function openLeadership(stores: Stores, { clock, log }: ServiceDeps, shutdown: Shutdown): Leadership {
  const leases = stores.isShared ? stores.leases() : undefined
  shutdown.add('leases', () => leases?.close())
  return { leases, holder: `${hostname()}:${process.pid}`, clock, log }
}

/** The SDK is loaded only if traces are collected. */
async function openTracing({ otlpEndpoint }: Config, deps: ServiceDeps): Promise<Tracing | undefined> {
  if (otlpEndpoint === null) return undefined
  const { openTelemetry } = await import('./app/open-telemetry.ts')
  return openTelemetry(otlpEndpoint, deps)
}

/** Accounts, keys and the ledger, kept up to date with changes made by other processes. */
async function startAccounts(
  config: Config,
  { clock, log }: ServiceDeps,
  { holder, limits, shutdown }: { holder: string; limits: SharedLimits; shutdown: Shutdown },
) {
  const { store, plans, accounts } = openAccounts(config, clock)
  shutdown.add('accounts store', () => store.close())
  const ledger = new Ledger({ store, holder, clock, log, processes: limits.processes })
  const keys = new KeyRing({ store, plans, ledger, sharing: limits.rates })
  const onAccountsChanged: ((accountIds: string[]) => void)[] = []
  const stopWatching = await store.watch({
    onAccounts: (ids) => {
      keys.forget(ids)
      ledger.reload(ids)
      for (const listener of onAccountsChanged) listener(ids)
    },
    onWanted: () => ledger.yieldLeases(),
  })
  shutdown.add('changes of accounts', stopWatching)
  shutdown.add('ledger', () => ledger.close())
  const pruning = setInterval(() => {
    store.pruneLedger(config.ledgerDays * DAY_MS).catch((err) => log.error({ err }, 'pruning failed'))
  }, LEDGER_PRUNE_INTERVAL_MS)
  pruning.unref()
  shutdown.add('pruning', () => clearInterval(pruning))
  return { store, plans, accounts, ledger, keys, onAccountsChanged }
}

/** Resolves with the reason when a database file was changed from outside. */
function watchDatabases(
  files: readonly string[],
  deps: { clock: Clock; log: Logger; shutdown: Shutdown },
): Promise<string> {
  return new Promise((resolve) => {
    const watch = watchFiles(deps.clock, (what) => {
      deps.log.fatal({ what }, 'a database was changed under the service, which stops now')
      resolve(what)
    })
    deps.shutdown.add('watch over the databases', () => watch.close())
    for (const file of files) watch.add(file)
  })
}

/** Open endpoints have no environment, so using one is a bug and throws. */
function openServices(common: CommonServices): Services {
  const none = (): never => {
    throw new Error('an open endpoint has no environment')
  }
  return {
    ...common,
    symbols: none,
    status: none,
    isDiskLow: none,
    get market(): never {
      return none()
    },
    get chain(): never {
      return none()
    },
    get webhooks(): never {
      return none()
    },
  }
}
