/**
 * The storage port for users who sign in: their records, sessions, invitations and the audit log. Tokens are stored
 * only as hashes, passwords as argon2id hashes.
 */
import type { NewAccount } from './accounts.ts'
import type { AuditEntry } from './audit-entry.ts'

const ROLES = ['operator', 'customer'] as const
export type Role = (typeof ROLES)[number]

export interface UserRecord {
  id: string
  email: string
  role: Role
  accountId: string
  createdAtMs: number
}

export type NewUser = UserRecord & { passwordHash: string }

export interface SessionRecord {
  user: UserRecord
  createdAtMs: number
  expiresAtMs: number
}

export interface AuditRecord extends AuditEntry {
  seq: number
}

/** Written with the user, or not at all. */
export interface WithUser {
  /** The user's account, if it does not exist yet. */
  account?: NewAccount | undefined
  audit?: AuditEntry | undefined
}

/** Changes write the given entry of the audit log in the same transaction, if they change anything. */
export interface UsersStore {
  /** Throws ConflictError when the e-mail of the user or of the account is taken. */
  createUser(user: NewUser, also?: WithUser): Promise<UserRecord>
  findUser(email: string): Promise<{ user: UserRecord; passwordHash: string } | undefined>
  listUsers(): Promise<UserRecord[]>
  /**
   * Also invalidates any outstanding reset link, and ends the user's sessions other than `keptSession` (a hash).
   *
   * @param change.replaces the hash that the password must still have; otherwise nothing changes, which is false
   */
  setPassword(
    change: { userId: string; passwordHash: string; keptSession: string; replaces?: string | undefined },
    audit?: AuditEntry,
  ): Promise<boolean>

  /**
   * @param session.openedWith the hash that the user's password must still have; otherwise there is no session, which
   * is false
   */
  createSession(
    session: {
      hash: string
      userId: string
      createdAtMs: number
      expiresAtMs: number
      openedWith?: string | undefined
    },
    audit?: AuditEntry,
  ): Promise<boolean>
  findSession(hash: string): Promise<SessionRecord | undefined>
  deleteSession(hash: string): Promise<void>
  /** Deletes expired sessions. */
  pruneSessions(): Promise<void>

  /** Each role has only one invitation; a new one replaces it. */
  putInvitation(invitation: { hash: string; role: Role; accountId: string | null }): Promise<void>
  findInvitation(hash: string): Promise<{ role: Role; accountId: string | null } | undefined>
  /**
   * Creates the user and ends the invitation, or does neither: undefined when the invitation has ended before.
   *
   * @throws ConflictError like `createUser`
   */
  takeInvitation(hash: string, user: NewUser, also?: WithUser): Promise<UserRecord | undefined>

  /** Each user has only one reset link; a new one replaces it. */
  putPasswordReset(reset: { hash: string; userId: string; expiresAtMs: number }): Promise<void>
  findPasswordReset(hash: string): Promise<{ user: UserRecord; expiresAtMs: number } | undefined>
  /** Sets the password and ends all sessions of the user; true only for the first caller before the link expires. */
  takePasswordReset(reset: { hash: string; passwordHash: string }, audit?: AuditEntry): Promise<boolean>

  addAudit(entry: AuditEntry): Promise<void>
  /** Newest first. */
  listAudit(query: { limit: number; before?: number; accountId?: string }): Promise<AuditRecord[]>
}
