import { Type } from 'typebox'
import type { Accounts } from '../../accounts/accounts.ts'
import type { AuditLog } from '../../accounts/audit-log.ts'
import type { Notices } from '../../accounts/notices.ts'
import { PASSWORD_LENGTH } from '../../accounts/password.ts'
import type { PasswordResets } from '../../accounts/password-reset.ts'
import type { PlanBook } from '../../accounts/plans.ts'
import { type SignInThrottle, TooManyAttempts } from '../../accounts/sign-in-throttle.ts'
import type { AuditOf, UserRecord, Users } from '../../accounts/users.ts'
import type { Environment } from '../../core/environment.ts'
import type { Clock } from '../../kit/clock.ts'
import type { DeviceCookies, SessionCookies } from '../cookies.ts'
import {
  DashboardError,
  type DashboardReply,
  type DashboardRequest,
  type DashboardRoute,
  json,
  openRoute,
  type RouteContext,
  readJsonBody,
  userRoute,
} from '../route.ts'
import { accountView, noticeView, planView } from '../views.ts'
import type { LinkView, SessionView } from '../wire.ts'

export interface SessionDeps {
  readonly users: Users
  readonly resets: PasswordResets
  readonly throttle: SignInThrottle
  readonly accounts: Accounts
  readonly plans: PlanBook
  readonly audit: AuditLog
  readonly notices: Notices
  readonly cookies: SessionCookies
  readonly devices: DeviceCookies
  readonly clock: Clock
  readonly signUp: boolean
  readonly statusPage: boolean
  readonly version: string
  readonly environments: readonly Environment[]
  readonly idle: SessionView['idle']
}

const email = Type.String({ minLength: 3, maxLength: 254 })
const password = Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH.most })
const SignIn = Type.Object({ email, password }, { additionalProperties: false })
const Welcome = Type.Object(
  { token: Type.String({ maxLength: 100 }), email, password },
  { additionalProperties: false },
)
const ResetLink = Type.Object({ token: Type.String({ maxLength: 100 }) }, { additionalProperties: false })
const Reset = Type.Object(
  { token: Type.String({ maxLength: 100 }), password },
  { additionalProperties: false },
)
const NewPassword = Type.Object({ current: password, next: password }, { additionalProperties: false })

async function viewOf(
  { accounts, plans, ...deps }: SessionDeps,
  token: string,
  user: UserRecord | undefined,
): Promise<SessionView> {
  const [account, notices] =
    user === undefined ? [] : await Promise.all([accounts.get(user.accountId), deps.notices.current()])
  const plan = account === undefined ? undefined : plans.find(account.plan)
  return {
    csrf: deps.cookies.csrfOf(token),
    version: deps.version,
    sign_up: deps.signUp,
    status_page: deps.statusPage,
    environments: [...deps.environments],
    idle: deps.idle,
    user: user === undefined ? null : { email: user.email, role: user.role },
    account: account === undefined ? null : accountView(account),
    plan: plan === undefined ? null : planView(plan),
    notices: (notices ?? []).map(noticeView),
    webhook_plan: webhookPlan(plans),
  }
}

function webhookPlan(plans: PlanBook): SessionView['webhook_plan'] {
  const [smallest] = plans
    .list()
    .filter((plan) => plan.webhookSubscriptions > 0)
    .toSorted((a, b) => a.creditsPerMonth - b.creditsPerMonth)
  return smallest === undefined ? null : { name: smallest.name, tier: smallest.tier }
}

/** The current session. A visitor without a cookie gets one with the answer. */
export async function currentSession(
  deps: SessionDeps,
  { headers }: Pick<DashboardRequest, 'headers'>,
): Promise<{ view: SessionView; accountId: string | undefined; headers: string[] }> {
  const { cookies, users } = deps
  const known = cookies.read(headers)
  const session = known === undefined ? undefined : await users.findSession(known)
  const token = known ?? cookies.newToken()
  return {
    view: await viewOf(deps, token, session?.user),
    accountId: session?.user.accountId,
    headers: known === undefined ? cookies.set(token) : [],
  }
}

/** Signing up, in and out. Every sign-in gives the cookie a new value. */
export function sessionRoutes(deps: SessionDeps): DashboardRoute[] {
  const { users, throttle, cookies, devices, clock } = deps

  async function enter(
    user: UserRecord,
    context: RouteContext,
    signedIn: Parameters<Users['openSession']>[1] = {},
  ): Promise<DashboardReply> {
    await users.closeSession(context.token)
    const session = await users.openSession(user.id, signedIn)
    if (session === undefined) throw wrongCredentials()
    const { token, expiresAtMs } = session
    const cookie = cookies.set(token, (expiresAtMs - clock.now()) / 1000)
    return json(await viewOf(deps, token, user), 200, [...cookie, ...devices.set(user.email)])
  }

  const entry =
    (action: string, { address }: { address: string }): AuditOf =>
    ({ email: actor, accountId }) =>
      deps.audit.entry({ actor, action, accountId, detail: `from ${address}` })

  const refuseCrowd = (error: unknown): never => {
    if (!(error instanceof TooManyAttempts)) throw error
    throw new DashboardError(429, 'rate_limited', error.message, ['Retry-After', String(error.retryAfterS)])
  }

  return [
    openRoute('GET session', async ({ request }) => {
      const { view, headers } = await currentSession(deps, request)
      return json(view, 200, headers)
    }),
    openRoute('POST sign-in', async (context) => {
      const credentials = readJsonBody(SignIn, context.request)
      const { address, headers } = context.request
      const knownDevice = devices.knows(headers, credentials.email)
      const found = await throttle
        .signIn({ email: credentials.email, address, knownDevice }, ({ known }) =>
          users.verify(credentials, { address, known }),
        )
        .catch(refuseCrowd)
      if (found === undefined) throw wrongCredentials()
      const { user, passwordHash } = found
      const isOperator = user.role === 'operator'
      const audit = isOperator ? entry('operator.signed_in', context.request)(user) : undefined
      return enter(user, context, { passwordHash, audit })
    }),
    openRoute('POST sign-up', async (context) => {
      if (!deps.signUp)
        throw new DashboardError(403, 'sign_up_off', 'Sign-up is switched off on this service.')
      const credentials = readJsonBody(SignIn, context.request)
      const { address } = context.request
      const user = await throttle
        .signUp(address, () =>
          users.signUp(credentials, { address, known: false }, entry('user.signed_up', context.request)),
        )
        .catch(refuseCrowd)
      return enter(user, context)
    }),
    openRoute('POST invitation', async ({ request }) => {
      const { token } = readJsonBody(Type.Object({ token: Type.String({ maxLength: 100 }) }), request)
      return json({ valid: await users.isInvitation(token) })
    }),
    openRoute('POST welcome', async (context) => {
      const { token, ...credentials } = readJsonBody(Welcome, context.request)
      const user = await users.redeem(token, credentials, entry('operator.created', context.request))
      if (user === undefined)
        throw new DashboardError(403, 'invitation_used', 'This link was used or replaced.')
      return enter(user, context)
    }),
    openRoute('POST reset-link', async ({ request }) => {
      const { token } = readJsonBody(ResetLink, request)
      const user = await deps.resets.find(token)
      const first = user !== undefined && (await deps.resets.isFirst(user))
      return json({ valid: user !== undefined, email: user?.email ?? null, first } satisfies LinkView)
    }),
    openRoute('POST reset', async (context) => {
      const { token, password } = readJsonBody(Reset, context.request)
      const { address } = context.request
      const user = await deps.resets.redeem(
        token,
        password,
        { address, known: true },
        entry('user.password_reset', context.request),
      )
      if (user === undefined)
        throw new DashboardError(
          403,
          'reset_used',
          'This link was used, replaced by a newer one or is too old.',
        )
      return enter(user, context)
    }),
    userRoute('POST password', async (context) => {
      const { user } = context.session
      const input = { ...readJsonBody(NewPassword, context.request), token: context.token }
      const { address } = context.request
      const changed = await throttle
        .changePassword(user.id, () =>
          users.changePassword(
            user,
            input,
            { address, known: true },
            entry('user.password', context.request),
          ),
        )
        .catch(refuseCrowd)
      if (!changed) {
        throw new DashboardError(403, 'wrong_credentials', 'The current password is wrong.')
      }
      return json({ changed: true })
    }),
    userRoute('POST sign-out', async ({ token }) => {
      await users.closeSession(token)
      const next = cookies.newToken()
      return json(await viewOf(deps, next, undefined), 200, cookies.set(next))
    }),
  ]
}

function wrongCredentials(): DashboardError {
  return new DashboardError(401, 'wrong_credentials', 'The e-mail address or the password is wrong.')
}
