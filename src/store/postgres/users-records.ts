import type { AuditRecord, NewUser, SessionRecord, UserRecord, UsersStore, WithUser } from '../users.ts'
import { insertAccount } from './accounts-records.ts'
import { insertAudit } from './audit-records.ts'
import { type Database, type Queries, statement } from './database.ts'
import { orConflict, storable } from './texts.ts'

/** Users, sessions, invitations and the audit log. */
const USER = 'u.id, u.email, u.role, u.account_id AS "accountId", u.created_at AS "createdAtMs"'

/** Per user; the oldest session ends when a new one would exceed this. */
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
const REPLACE_PASSWORD = statement(
  'user_replace_password',
  'UPDATE users SET password_hash = $2 WHERE id = $1 AND password_hash = $3',
)
/** Waits for a change of the password that is being written, and lets none begin before the end of the transaction. */
const HAS_PASSWORD = statement(
  'user_has_password',
  'SELECT 1 FROM users WHERE id = $1 AND password_hash = $2 FOR SHARE',
)
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

const AUDIT = `SELECT seq, at AS "atMs", actor, action, account_id AS "accountId", detail FROM audit WHERE seq < $1`
const LIST_AUDIT = statement('audit_list', `${AUDIT} ORDER BY seq DESC LIMIT $2`)
const LIST_AUDIT_OF = statement('audit_list_of', `${AUDIT} AND account_id = $3 ORDER BY seq DESC LIMIT $2`)

export function userRecords(db: Database): UsersStore {
  return {
    createUser: (user, also) => db.write((tx) => insertUser(tx, user, also)),
    async findUser(email) {
      const [row] = await db.rows<NewUser>(USER_BY_EMAIL, [storable(email)])
      if (row === undefined) return undefined
      const { passwordHash, ...user } = row
      return { user, passwordHash }
    },
    listUsers: () => db.rows<UserRecord>(ALL_USERS),
    setPassword: ({ userId, passwordHash, keptSession, replaces }, audit) =>
      db.write(async (tx) => {
        const changed =
          replaces === undefined
            ? await tx.run(SET_PASSWORD, [userId, passwordHash])
            : await tx.run(REPLACE_PASSWORD, [userId, passwordHash, replaces])
        if (changed === 0) return false
        await Promise.all([
          tx.run(END_RESETS, [userId]),
          tx.run(DELETE_SESSIONS_OF, [userId, keptSession]),
          insertAudit(tx, audit),
        ])
        return true
      }),

    createSession: ({ hash, userId, createdAtMs, expiresAtMs, openedWith }, audit) =>
      db.write(async (tx) => {
        if (openedWith !== undefined && (await tx.rows(HAS_PASSWORD, [userId, openedWith])).length === 0)
          return false
        await Promise.all([
          tx.run(INSERT_SESSION, [hash, userId, createdAtMs, expiresAtMs]),
          tx.run(DROP_OLDEST_SESSIONS, [userId]),
          insertAudit(tx, audit),
        ])
        return true
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
    async pruneSessions() {
      await db.run(PRUNE_SESSIONS)
    },

    async putInvitation({ hash, role, accountId }) {
      await db.run(PUT_INVITATION, [role, hash, accountId])
    },
    findInvitation: async (hash) =>
      (await db.rows<Pick<UserRecord, 'role'> & { accountId: string | null }>(INVITATION, [hash]))[0],
    takeInvitation: (hash, user, also) =>
      db.write(async (tx) =>
        (await tx.run(TAKE_INVITATION, [hash])) > 0 ? insertUser(tx, user, also) : undefined,
      ),

    async putPasswordReset({ hash, userId, expiresAtMs }) {
      await db.run(PUT_RESET, [userId, hash, expiresAtMs])
    },
    async findPasswordReset(hash) {
      const [row] = await db.rows<UserRecord & { expiresAtMs: number }>(RESET, [hash])
      if (row === undefined) return undefined
      const { expiresAtMs, ...user } = row
      return { user, expiresAtMs }
    },
    takePasswordReset: ({ hash, passwordHash }, audit) =>
      db.write(async (tx) => {
        const [taken] = await tx.rows<{ userId: string; isInTime: boolean }>(TAKE_RESET, [hash])
        if (taken?.isInTime !== true) return false
        await Promise.all([
          tx.run(SET_PASSWORD, [taken.userId, passwordHash]),
          tx.run(DELETE_SESSIONS_OF, [taken.userId, '']),
          insertAudit(tx, audit),
        ])
        return true
      }),

    addAudit: (entry) => insertAudit(db, entry),
    listAudit: ({ limit, before = Number.MAX_SAFE_INTEGER, accountId }) =>
      accountId === undefined
        ? db.rows<AuditRecord>(LIST_AUDIT, [before, limit])
        : db.rows<AuditRecord>(LIST_AUDIT_OF, [before, limit, storable(accountId)]),
  }
}

async function insertUser(
  tx: Queries,
  { id, email, role, accountId, passwordHash, createdAtMs }: NewUser,
  { account, audit }: WithUser = {},
): Promise<UserRecord> {
  if (account !== undefined) await insertAccount(tx, account)
  const values = [id, storable(email), role, accountId, passwordHash, createdAtMs]
  await orConflict(`A user with the e-mail ${email} exists already.`, tx.run(INSERT_USER, values))
  await insertAudit(tx, audit)
  return { id, email, role, accountId, createdAtMs }
}
