import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { hostname } from 'node:os'
import type { Accounts } from '../accounts/accounts.ts'
import { createAuditLog } from '../accounts/audit-log.ts'
import { createBilling } from '../accounts/billing.ts'
import type { AttemptCounter } from '../accounts/count-attempts.ts'
import type { KeyRing } from '../accounts/key-ring.ts'
import type { Notices } from '../accounts/notices.ts'
import { createPasswords } from '../accounts/password.ts'
import { createPasswordResets } from '../accounts/password-reset.ts'
import type { PlanBook } from '../accounts/plans.ts'
import { createSignInThrottle } from '../accounts/sign-in-throttle.ts'
import { createUsers } from '../accounts/users.ts'
import type { ViewAllowances } from '../accounts/view-allowance.ts'
import { idleNotice } from '../api/endpoints/account/idle-notice.ts'
import type { Services } from '../api/endpoints/services.ts'
import { type PublishedRoute, routeFinder } from '../api/publish/router.ts'
import type { Config } from '../config/config.ts'
import { filledPath } from '../contract/filled-path.ts'
import type { Environment } from '../core/environment.ts'
import { ApiError } from '../core/errors.ts'
import { isSource } from '../core/source.ts'
import { formatTime } from '../core/time.ts'
import { builtSite } from '../dashboard/build-site.ts'
import { deviceCookies, sessionCookies } from '../dashboard/cookies.ts'
import { createDashboard, type Dashboard } from '../dashboard/dashboard.ts'
import type { SignedIn } from '../dashboard/route.ts'
import { invitationRoutes } from '../dashboard/routes/invitations.ts'
import { keyRoutes } from '../dashboard/routes/keys.ts'
import { noticeRoutes } from '../dashboard/routes/notices.ts'
import { operatorRoutes } from '../dashboard/routes/operator.ts'
import { overviewRoutes } from '../dashboard/routes/overview.ts'
import { type SessionDeps, sessionRoutes } from '../dashboard/routes/session.ts'
import { startRoutes } from '../dashboard/routes/start.ts'
import { statusRoutes } from '../dashboard/routes/status.ts'
import { usageRoutes } from '../dashboard/routes/usage.ts'
import { type View, viewRoutes } from '../dashboard/routes/view.ts'
import { webhookRoutes } from '../dashboard/routes/webhooks.ts'
import { createSite } from '../dashboard/site.ts'
import type { StatusView } from '../dashboard/wire.ts'
import { checkCredential } from '../gate/authenticate.ts'
import type { Gate } from '../gate/gate.ts'
import type { RecentCalls } from '../gate/recent-calls.ts'
import { planRefusal, type StreamGate } from '../gate/stream-gate.ts'
import type { SourceCoverage } from '../ingest/source-coverage.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type { BillingStore } from '../store/billing.ts'
import type { UsersStore } from '../store/users.ts'
import { DEMO_EMAIL } from './demo-account.ts'
import type { DiskUseService } from './disk-use.ts'
import { backupOverview, diskOverview, environmentOverviews } from './overview.ts'

export interface DashboardDeps {
  readonly store: UsersStore & BillingStore
  readonly accounts: Accounts
  readonly plans: PlanBook
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
  readonly keys: KeyRing
  readonly box: SecretBox
  readonly attempts: AttemptCounter
  readonly allowances: ViewAllowances
  readonly gate: Gate<Services>
  readonly routes: readonly PublishedRoute<Services>[]
  readonly services: Partial<Record<Environment, Services>>
  readonly coverage: Partial<Record<Environment, SourceCoverage>>
  /** For the operator's page. */
  readonly disk: DiskUseService
  readonly notices: Notices
  readonly calls: RecentCalls
}

/** Wires the dashboard to the parts of the service. */
export function startDashboard(deps: DashboardDeps) {
  const { config, clock, log, store, accounts, plans, services } = deps
  const audit = createAuditLog({ store, clock })
  const accountsOf = ({ session }: SignedIn) => accounts.as(session.user.email)
  const passwords = createPasswords()
  const resets = createPasswordResets({ store, passwords, clock, randomBytes })
  const users = createUsers({
    store,
    accounts,
    passwords,
    clock,
    randomBytes,
    planOfNew: plans.get(config.signUpPlan).name,
  })
  const secure = config.publicUrl?.startsWith('https:') ?? config.tlsCert !== null
  const cookies = sessionCookies({ secure })
  const billing =
    config.billingSecret === null
      ? undefined
      : createBilling({
          store,
          accounts: accounts.as('billing'),
          clock,
          secret: config.billingSecret,
          planOfPrice: pricesOf(config, (plan) => plans.get(plan).name),
        })
  const environments = Object.keys(services) as Environment[]
  const statuses = environments.flatMap((name) => {
    const [its, observed] = [services[name], deps.coverage[name]]
    return its === undefined || observed === undefined ? [] : [() => statusView(its, observed)]
  })
  const view = viewOf(deps)
  const allowanceOf = async (accountId: string) => {
    const account = await accounts.get(accountId)
    return deps.allowances.read(accountId, plans.get(account.plan))
  }
  const session: SessionDeps = {
    users,
    resets,
    throttle: createSignInThrottle(clock, deps.attempts),
    accounts,
    plans,
    audit,
    notices: deps.notices,
    cookies,
    devices: deviceCookies({ box: deps.box, secure }),
    clock,
    signUp: config.signUp,
    statusPage: config.statusPage,
    version: deps.version,
    environments,
    idle: { test: idleNotice(config, 'test'), live: idleNotice(config, 'live') },
  }
  const dashboard = createDashboard({
    site: createSite(() =>
      builtSite(log).catch((error) => {
        log.error({ err: error }, 'the dashboard could not be built')
        throw error
      }),
    ),
    routes: [
      ...sessionRoutes(session),
      ...startRoutes({ session, view, allowanceOf }),
      ...keyRoutes({ accountsOf }),
      ...usageRoutes({ accounts, clock, checkUnread: (accountId) => deps.gate.unread.check(accountId) }),
      ...statusRoutes({ statuses }),
      ...webhookRoutes({ webhooksOf: (environment) => services[environment]?.webhooks }),
      ...viewRoutes({ view }),
      ...operatorRoutes({ accounts, accountsOf, plans, users, resets, audit, billing, clock }),
      ...invitationRoutes({ accountsOf, users, resets, audit }),
      ...noticeRoutes({ notices: deps.notices, audit }),
      ...overviewRoutes({
        accounts,
        version: deps.version,
        process: { name: `${hostname()}:${process.pid}`, started_at: formatTime(clock.now()) },
        environments: () => environmentOverviews(services),
        disk: () => diskOverview(deps.disk),
        backup: () => backupOverview(config.data),
        callsOf: deps.calls.of,
      }),
    ],
    users,
    cookies,
    billing,
    log,
  })
  return {
    dashboard,
    /** Admits signed-in browsers of our own origin to the stream. */
    sessionGate: sessionGate(dashboard, deps),
    /** A one-time token while there is no operator. The first operator gets the demo account, if there is one. */
    async inviteOperator(bytes?: Buffer) {
      const demo = (await accounts.list()).find(({ email }) => email === DEMO_EMAIL)
      const isFree = demo !== undefined && !(await users.list()).some((user) => user.accountId === demo.id)
      return users.inviteOperator(isFree ? demo.id : null, bytes)
    },
  }
}

/** The status of an environment, with the last day of each dataset as a coverage strip. */
async function statusView(services: Services, coverage: SourceCoverage): Promise<StatusView> {
  const { ingestion, index: _index, disk: _disk, ...rest } = await services.status()
  const sources = ingestion.map(async ({ coverage: shown, ...row }) => {
    const strips = isSource(row.source) ? await coverage(row.source) : []
    return { ...row, datasets: shown.map((one, at) => ({ ...one, strip: [...(strips[at]?.strip ?? [])] })) }
  })
  return { ...rest, sources: await Promise.all(sources) }
}

function sessionGate(dashboard: Dashboard, { keys, clock }: DashboardDeps): StreamGate {
  return {
    async admit({ headers, search, address }) {
      const environment = new URLSearchParams(search).get('environment') === 'live' ? 'live' : 'test'
      const check = async () => {
        const accountId = isOwnOrigin(headers) ? await dashboard.accountOf(headers) : undefined
        const viewer = accountId === undefined ? undefined : await keys.viewer(accountId, environment)
        if (viewer === undefined) throw new ApiError('unauthorized', 'Sign in first.')
        checkCredential(viewer, { nowMs: clock.now(), address, scope: 'node' })
        return viewer
      }
      const credential = await check()
      const recheck = () =>
        check().then(
          (now) => planRefusal(now.plan, credential.plan),
          (error) => (error instanceof ApiError ? error : undefined),
        )
      return { credential, recheck }
    },
  }
}

/** A page of another origin must not read the stream with a visitor's cookie. */
function isOwnOrigin({ origin, host }: IncomingHttpHeaders): boolean {
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host
}

/** The service's endpoints as the signed-in account sees them: through the gate, without a key. */
function viewOf({ gate, routes, keys }: DashboardDeps): View {
  const find = routeFinder(routes)
  return async (request, { accountId, environment, ...options }) => {
    const found = find(request.method === 'HEAD' ? 'GET' : request.method, request.path)
    const viewer = found && (await keys.viewer(accountId, environment))
    if (found === undefined || viewer === undefined) return undefined
    const { route, params } = found
    const path = filledPath(route.path, params)
    return gate.view({ ...request, path, pathParams: params }, route, viewer, options)
  }
}

function pricesOf(config: Config, planName: (name: string) => string): Map<string, string> {
  return new Map(
    config.billingPrices.map((pair) => {
      const [price = '', plan = ''] = pair.split('=')
      return [price, planName(plan)]
    }),
  )
}
