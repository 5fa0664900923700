/**
 * The storage port for users who sign in: their records, sessions, invitations and the audit log. Tokens are
 * stored as hashes only; passwords as argon2id hashes.
 */
import type { NewAccount } from './accounts.ts'

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

interface AuditEntry {
  atMs: number
  /** Who acted: a user's e-mail, `command line` or `billing`. */
  actor: string
  /** What was done, such as `account.paused`. */
  action: string
  accountId: string | null
  /** What it was done to and how, in words. Never a secret. */
  detail: string
}

export interface AuditRecord extends AuditEntry {
  seq: number
}

export interface UsersStore {
  /** With an account that is not there yet, both are made or none. ConflictError when either e-mail is taken. */
  createUser(user: NewUser, account?: NewAccount): Promise<UserRecord>
  findUser(email: string): Promise<{ user: UserRecord; passwordHash: string } | undefined>
  listUsers(): Promise<UserRecord[]>
  /** Ends what was issued to reset it. */
  setPassword(userId: string, passwordHash: string): Promise<boolean>

  createSession(session: {
    hash: string
    userId: string
    createdAtMs: number
    expiresAtMs: number
  }): Promise<void>
  findSession(hash: string): Promise<SessionRecord | undefined>
  /** Ends one session, or with `userId` all others of that user. */
  deleteSession(hash: string): Promise<void>
  deleteSessionsOf(userId: string, exceptHash?: string): Promise<void>
  /** Deletes expired ones. */
  pruneSessions(): Promise<void>

  /** The one invitation of a role: an earlier one ends. */
  putInvitation(invitation: { hash: string; role: Role; accountId: string | null }): Promise<void>
  findInvitation(hash: string): Promise<{ role: Role; accountId: string | null } | undefined>
  /** True for the first caller. */
  takeInvitation(hash: string): Promise<boolean>

  /** The one link of a user that sets the password: an earlier one ends. */
  putPasswordReset(reset: { hash: string; userId: string; expiresAtMs: number }): Promise<void>
  findPasswordReset(hash: string): Promise<{ user: UserRecord; expiresAtMs: number } | undefined>
  /** Sets the password and ends all sessions of the user; true for the first who takes it in time. */
  takePasswordReset(reset: { hash: string; passwordHash: string }): Promise<boolean>

  addAudit(entry: AuditEntry): Promise<void>
  /** Newest first. */
  listAudit(query: { limit: number; before?: number; accountId?: string }): Promise<AuditRecord[]>
}
