import type { DatabaseSync } from 'node:sqlite'
import { ConflictError } from '../accounts.ts'
import type { AuditRecord, NewUser, SessionRecord, UserRecord, UsersStore } from '../users.ts'

/** Rows of users, sessions, invitations and the audit log. */
type Row = Record<string, unknown>

/** Of one user; the oldest ends when there would be more. */
const MAX_SESSIONS = 50

export function userReaders(db: DatabaseSync) {
  const byEmail = db.prepare('SELECT * FROM users WHERE email = ?')
  const all = db.prepare('SELECT * FROM users ORDER BY created_at, id')
  const session = db.prepare(
    `SELECT users.*, sessions.created_at AS session_created_at, sessions.expires_at
     FROM sessions JOIN users ON users.id = sessions.user_id WHERE sessions.hash = ?`,
  )
  const invitation = db.prepare('SELECT role, account_id FROM invitations WHERE hash = ?')
  const reset = db.prepare(
    `SELECT users.*, password_resets.expires_at
     FROM password_resets JOIN users ON users.id = password_resets.user_id WHERE password_resets.hash = ?`,
  )
  const audit = db.prepare(
    `SELECT * FROM audit WHERE seq < ? AND (? IS NULL OR account_id = ?) ORDER BY seq DESC LIMIT ?`,
  )
  return {
    findUser: (email: string) =>
      optional(byEmail.get(email), (row) => ({ user: toUser(row), passwordHash: String(row.password_hash) })),
    listUsers: () => all.all().map(toUser),
    findSession: (hash: string) =>
      optional(
        session.get(hash),
        (row): SessionRecord => ({
          user: toUser(row),
          createdAtMs: Number(row.session_created_at),
          expiresAtMs: Number(row.expires_at),
        }),
      ),
    findInvitation: (hash: string) =>
      optional(invitation.get(hash), (row) => ({
        role: row.role as UserRecord['role'],
        accountId: row.account_id as string | null,
      })),
    findPasswordReset: (hash: string) =>
      optional(reset.get(hash), (row) => ({ user: toUser(row), expiresAtMs: Number(row.expires_at) })),
    listAudit: ({ limit, before, accountId }: Parameters<UsersStore['listAudit']>[0]) =>
      audit.all(before ?? Number.MAX_SAFE_INTEGER, accountId ?? null, accountId ?? null, limit).map(toAudit),
  }
}

export function userWriters(db: DatabaseSync) {
  const insert = db.prepare(
    'INSERT INTO users (id, email, role, account_id, password_hash, created_at) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const setPassword = db.prepare('UPDATE users SET password_hash = ? WHERE id = ?')
  const insertSession = db.prepare('INSERT INTO sessions VALUES (?, ?, ?, ?)')
  const dropOldest = db.prepare(
    `DELETE FROM sessions WHERE user_id = ?1 AND hash NOT IN
       (SELECT hash FROM sessions WHERE user_id = ?1 ORDER BY created_at DESC, hash LIMIT ${MAX_SESSIONS})`,
  )
  const deleteSession = db.prepare('DELETE FROM sessions WHERE hash = ?')
  const deleteSessions = db.prepare('DELETE FROM sessions WHERE user_id = ? AND hash <> ?')
  const pruneSessions = db.prepare('DELETE FROM sessions WHERE expires_at <= ?')
  const endInvitations = db.prepare('DELETE FROM invitations WHERE role = ?')
  const insertInvitation = db.prepare('INSERT INTO invitations VALUES (?, ?, ?)')
  const takeInvitation = db.prepare('DELETE FROM invitations WHERE hash = ?')
  const putReset = db.prepare('INSERT OR REPLACE INTO password_resets VALUES (?, ?, ?)')
  const takeReset = db.prepare('DELETE FROM password_resets WHERE hash = ? RETURNING user_id, expires_at')
  const insertAudit = db.prepare(
    'INSERT INTO audit (at, actor, action, account_id, detail) VALUES (?, ?, ?, ?, ?)',
  )

  return {
    createUser: (user: NewUser): UserRecord => {
      const { id, email, role, accountId, passwordHash, createdAtMs } = user
      try {
        insert.run(id, email, role, accountId, passwordHash, createdAtMs)
      } catch (error) {
        if (!(error instanceof Error) || !/UNIQUE constraint/.test(error.message)) throw error
        throw new ConflictError(`A user with the e-mail ${email} exists already.`)
      }
      return { id, email, role, accountId, createdAtMs }
    },
    setPassword: (...[userId, hash]: Parameters<UsersStore['setPassword']>) =>
      setPassword.run(hash, userId).changes > 0,
    createSession: (session: Parameters<UsersStore['createSession']>[0]) => {
      insertSession.run(session.hash, session.userId, session.createdAtMs, session.expiresAtMs)
      dropOldest.run(session.userId)
    },
    deleteSession: (hash: string) => void deleteSession.run(hash),
    deleteSessionsOf: (userId: string, exceptHash = '') => void deleteSessions.run(userId, exceptHash),
    pruneSessions: (nowMs: number) => void pruneSessions.run(nowMs),
    putInvitation: ({ hash, role, accountId }: Parameters<UsersStore['putInvitation']>[0]) => {
      endInvitations.run(role)
      insertInvitation.run(hash, role, accountId)
    },
    takeInvitation: (hash: string) => takeInvitation.run(hash).changes > 0,
    putPasswordReset: ({ hash, userId, expiresAtMs }: Parameters<UsersStore['putPasswordReset']>[0]) =>
      void putReset.run(hash, userId, expiresAtMs),
    takePasswordReset: (
      { hash, passwordHash }: Parameters<UsersStore['takePasswordReset']>[0],
      nowMs: number,
    ) => {
      const taken = takeReset.get(hash)
      if (taken === undefined || Number(taken.expires_at) <= nowMs) return false
      setPassword.run(passwordHash, String(taken.user_id))
      deleteSessions.run(String(taken.user_id), '')
      return true
    },
    addAudit: ({ atMs, actor, action, accountId, detail }: Parameters<UsersStore['addAudit']>[0]) =>
      void insertAudit.run(atMs, actor, action, accountId, detail),
  }
}

function toUser(row: Row): UserRecord {
  return {
    id: String(row.id),
    email: String(row.email),
    role: row.role as UserRecord['role'],
    accountId: String(row.account_id),
    createdAtMs: Number(row.created_at),
  }
}

function toAudit(row: Row): AuditRecord {
  return {
    seq: Number(row.seq),
    atMs: Number(row.at),
    actor: String(row.actor),
    action: String(row.action),
    accountId: row.account_id as string | null,
    detail: String(row.detail),
  }
}

function optional<T>(row: Row | undefined, convert: (row: Row) => T): T | undefined {
  return row === undefined ? undefined : convert(row)
}
