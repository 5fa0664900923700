/**
 * A forgotten password is replaced with a one-time link, which an operator creates on the command line or in the
 * dashboard. A newer link of the same user invalidates an older one; setting the password ends all sessions. Invited
 * users choose their first password with such a link.
 */
import type { Clock } from '../kit/clock.ts'
import type { RandomBytes } from '../kit/random.ts'
import type { UserRecord, UsersStore } from '../store/users.ts'
import { AccountsError } from './accounts.ts'
import type { HashCaller } from './hash-queue.ts'
import { checkPassword, NO_PASSWORD, type Passwords } from './password.ts'
import { type AuditOf, hashToken, newToken } from './users.ts'

export type PasswordResets = ReturnType<typeof createPasswordResets>

const VALID_MS = 24 * 3_600_000
export const INVITATION_VALID_MS = 7 * VALID_MS
/** Where the page reads the token from; a server never sees, and so never logs, what follows `#`. */
export const RESET_PATH = '#/reset/'

export function createPasswordResets(deps: {
  store: UsersStore
  passwords: Passwords
  clock: Clock
  randomBytes: RandomBytes
}) {
  const { store, passwords, clock, randomBytes } = deps
  /** The user of a link while it is valid. */
  const find = async (token: string) => {
    const found = await store.findPasswordReset(hashToken(token))
    return found !== undefined && found.expiresAtMs > clock.now() ? found.user : undefined
  }
  return {
    /** @throws AccountsError when nobody signs in with this e-mail */
    async issue(email: string, validMs = VALID_MS) {
      const found = await store.findUser(email.trim())
      if (found === undefined) throw new AccountsError(`Nobody signs in with the e-mail address ${email}.`)
      const token = newToken(randomBytes)
      const expiresAtMs = clock.now() + validMs
      await store.putPasswordReset({ hash: hashToken(token), userId: found.user.id, expiresAtMs })
      return { token, user: found.user, expiresAtMs }
    },
    find,
    /** Whether the user of a link has not had a password yet. */
    isFirst: async ({ email }: UserRecord) => (await store.findUser(email))?.passwordHash === NO_PASSWORD,
    /** Undefined when the link was used, was replaced or has expired. */
    async redeem(
      token: string,
      password: string,
      caller?: HashCaller,
      auditOf?: AuditOf,
    ): Promise<UserRecord | undefined> {
      // Checked before the expensive hash of the password, so that nobody can cause one without a link.
      const user = await find(token)
      if (user === undefined) return undefined
      checkPassword(password)
      const passwordHash = await passwords.hash(password, caller)
      const taken = await store.takePasswordReset({ hash: hashToken(token), passwordHash }, auditOf?.(user))
      return taken ? user : undefined
    },
  }
}
