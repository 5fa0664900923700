import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { claimOf, storedForm } from '../accounts/idempotency-rules.ts'
import type { AccountsStore, HeldClaim, IdempotencyClaim } from '../accounts.ts'
import { type Database, type Queries, statement } from './database.ts'

/** A claim waits while old entries of its account are deleted, so they are deleted in small batches. */
const FORGOTTEN_AT_ONCE = 200
const PRUNED_AT_ONCE = 5_000

const LOCK_ACCOUNT = statement(
  'idempotency_lock_account',
  `INSERT INTO idempotency_totals AS t (account_id, entries, bytes) VALUES ($1, 0, 0)
   ON CONFLICT (account_id) DO UPDATE SET entries = t.entries`,
)
const LOCK_ACCOUNT_OF = statement(
  'idempotency_lock_account_of',
  `SELECT t.bytes FROM idempotency i JOIN idempotency_totals t ON t.account_id = i.account_id
   WHERE i.id = $1 AND i.claim = $2 FOR UPDATE OF t`,
)
const FORGET = statement(
  'idempotency_forget',
  `WITH old AS (
     DELETE FROM idempotency WHERE id IN (
       SELECT id FROM idempotency WHERE account_id = $1 AND expires_at <= now_ms() ORDER BY expires_at LIMIT $2)
     RETURNING bytes),
   sums AS (SELECT count(*) AS entries, coalesce(sum(bytes), 0)::bigint AS bytes FROM old)
   UPDATE idempotency_totals t SET entries = t.entries - sums.entries, bytes = t.bytes - sums.bytes FROM sums
   WHERE t.account_id = $1 AND sums.entries > 0`,
)
const FIND = statement(
  'idempotency_find',
  `SELECT body_hash AS "bodyHash", claimed_until AS "claimedUntilMs", reply, now_ms() AS "nowMs"
   FROM idempotency WHERE id = $1 AND expires_at > now_ms()`,
)
const REMOVE = statement(
  'idempotency_remove',
  `WITH gone AS (DELETE FROM idempotency WHERE id = $1 RETURNING account_id, bytes)
   UPDATE idempotency_totals t SET entries = t.entries - 1, bytes = t.bytes - gone.bytes FROM gone
   WHERE t.account_id = gone.account_id`,
)
/** Returns no row if the account already has its maximum number of entries. */
const PUT = statement(
  'idempotency_put',
  `WITH put AS (
     INSERT INTO idempotency (id, account_id, body_hash, claimed_until, expires_at, claim)
     SELECT $1, t.account_id, $3, now_ms() + $4::bigint, now_ms() + $5::bigint, next_number('idempotency_claims')
     FROM idempotency_totals t WHERE t.account_id = $2 AND t.entries < $6::bigint
     RETURNING claim)
   UPDATE idempotency_totals t SET entries = t.entries + 1 FROM put WHERE t.account_id = $2 RETURNING put.claim`,
)
const FINISH = statement(
  'idempotency_finish',
  `WITH before AS (SELECT account_id, bytes FROM idempotency WHERE id = $1 AND claim = $2),
   finished AS (UPDATE idempotency SET reply = $3, bytes = $4::bigint WHERE id = $1 AND claim = $2)
   UPDATE idempotency_totals t SET bytes = t.bytes + $4::bigint - before.bytes FROM before
   WHERE t.account_id = before.account_id`,
)
const EXTEND = statement(
  'idempotency_extend',
  `UPDATE idempotency SET claimed_until = now_ms() + $3::bigint WHERE id = $1 AND claim = $2 AND reply IS NULL`,
)
const RELEASE = statement(
  'idempotency_release',
  `WITH gone AS (
     DELETE FROM idempotency WHERE id = $1 AND claim = $2 AND reply IS NULL RETURNING account_id, bytes)
   UPDATE idempotency_totals t SET entries = t.entries - 1, bytes = t.bytes - gone.bytes FROM gone
   WHERE t.account_id = gone.account_id`,
)
const OLDEST_EXPIRED = statement(
  'idempotency_oldest_expired',
  'SELECT account_id AS "accountId" FROM idempotency WHERE expires_at <= now_ms() ORDER BY expires_at LIMIT 1',
)

interface EntryRow {
  readonly bodyHash: string
  readonly claimedUntilMs: number
  readonly reply: string | null
  readonly nowMs: number
}

type Idempotency = Pick<
  AccountsStore,
  'claimIdempotency' | 'finishIdempotency' | 'extendIdempotency' | 'releaseIdempotency'
> & {
  /** Deletes expired entries, including those of accounts that make no more calls. */
  pruneIdempotency(): Promise<void>
}

/**
 * Calls of one account wait for the same row lock. They take turns, with at most this many in the queue; otherwise each
 * waiting call would hold a connection and other accounts would get none.
 */
const MAX_WAITING = 1_000

function turns() {
  const queues = new Map<string, { last: Promise<unknown>; length: number }>()
  return <R>(accountId: string, run: () => Promise<R>): Promise<R> => {
    const queue = queues.get(accountId) ?? { last: Promise.resolve(), length: 0 }
    if (queue.length >= MAX_WAITING)
      return Promise.reject(new StoreUnavailableError('Too many calls of this account wait for each other.'))
    queues.set(accountId, queue)
    queue.length++
    const turn = queue.last.then(run).finally(() => {
      queue.length--
      if (queue.length === 0) queues.delete(accountId)
    })
    queue.last = turn.catch(() => {})
    return turn
  }
}

export function idempotencyEntries(db: Database): Idempotency {
  const inTurn = turns()
  /** The account of each claim that this process still has to finish or release. */
  const accountOf = new Map<number, string>()
  const settle = <R>({ claim }: HeldClaim, run: () => Promise<R>): Promise<R> => {
    const accountId = accountOf.get(claim)
    accountOf.delete(claim)
    return accountId === undefined ? run() : inTurn(accountId, run)
  }
  const forget = (tx: Queries, accountId: string, limit: number) =>
    Promise.all([tx.run(LOCK_ACCOUNT, [accountId]), tx.run(FORGET, [accountId, limit])])
  return {
    async claimIdempotency({ id, accountId, bodyHash, claimMs, rememberedMs, maxEntries }) {
      const claimIn = async (tx: Queries): Promise<IdempotencyClaim> => {
        const [, [row]] = await Promise.all([
          forget(tx, accountId, FORGOTTEN_AT_ONCE),
          tx.rows<EntryRow>(FIND, [id]),
        ])
        const answer = row && claimOf(row, bodyHash, row.nowMs)
        if (answer !== undefined) return answer
        const [, [put]] = await Promise.all([
          tx.run(REMOVE, [id]),
          tx.rows<{ claim: number }>(PUT, [id, accountId, bodyHash, claimMs, rememberedMs, maxEntries]),
        ])
        return put === undefined ? { state: 'full' } : { state: 'fresh', claim: put.claim }
      }
      const claim = await inTurn(accountId, () => db.write(claimIn))
      if (claim.state === 'fresh') accountOf.set(claim.claim, accountId)
      return claim
    },
    finishIdempotency: (held, reply, maxBytes) =>
      settle(held, () =>
        db.write(async (tx) => {
          const place = [held.id, held.claim]
          const [totals] = await tx.rows<{ bytes: number }>(LOCK_ACCOUNT_OF, place)
          if (totals === undefined) return
          const { text, bytes } = storedForm(reply, { usedBytes: totals.bytes, maxBytes })
          await tx.run(FINISH, [...place, text, bytes])
        }),
      ),
    extendIdempotency: async ({ id, claim }, claimMs) => void (await db.run(EXTEND, [id, claim, claimMs])),
    releaseIdempotency: (held) =>
      settle(held, () =>
        db.write(async (tx) => {
          const place = [held.id, held.claim]
          await Promise.all([tx.rows(LOCK_ACCOUNT_OF, place), tx.run(RELEASE, place)])
        }),
      ),
    async pruneIdempotency() {
      for (;;) {
        const [oldest] = await db.rows<{ accountId: string }>(OLDEST_EXPIRED)
        if (oldest === undefined) return
        await db.write((tx) => forget(tx, oldest.accountId, PRUNED_AT_ONCE))
      }
    },
  }
}
