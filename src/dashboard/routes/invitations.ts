import { Type } from 'typebox'
import type { Accounts } from '../../accounts/accounts.ts'
import type { AuditLog } from '../../accounts/audit-log.ts'
import { INVITATION_VALID_MS, type PasswordResets } from '../../accounts/password-reset.ts'
import type { Users } from '../../accounts/users.ts'
import { formatTime } from '../../core/time.ts'
import { type DashboardRoute, json, operatorRoute, readJsonBody, type SignedIn } from '../route.ts'
import { accountView } from '../views.ts'
import type { CreatedAccountView, ResetLinkView } from '../wire.ts'

const email = Type.String({ minLength: 3, maxLength: 254 })
const NewAccount = Type.Object(
  { email, plan: Type.String({ maxLength: 32 }) },
  { additionalProperties: false },
)
const Invitation = Type.Object(
  { email, role: Type.Union([Type.Literal('customer'), Type.Literal('operator')]) },
  { additionalProperties: false },
)

/** The operator creates accounts and invites people; the recipient of the one-time link chooses the password. */
export function invitationRoutes(deps: {
  /** Accounts whose changes are written to the audit log under the operator's name. */
  accountsOf: (context: SignedIn) => Accounts
  users: Users
  resets: PasswordResets
  audit: AuditLog
}): DashboardRoute[] {
  async function invite(
    context: SignedIn,
    input: { email: string; accountId: string; role: 'customer' | 'operator' },
  ): Promise<ResetLinkView> {
    const user = await deps.users.invite(input)
    const { token, expiresAtMs } = await deps.resets.issue(user.email, INVITATION_VALID_MS)
    await deps.audit.note({
      actor: context.session.user.email,
      action: 'user.invited',
      accountId: user.accountId,
      detail: `${user.email} as ${user.role}`,
    })
    return { email: user.email, token, expires_at: formatTime(expiresAtMs) }
  }

  return [
    operatorRoute('POST operator/accounts', async (context) => {
      const input = readJsonBody(NewAccount, context.request)
      await deps.users.checkFree(input.email)
      const account = await deps.accountsOf(context).create({ ...input, email: input.email.trim() })
      const link = await invite(context, { email: input.email, accountId: account.id, role: 'customer' })
      return json({ account: accountView(account), link } satisfies CreatedAccountView, 201)
    }),
    operatorRoute('POST operator/accounts/{id}/invite', async (context) => {
      const input = readJsonBody(Invitation, context.request)
      return json(await invite(context, { ...input, accountId: context.params.id ?? '' }), 201)
    }),
  ]
}
