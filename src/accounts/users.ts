import { hash } from 'node:crypto'
import type { Clock } from '../kit/clock.ts'
import type { RandomBytes } from '../kit/random.ts'
import { ConflictError } from '../store/accounts.ts'
import type { AuditEntry } from '../store/audit-entry.ts'
import type { NewUser, Role, SessionRecord, UserRecord, UsersStore, WithUser } from '../store/users.ts'
import { type Accounts, AccountsError } from './accounts.ts'
import type { HashCaller } from './hash-queue.ts'
import { checkPassword, NO_PASSWORD, type Passwords } from './password.ts'

export type { SessionRecord, UserRecord } from '../store/users.ts'

export type Users = ReturnType<typeof createUsers>

interface Credentials {
  email: string
  password: string
}

/** The entry of the audit log about what a user did. */
export type AuditOf = (user: Pick<UserRecord, 'email' | 'accountId'>) => AuditEntry

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

  async function addUser<R>(
    { email, password }: Credentials,
    { role, accountId }: { role: Role; accountId: string | null },
    {
      caller,
      auditOf,
      write,
    }: {
      caller?: HashCaller | undefined
      auditOf?: AuditOf | undefined
      write: (user: NewUser, also: WithUser) => Promise<R>
    },
  ): Promise<R> {
    const address = email.trim()
    check(address, password)
    if ((await store.findUser(address)) !== undefined) throw new ConflictError(TAKEN)
    const passwordHash = await passwords.hash(password, caller)
    const account = accounts.prepare({ email: address, plan: deps.planOfNew })
    const user = {
      id: newUserId(randomBytes),
      email: address,
      role,
      accountId: accountId ?? account.id,
      passwordHash,
      createdAtMs: clock.now(),
    }
    try {
      // Written with the user, because an account without its user would block the address for good.
      const also = accountId === null ? { account } : {}
      return await write(user, { ...also, audit: auditOf?.(user) })
    } catch (error) {
      if (error instanceof ConflictError) throw new ConflictError(TAKEN)
      throw error
    }
  }

  return {
    list: () => store.listUsers(),
    signUp: (input: Credentials, caller?: HashCaller, auditOf?: AuditOf) =>
      addUser(
        input,
        { role: 'customer', accountId: null },
        { caller, auditOf, write: (user, also) => store.createUser(user, also) },
      ),
    /** The user if e-mail and password match, with the hash of the password. */
    async verify(
      { email, password }: Credentials,
      caller?: HashCaller,
    ): Promise<{ user: UserRecord; passwordHash: string } | undefined> {
      const found = await store.findUser(email.trim())
      const fits = await passwords.verify(password, found?.passwordHash, caller)
      return fits ? found : undefined
    },
    /** Ends all other sessions of the user. */
    async changePassword(
      user: UserRecord,
      { current, next, token }: { current: string; next: string; token: string },
      caller?: HashCaller,
      auditOf?: AuditOf,
    ) {
      const found = await store.findUser(user.email)
      if (!(await passwords.verify(current, found?.passwordHash, caller))) return false
      check(user.email, next)
      const passwordHash = await passwords.hash(next, caller)
      // Hashing takes time, in which the password may have been changed or reset.
      const replaces = found?.passwordHash
      const change = { userId: user.id, passwordHash, keptSession: hashToken(token), replaces }
      return store.setPassword(change, auditOf?.(user))
    },
    /**
     * @param passwordHash of the password with which the user signed in. If it was changed or reset since, which ends
     * all sessions, there is no new one either.
     * @param audit written together with the session
     */
    async openSession(
      userId: string,
      { passwordHash, audit }: { passwordHash?: string | undefined; audit?: AuditEntry | undefined } = {},
    ) {
      const token = newToken(randomBytes)
      const createdAtMs = clock.now()
      const expiresAtMs = createdAtMs + SESSION_MS
      await store.pruneSessions()
      const session = { hash: hashToken(token), userId, createdAtMs, expiresAtMs }
      const isOpen = await store.createSession({ ...session, openedWith: passwordHash }, audit)
      return isOpen ? { token, expiresAtMs } : undefined
    },
    async findSession(token: string): Promise<SessionRecord | undefined> {
      const session = await store.findSession(hashToken(token))
      return session !== undefined && session.expiresAtMs > clock.now() ? session : undefined
    },
    closeSession: (token: string) => store.deleteSession(hashToken(token)),
    /**
     * A one-time token for the operator, generated unless `bytes` is given; undefined when there already is an
     * operator.
     */
    async inviteOperator(accountId: string | null, bytes?: Buffer): Promise<string | undefined> {
      if ((await store.listUsers()).some(({ role }) => role === 'operator')) return undefined
      const token = newToken(bytes === undefined ? randomBytes : () => bytes)
      await store.putInvitation({ hash: hashToken(token), role: 'operator', accountId })
      return token
    },
    /** @throws ConflictError when the address is already used */
    async checkFree(email: string): Promise<void> {
      checkEmail(email.trim())
      if ((await store.findUser(email.trim())) !== undefined) throw new ConflictError(TAKEN)
    },
    /**
     * Creates a user without a password; a link to choose one is the actual invitation (password-reset.ts). A user who
     * was invited before and has not chosen a password yet stays as is.
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
    async redeem(token: string, input: Credentials, auditOf?: AuditOf): Promise<UserRecord | undefined> {
      const invitation = await store.findInvitation(hashToken(token))
      if (invitation === undefined) return undefined
      // Ends with the write of the user: it stays valid if there is none, for example because too many hashes wait.
      return addUser(input, invitation, {
        auditOf,
        write: (user, also) => store.takeInvitation(hashToken(token), user, also),
      })
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

/** The store keeps only the hash of a token. */
export function newToken(randomBytes: RandomBytes): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex')
}
