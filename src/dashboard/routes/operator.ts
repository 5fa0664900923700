import { Type } from 'typebox'
import { type AccountRecord, type Accounts, MAX_CREDITS } from '../../accounts/accounts.ts'
import type { AuditLog } from '../../accounts/audit-log.ts'
import type { Billing } from '../../accounts/billing.ts'
import type { PasswordResets } from '../../accounts/password-reset.ts'
import type { PlanBook } from '../../accounts/plans.ts'
import type { Users } from '../../accounts/users.ts'
import { formatTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import { nextTurn } from '../../kit/time-slices.ts'
import {
  DashboardError,
  type DashboardRoute,
  json,
  operatorRoute,
  readJsonBody,
  type SignedIn,
} from '../route.ts'
import { accountView, balanceViews, keyView, planView } from '../views.ts'
import type { AuditView, OperatorAccountView, ResetLinkView } from '../wire.ts'
import { usageReply } from './usage.ts'

export interface OperatorDeps {
  readonly accounts: Accounts
  /** The same, but changes are written to the audit log under the operator's name. */
  readonly accountsOf: (context: SignedIn) => Accounts
  readonly plans: PlanBook
  readonly users: Users
  readonly resets: PasswordResets
  readonly audit: AuditLog
  readonly billing: Billing | undefined
  readonly clock: Clock
}

const PlanWish = Type.Object({ plan: Type.String({ maxLength: 32 }) }, { additionalProperties: false })
const CreditsWish = Type.Object(
  { remaining: Type.Integer({ minimum: 0, maximum: MAX_CREDITS }) },
  { additionalProperties: false },
)
const UserWish = Type.Object({ email: Type.String({ maxLength: 254 }) }, { additionalProperties: false })
const AUDIT_PAGE = 100
/**
 * Balances are read for this many accounts at a time. Reading all at once would make other requests wait for thousands.
 */
const READ_AT_ONCE = 50

/** The operator's calls. Each change is written to the audit log. */
export function operatorRoutes(deps: OperatorDeps): DashboardRoute[] {
  const { accounts, accountsOf, users } = deps
  const idOf = (context: SignedIn) => context.params.id ?? ''

  return [
    operatorRoute('GET operator/accounts', async () => {
      const [all, allUsers, keys, customers] = await Promise.all([
        accounts.list(),
        users.list(),
        accounts.listKeys(),
        deps.billing?.customers(),
      ])
      const usersOf = Map.groupBy(allUsers, ({ accountId }) => accountId)
      const keysOf = Map.groupBy(keys, ({ accountId }) => accountId)
      const viewOf = async (account: AccountRecord): Promise<OperatorAccountView> => ({
        ...accountView(account),
        users: (usersOf.get(account.id) ?? []).map((user) => user.email),
        keys: (keysOf.get(account.id) ?? []).filter((key) => key.revokedAtMs === null).length,
        billing_customer: customers?.get(account.id) ?? null,
        balances: await balanceViews(accounts, account),
      })
      const views: OperatorAccountView[] = []
      for (let at = 0; at < all.length; at += READ_AT_ONCE) {
        if (at > 0) await nextTurn()
        views.push(...(await Promise.all(all.slice(at, at + READ_AT_ONCE).map(viewOf))))
      }
      return json({ accounts: views, plans: deps.plans.list().map(planView) })
    }),
    operatorRoute('GET operator/accounts/{id}/keys', async (context) => {
      const { id } = await accounts.get(idOf(context))
      return json({ keys: (await accounts.listKeys(id)).map(keyView).reverse() })
    }),
    operatorRoute('GET operator/accounts/{id}/usage', (context) =>
      usageReply(deps, idOf(context), context.query),
    ),
    operatorRoute('POST operator/accounts/{id}/plan', async (context) => {
      const { plan } = readJsonBody(PlanWish, context.request)
      return json(accountView(await accountsOf(context).setPlan(idOf(context), plan)))
    }),
    operatorRoute('POST operator/accounts/{id}/credits', async (context) => {
      const { remaining } = readJsonBody(CreditsWish, context.request)
      await accountsOf(context).setCredits(idOf(context), remaining)
      return json({ remaining })
    }),
    operatorRoute('POST operator/accounts/{id}/pause', async (context) =>
      json(accountView(await accountsOf(context).pause(idOf(context), 'operator'))),
    ),
    operatorRoute('POST operator/accounts/{id}/resume', async (context) =>
      json(accountView(await accountsOf(context).resume(idOf(context)))),
    ),
    operatorRoute('POST operator/keys/{id}/revoke', async (context) =>
      json(keyView(await accountsOf(context).revokeKey(idOf(context)))),
    ),
    operatorRoute('POST operator/users/reset', async (context) => {
      const { email } = readJsonBody(UserWish, context.request)
      const { token, user, expiresAtMs } = await deps.resets.issue(email)
      await deps.audit.note({
        actor: context.session.user.email,
        action: 'user.reset_link',
        accountId: user.accountId,
        detail: user.email,
      })
      return json(
        { email: user.email, token, expires_at: formatTime(expiresAtMs) } satisfies ResetLinkView,
        201,
      )
    }),
    operatorRoute('GET operator/audit', async ({ query }) => {
      const before = seqOf('before', query.get('before'))
      const entries = await deps.audit.list({
        limit: AUDIT_PAGE,
        ...(before === undefined ? {} : { before }),
      })
      return json({
        entries: entries.map(
          ({ seq, atMs, actor, action, accountId, detail }): AuditView => ({
            seq,
            at: formatTime(atMs),
            actor,
            action,
            account_id: accountId,
            detail,
          }),
        ),
      })
    }),
  ]
}

function seqOf(name: string, text: string | null): number | undefined {
  if (text === null) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new DashboardError(422, 'invalid_param', `${name} must be the seq of an entry.`)
}
