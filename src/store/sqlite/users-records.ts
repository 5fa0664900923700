import type { DatabaseSync } from 'node:sqlite'
import type { AuditEntry } from '../audit-entry.ts'
import type { AuditRecord, NewUser, SessionRecord, UserRecord, UsersStore, WithUser } from '../users.ts'
import { accountInserter } from './accounts-records.ts'
import { auditInserter } from './audit-records.ts'
import { asRecord, orConflict, recordOf } from './rows.ts'

/** Rows of users, sessions, invitations and the audit log. */
const USER = 'users.id, email, role, account_id AS accountId, users.created_at AS createdAtMs'

/** Per user; one more session ends the oldest. */
const MAX_SESSIONS = 50

export function userReaders(db: DatabaseSync) {
  const byEmail = db.prepare(`SELECT ${USER}, password_hash AS passwordHash FROM users WHERE email = ?`)
  const all = db.prepare(`SELECT ${USER} FROM users ORDER BY created_at, id`)
  const session = db.prepare(
    `SELECT ${USER}, sessions.created_at AS sessionAtMs, expires_at AS expiresAtMs
     FROM sessions JOIN users ON users.id = user_id WHERE hash = ?`,
  )
  const invitation = db.prepare('SELECT role, account_id AS accountId FROM invitations WHERE hash = ?')
  const reset = db.prepare(
    `SELECT ${USER}, expires_at AS expiresAtMs
     FROM password_resets JOIN users ON users.id = user_id WHERE hash = ?`,
  )
  const audit = db.prepare(
    `SELECT seq, at AS atMs, actor, action, account_id AS accountId, detail FROM audit
     WHERE seq < ? AND (? IS NULL OR account_id = ?) ORDER BY seq DESC LIMIT ?`,
  )
  return {
    findUser: (email: string) =>
      recordOf(byEmail.get(email), (row) => {
        const { passwordHash, ...user } = asRecord<NewUser>(row)
        return { user, passwordHash }
      }),
    listUsers: () => all.all().map(asRecord<UserRecord>),
    findSession: (hash: string) =>
      recordOf(session.get(hash), (row): SessionRecord => {
        const { sessionAtMs, expiresAtMs, ...user } = asRecord<
          UserRecord & { sessionAtMs: number; expiresAtMs: number }
        >(row)
        return { user, createdAtMs: sessionAtMs, expiresAtMs }
      }),
    findInvitation: (hash: string) =>
      recordOf(invitation.get(hash), asRecord<Pick<UserRecord, 'role'> & { accountId: string | null }>),
    findPasswordReset: (hash: string) =>
      recordOf(reset.get(hash), (row) => {
        const { expiresAtMs, ...user } = asRecord<UserRecord & { expiresAtMs: number }>(row)
        return { user, expiresAtMs }
      }),
    listAudit: ({ limit, before, accountId: only }: Parameters<UsersStore['listAudit']>[0]) =>
      audit
        .all(before ?? Number.MAX_SAFE_INTEGER, only ?? null, only ?? null, limit)
        .map(asRecord<AuditRecord>),
  }
}

export function userWriters(db: DatabaseSync) {
  const insertAccount = accountInserter(db)
  const insert = db.prepare(
    'INSERT INTO users (id, email, role, account_id, password_hash, created_at) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const setPassword = db.prepare('UPDATE users SET password_hash = ? WHERE id = ?')
  const replacePassword = db.prepare('UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?')
  const insertSession = db.prepare('INSERT INTO sessions VALUES (?, ?, ?, ?)')
  const passwordOf = db.prepare('SELECT password_hash AS hash FROM users WHERE id = ?')
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
  const endResets = db.prepare('DELETE FROM password_resets WHERE user_id = ?')
  const takeReset = db.prepare('DELETE FROM password_resets WHERE hash = ? RETURNING user_id, expires_at')
  const insertAudit = auditInserter(db)

  const createUser = (user: NewUser, { account, audit }: WithUser = {}): UserRecord => {
    if (account !== undefined) insertAccount(account)
    const { id, email, role, accountId, passwordHash, createdAtMs } = user
    orConflict(`A user with the e-mail ${email} exists already.`, () =>
      insert.run(id, email, role, accountId, passwordHash, createdAtMs),
    )
    insertAudit(audit)
    return { id, email, role, accountId, createdAtMs }
  }

  return {
    createUser,
    setPassword: (
      ...[{ userId, passwordHash, keptSession, replaces }, audit]: Parameters<UsersStore['setPassword']>
    ) => {
      const { changes } =
        replaces === undefined
          ? setPassword.run(passwordHash, userId)
          : replacePassword.run(passwordHash, userId, replaces)
      if (changes === 0) return false
      endResets.run(userId)
      deleteSessions.run(userId, keptSession)
      insertAudit(audit)
      return true
    },
    createSession: (...[session, audit]: Parameters<UsersStore['createSession']>) => {
      const { openedWith } = session
      if (openedWith !== undefined && passwordOf.get(session.userId)?.hash !== openedWith) return false
      insertSession.run(session.hash, session.userId, session.createdAtMs, session.expiresAtMs)
      dropOldest.run(session.userId)
      insertAudit(audit)
      return true
    },
    deleteSession: (hash: string) => void deleteSession.run(hash),
    pruneSessions: (nowMs: number) => void pruneSessions.run(nowMs),
    putInvitation: ({ hash, role, accountId }: Parameters<UsersStore['putInvitation']>[0]) => {
      endInvitations.run(role)
      insertInvitation.run(hash, role, accountId)
    },
    takeInvitation: (...[hash, user, also]: Parameters<UsersStore['takeInvitation']>) =>
      takeInvitation.run(hash).changes > 0 ? createUser(user, also) : undefined,
    putPasswordReset: ({ hash, userId, expiresAtMs }: Parameters<UsersStore['putPasswordReset']>[0]) =>
      void putReset.run(hash, userId, expiresAtMs),
    takePasswordReset: (
      { hash, passwordHash }: Parameters<UsersStore['takePasswordReset']>[0],
      audit: AuditEntry | undefined,
      nowMs: number,
    ) => {
      const taken = takeReset.get(hash)
      if (taken === undefined || Number(taken.expires_at) <= nowMs) return false
      setPassword.run(passwordHash, String(taken.user_id))
      deleteSessions.run(String(taken.user_id), '')
      insertAudit(audit)
      return true
    },
    addAudit: (entry: AuditEntry) => insertAudit(entry),
  }
}
