import { hash } from 'node:crypto'
import type { Clock } from '../kit/clock.ts'
import type { RandomBytes } from '../kit/random.ts'
import { ConflictError } from '../store/accounts.ts'
import type { Role, SessionRecord, UserRecord, UsersStore } from '../store/users.ts'
import { type Accounts, AccountsError } from './accounts.ts'
import type { HashCaller } from './hash-queue.ts'
import { checkPassword, NO_PASSWORD, type Passwords } from './password.ts'

export type { SessionRecord, UserRecord } from '../store/users.ts'

export type Users = ReturnType<typeof createUsers>

interface Credentials {
  email: string
  password: string
}

const TOKEN_BYTES = 32
const SESSION_MS = 14 * 24 * 3_600_000
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,190}$/

/** Users of the dashboard, their sessions, and the invitation of the first operator. */
export function createUsers(deps: {
  store: UsersStore
  accounts: Accounts
  passwords: Passwords
  clock: Clock
  randomBytes: RandomBytes
  planOfNew: string
}) {
  const { store, accounts, passwords, clock, randomBytes } = deps

  async function addUser(
    { email, password }: Credentials,
    role: Role,
    accountId: string | null,
    caller?: HashCaller,
  ): Promise<UserRecord> {
    const address = email.trim()
    check(address, password)
    if ((await store.findUser(address)) !== undefined) throw new ConflictError(TAKEN)
    const passwordHash = await passwords.hash(password, caller)
    const user = {
      id: newUserId(randomBytes),
      email: address,
      role,
      passwordHash,
      createdAtMs: clock.now(),
    }
    try {
      if (accountId !== null) return await store.createUser({ ...user, accountId })
      // In one write: an account without its user would keep the address taken for good.
      const account = accounts.prepare({ email: address, plan: deps.planOfNew })
      return await store.createUser({ ...user, accountId: account.id }, account)
    } catch (error) {
      if (error instanceof ConflictError) throw new ConflictError(TAKEN)
      throw error
    }
  }

  return {
    list: () => store.listUsers(),
    signUp: (input: Credentials, caller?: HashCaller) => addUser(input, 'customer', null, caller),
    /** The user when e-mail and password fit. */
    async verify({ email, password }: Credentials, caller?: HashCaller): Promise<UserRecord | undefined> {
      const found = await store.findUser(email.trim())
      const fits = await passwords.verify(password, found?.passwordHash, caller)
      return fits ? found?.user : undefined
    },
    async changePassword(
      user: UserRecord,
      { current, next }: { current: string; next: string },
      caller?: HashCaller,
    ) {
      const found = await store.findUser(user.email)
      if (!(await passwords.verify(current, found?.passwordHash, caller))) return false
      check(user.email, next)
      return store.setPassword(user.id, await passwords.hash(next, caller))
    },
    async openSession(userId: string) {
      const token = newToken(randomBytes)
      const createdAtMs = clock.now()
      const expiresAtMs = createdAtMs + SESSION_MS
      await store.pruneSessions()
      await store.createSession({ hash: hashToken(token), userId, createdAtMs, expiresAtMs })
      return { token, expiresAtMs }
    },
    async findSession(token: string): Promise<SessionRecord | undefined> {
      const session = await store.findSession(hashToken(token))
      return session !== undefined && session.expiresAtMs > clock.now() ? session : undefined
    },
    closeSession: (token: string) => store.deleteSession(hashToken(token)),
    closeOtherSessions: (userId: string, token: string) => store.deleteSessionsOf(userId, hashToken(token)),
    /** A one-time token for the operator, a new one unless it is given; undefined when there is an operator already. */
    async inviteOperator(accountId: string | null, bytes?: Buffer): Promise<string | undefined> {
      if ((await store.listUsers()).some(({ role }) => role === 'operator')) return undefined
      const token = newToken(bytes === undefined ? randomBytes : () => bytes)
      await store.putInvitation({ hash: hashToken(token), role: 'operator', accountId })
      return token
    },
    /** @throws ConflictError when the address is used */
    async checkFree(email: string): Promise<void> {
      checkEmail(email.trim())
      if ((await store.findUser(email.trim())) !== undefined) throw new ConflictError(TAKEN)
    },
    /**
     * A user of an account who has no password yet: a link to choose one makes the invitation (password-reset.ts).
     * One who was invited before and has not come stays as it is.
     */
    async invite({ email, ...input }: { email: string; accountId: string; role: Role }): Promise<UserRecord> {
      const address = email.trim()
      checkEmail(address)
      const { id: accountId } = await accounts.get(input.accountId)
      const found = await store.findUser(address)
      if (found === undefined) {
        return store.createUser({
          id: newUserId(randomBytes),
          email: address,
          role: input.role,
          accountId,
          passwordHash: NO_PASSWORD,
          createdAtMs: clock.now(),
        })
      }
      const { user, passwordHash } = found
      const isSame = user.accountId === accountId && user.role === input.role
      if (passwordHash !== NO_PASSWORD || !isSame) throw new ConflictError(TAKEN)
      return user
    },
    isInvitation: async (token: string) => (await store.findInvitation(hashToken(token))) !== undefined,
    /** Undefined when the token is unknown or was used. */
    async redeem(token: string, input: Credentials): Promise<UserRecord | undefined> {
      const invitation = await store.findInvitation(hashToken(token))
      if (invitation === undefined) return undefined
      check(input.email.trim(), input.password)
      if ((await store.findUser(input.email.trim())) !== undefined) throw new ConflictError(TAKEN)
      if (!(await store.takeInvitation(hashToken(token)))) return undefined
      try {
        return await addUser(input, invitation.role, invitation.accountId)
      } catch (error) {
        // Nobody came of it, for example because too many hashes were waiting: the link works on.
        await store.putInvitation({ hash: hashToken(token), ...invitation })
        throw error
      }
    },
  }
}

const TAKEN = 'This e-mail address cannot be used: it has an account already.'

function check(email: string, password: string): void {
  checkEmail(email)
  checkPassword(password)
}

function checkEmail(email: string): void {
  if (!EMAIL.test(email)) throw new AccountsError('This is not an e-mail address.')
}

function newUserId(randomBytes: RandomBytes): string {
  return `usr_${randomBytes(10).toString('hex')}`
}

/** The store has only the hash of a token. */
export function newToken(randomBytes: RandomBytes): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex')
}
