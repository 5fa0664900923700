import type { AuditRecord, NewUser, SessionRecord, UserRecord, UsersStore } from '../users.ts'
import { insertAccount } from './accounts-records.ts'
import { type Database, statement } from './database.ts'
import { orConflict, storable } from './texts.ts'

/** Rows of users, sessions, invitations and the audit log. */
const USER = 'u.id, u.email, u.role, u.account_id AS "accountId", u.created_at AS "createdAtMs"'

/** Of one user; the oldest ends when there would be more. */
const MAX_SESSIONS = 50

const INSERT_USER = statement(
  'user_insert',
  'INSERT INTO users (id, email, role, account_id, password_hash, created_at) VALUES ($1, $2, $3, $4, $5, $6)',
)
const USER_BY_EMAIL = statement(
  'user_by_email',
  `SELECT ${USER}, u.password_hash AS "passwordHash" FROM users u WHERE lower(u.email) = lower($1 COLLATE "C")`,
)
const ALL_USERS = statement('user_all', `SELECT ${USER} FROM users u ORDER BY u.created_at, u.id`)
const SET_PASSWORD = statement('user_set_password', 'UPDATE users SET password_hash = $2 WHERE id = $1')
const END_RESETS = statement('reset_end', 'DELETE FROM password_resets WHERE user_id = $1')

const INSERT_SESSION = statement(
  'session_insert',
  'INSERT INTO sessions (hash, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4)',
)
const DROP_OLDEST_SESSIONS = statement(
  'session_drop_oldest',
  `DELETE FROM sessions WHERE user_id = $1 AND hash NOT IN
     (SELECT hash FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, hash LIMIT ${MAX_SESSIONS})`,
)
const SESSION = statement(
  'session_find',
  `SELECT ${USER}, s.created_at AS "sessionAtMs", s.expires_at AS "expiresAtMs"
   FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = $1`,
)
const DELETE_SESSION = statement('session_delete', 'DELETE FROM sessions WHERE hash = $1')
const DELETE_SESSIONS_OF = statement(
  'session_delete_of',
  'DELETE FROM sessions WHERE user_id = $1 AND hash <> $2',
)
const PRUNE_SESSIONS = statement('session_prune', 'DELETE FROM sessions WHERE expires_at <= now_ms()')

const PUT_INVITATION = statement(
  'invitation_put',
  `INSERT INTO invitations (role, hash, account_id) VALUES ($1, $2, $3)
   ON CONFLICT (role) DO UPDATE SET hash = excluded.hash, account_id = excluded.account_id`,
)
const INVITATION = statement(
  'invitation_find',
  'SELECT role, account_id AS "accountId" FROM invitations WHERE hash = $1',
)
const TAKE_INVITATION = statement('invitation_take', 'DELETE FROM invitations WHERE hash = $1')

const PUT_RESET = statement(
  'reset_put',
  `INSERT INTO password_resets (user_id, hash, expires_at) VALUES ($1, $2, $3)
   ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at`,
)
const RESET = statement(
  'reset_find',
  `SELECT ${USER}, r.expires_at AS "expiresAtMs"
   FROM password_resets r JOIN users u ON u.id = r.user_id WHERE r.hash = $1`,
)
const TAKE_RESET = statement(
  'reset_take',
  `DELETE FROM password_resets WHERE hash = $1 RETURNING user_id AS "userId", expires_at > now_ms() AS "isInTime"`,
)

const INSERT_AUDIT = statement(
  'audit_insert',
  'INSERT INTO audit (at, actor, action, account_id, detail) VALUES ($1, $2, $3, $4, $5)',
)
const AUDIT = `SELECT seq, at AS "atMs", actor, action, account_id AS "accountId", detail FROM audit WHERE seq < $1`
const LIST_AUDIT = statement('audit_list', `${AUDIT} ORDER BY seq DESC LIMIT $2`)
const LIST_AUDIT_OF = statement('audit_list_of', `${AUDIT} AND account_id = $3 ORDER BY seq DESC LIMIT $2`)

export function userRecords(db: Database): UsersStore {
  return {
    createUser: ({ id, email, role, accountId, passwordHash, createdAtMs }, account) =>
      db.write(async (tx) => {
        if (account !== undefined) await insertAccount(tx, account)
        const values = [id, storable(email), role, accountId, passwordHash, createdAtMs]
        await orConflict(`A user with the e-mail ${email} exists already.`, tx.run(INSERT_USER, values))
        return { id, email, role, accountId, createdAtMs }
      }),
    async findUser(email) {
      const [row] = await db.rows<NewUser>(USER_BY_EMAIL, [storable(email)])
      if (row === undefined) return undefined
      const { passwordHash, ...user } = row
      return { user, passwordHash }
    },
    listUsers: () => db.rows<UserRecord>(ALL_USERS),
    setPassword: (userId, passwordHash) =>
      db.write(async (tx) => {
        const [, changed] = await Promise.all([
          tx.run(END_RESETS, [userId]),
          tx.run(SET_PASSWORD, [userId, passwordHash]),
        ])
        return changed > 0
      }),

    createSession: ({ hash, userId, createdAtMs, expiresAtMs }) =>
      db.write(async (tx) => {
        await Promise.all([
          tx.run(INSERT_SESSION, [hash, userId, createdAtMs, expiresAtMs]),
          tx.run(DROP_OLDEST_SESSIONS, [userId]),
        ])
      }),
    async findSession(hash) {
      type Found = UserRecord & { sessionAtMs: number; expiresAtMs: number }
      const [row] = await db.rows<Found>(SESSION, [hash])
      if (row === undefined) return undefined
      const { sessionAtMs, expiresAtMs, ...user } = row
      return { user, createdAtMs: sessionAtMs, expiresAtMs } satisfies SessionRecord
    },
    async deleteSession(hash) {
      await db.run(DELETE_SESSION, [hash])
    },
    async deleteSessionsOf(userId, exceptHash = '') {
      await db.run(DELETE_SESSIONS_OF, [userId, exceptHash])
    },
    async pruneSessions() {
      await db.run(PRUNE_SESSIONS)
    },

    async putInvitation({ hash, role, accountId }) {
      await db.run(PUT_INVITATION, [role, hash, accountId])
    },
    findInvitation: async (hash) =>
      (await db.rows<Pick<UserRecord, 'role'> & { accountId: string | null }>(INVITATION, [hash]))[0],
    takeInvitation: async (hash) => (await db.run(TAKE_INVITATION, [hash])) > 0,

    async putPasswordReset({ hash, userId, expiresAtMs }) {
      await db.run(PUT_RESET, [userId, hash, expiresAtMs])
    },
    async findPasswordReset(hash) {
      const [row] = await db.rows<UserRecord & { expiresAtMs: number }>(RESET, [hash])
      if (row === undefined) return undefined
      const { expiresAtMs, ...user } = row
      return { user, expiresAtMs }
    },
    takePasswordReset: ({ hash, passwordHash }) =>
      db.write(async (tx) => {
        const [taken] = await tx.rows<{ userId: string; isInTime: boolean }>(TAKE_RESET, [hash])
        if (taken?.isInTime !== true) return false
        await Promise.all([
          tx.run(SET_PASSWORD, [taken.userId, passwordHash]),
          tx.run(DELETE_SESSIONS_OF, [taken.userId, '']),
        ])
        return true
      }),

    async addAudit({ atMs, actor, action, accountId, detail }) {
      await db.run(INSERT_AUDIT, [atMs, storable(actor), action, accountId, storable(detail)])
    },
    listAudit: ({ limit, before = Number.MAX_SAFE_INTEGER, accountId }) =>
      accountId === undefined
        ? db.rows<AuditRecord>(LIST_AUDIT, [before, limit])
        : db.rows<AuditRecord>(LIST_AUDIT_OF, [before, limit, storable(accountId)]),
  }
}
