/**
 * A forgotten password is replaced by whoever has a one-time link, which an operator makes: on the command line or
 * in the dashboard. A newer link of the same user ends an older one; setting the password ends all sessions.
 */
import type { Clock } from '../kit/clock.ts'
import type { UserRecord, UsersStore } from '../store/users.ts'
import { AccountsError } from './accounts.ts'
import type { HashCaller } from './hash-queue.ts'
import { checkPassword, type Passwords } from './password.ts'
import { hashToken, newToken } from './users.ts'

export interface PasswordResets {
  /** @throws AccountsError when nobody signs in with this e-mail */
  issue(email: string): Promise<{ token: string; user: UserRecord; expiresAtMs: number }>
  /** Whose link it is, while it works. */
  find(token: string): Promise<UserRecord | undefined>
  /** Undefined when the link was used, replaced or is too old. */
  redeem(token: string, password: string, caller?: HashCaller): Promise<UserRecord | undefined>
}

const VALID_MS = 24 * 3_600_000
/** Where the page takes the token from; after `#` it never reaches a server's log. */
export const RESET_PATH = '#/reset/'

export function createPasswordResets(deps: {
  store: UsersStore
  passwords: Passwords
  clock: Clock
}): PasswordResets {
  const { store, passwords, clock } = deps
  const find = async (token: string) => {
    const found = await store.findPasswordReset(hashToken(token))
    return found !== undefined && found.expiresAtMs > clock.now() ? found.user : undefined
  }
  return {
    async issue(email) {
      const found = await store.findUser(email.trim())
      if (found === undefined) throw new AccountsError(`Nobody signs in with the e-mail address ${email}.`)
      const token = newToken()
      const expiresAtMs = clock.now() + VALID_MS
      await store.putPasswordReset({ hash: hashToken(token), userId: found.user.id, expiresAtMs })
      return { token, user: found.user, expiresAtMs }
    },
    find,
    async redeem(token, password, caller) {
      // Checked before the password is hashed, which is expensive: nobody causes it without a link.
      const user = await find(token)
      if (user === undefined) return undefined
      checkPassword(password)
      const passwordHash = await passwords.hash(password, caller)
      const taken = await store.takePasswordReset({ hash: hashToken(token), passwordHash })
      return taken ? user : undefined
    },
  }
}
