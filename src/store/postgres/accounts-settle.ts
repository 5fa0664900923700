/**
 * Charges, usage and credit leases of one process, in one transaction:
 *
 *   new entries (by id) ──▶ usage by day, last use of keys ──▶ budgets: create, spend and lock
 *        ──▶ leases and waits of other processes, read under the lock ──▶ leases of this process
 *
 * Rows that two processes may both change are changed in key order, so that the processes never deadlock.
 */
import {
  CREDIT_LEASE_MS,
  CREDIT_WAIT_MS,
  leaseCredits,
  MAX_CREDIT_LEASE_AHEAD_MS,
} from '../accounts/credit-lease.ts'
import { type ChargeSums, chargeSums, chargesText, usageDay } from '../accounts/sum-charges.ts'
import type { BudgetSpec, CreditLeaseGrant, LedgerEntry, SettleBatch } from '../accounts.ts'
import { type Database, type Queries, statement } from './database.ts'

const INSERT_CHARGES = statement(
  'charge_insert',
  `INSERT INTO ledger (id, at, account_id, environment, key_id, endpoint, credits, row_count, charges)
   SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
     $8::bigint[], $9::text[]) AS n (id) ORDER BY n.id COLLATE "C"
   ON CONFLICT (id) DO NOTHING RETURNING id`,
)
const ADD_USAGE = statement(
  'usage_add',
  `INSERT INTO usage AS u (account_id, day, environment, endpoint, key_id, requests, credits, row_count, failed,
     rate_limited)
   SELECT account_id, day, environment, endpoint, key_id, sum(requests), sum(credits), sum(row_count), sum(failed),
     sum(rate_limited)
   FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
     $9::bigint[], $10::bigint[])
     AS n (account_id, day, environment, endpoint, key_id, requests, credits, row_count, failed, rate_limited)
   GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
   ON CONFLICT (account_id, day, environment, endpoint, key_id) DO UPDATE SET
     requests = u.requests + excluded.requests, credits = u.credits + excluded.credits,
     row_count = u.row_count + excluded.row_count, failed = u.failed + excluded.failed,
     rate_limited = u.rate_limited + excluded.rate_limited`,
)
/** Skips keys that another process is changing right now; their next use updates them. */
const SEE_KEYS = statement(
  'key_see',
  `WITH n AS (SELECT * FROM unnest($1::text[], $2::bigint[]) AS n (id, at)),
   free AS (
     SELECT k.id, n.at FROM keys k JOIN n ON n.id = k.id
     WHERE k.last_used_at IS NULL OR k.last_used_at < n.at FOR NO KEY UPDATE OF k SKIP LOCKED)
   UPDATE keys k SET last_used_at = free.at FROM free WHERE k.id = free.id`,
)
/** Spends 0 from a budget that is only leased from, in order to lock it. */
const SPEND = statement(
  'budget_spend',
  `INSERT INTO budgets AS b (id, period_start, credit_limit, used)
   SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
     AS n (id, period_start, credit_limit, used) ORDER BY n.id COLLATE "C", n.period_start
   ON CONFLICT (id, period_start) DO UPDATE SET used = b.used + excluded.used
   RETURNING id, period_start AS "periodStartMs", credit_limit AS "limit", used`,
)
/** A separate statement after the lock, so that it sees everything committed up to then. */
const READ_SHARES = statement(
  'lease_read_shares',
  `SELECT n.place::int - 1 AS place, coalesce(l.held, 0)::bigint AS held, coalesce(l.holders, 0) AS holders,
     coalesce(l.ahead, false) AS "isAhead", coalesce(w.others, false) AS "wantedByOthers", coalesce(w.own, false) AS "isWaiting"
   FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS n (budget_id, period_start, place)
   LEFT JOIN LATERAL (
     SELECT sum(amount) AS held, count(*) AS holders, bool_or(expires_at > now_ms() + ${MAX_CREDIT_LEASE_AHEAD_MS}) AS ahead
     FROM credit_leases c
     WHERE c.budget_id = n.budget_id AND c.period_start = n.period_start AND c.holder <> $3
       AND c.expires_at > now_ms()) l ON true
   LEFT JOIN LATERAL (
     SELECT bool_or(holder <> $3) AS others, bool_or(holder = $3) AS own FROM credit_lease_wants c
     WHERE c.budget_id = n.budget_id AND c.period_start = n.period_start AND c.until > now_ms()
       AND c.until <= now_ms() + ${MAX_CREDIT_LEASE_AHEAD_MS}) w ON true`,
)
const END_IN_TIME = statement(
  'lease_end_in_time',
  `UPDATE credit_leases SET expires_at = now_ms() + ${MAX_CREDIT_LEASE_AHEAD_MS}
   WHERE (budget_id, period_start) IN (SELECT * FROM unnest($1::text[], $2::bigint[]))
     AND expires_at > now_ms() + ${MAX_CREDIT_LEASE_AHEAD_MS}`,
)
const PUT_LEASES = statement(
  'lease_put',
  `INSERT INTO credit_leases (budget_id, period_start, holder, amount, expires_at)
   SELECT n.budget_id, n.period_start, $3, n.amount, now_ms() + ${CREDIT_LEASE_MS}
   FROM unnest($1::text[], $2::bigint[], $4::bigint[]) AS n (budget_id, period_start, amount)
   ON CONFLICT (budget_id, period_start, holder) DO UPDATE
     SET amount = excluded.amount, expires_at = excluded.expires_at`,
)
const DROP_LEASES = statement(
  'lease_drop',
  `DELETE FROM credit_leases WHERE holder = $3
     AND (budget_id, period_start) IN (SELECT * FROM unnest($1::text[], $2::bigint[]))`,
)
const PUT_WANTS = statement(
  'want_put',
  `INSERT INTO credit_lease_wants (budget_id, period_start, holder, until)
   SELECT n.budget_id, n.period_start, $3, now_ms() + ${CREDIT_WAIT_MS}
   FROM unnest($1::text[], $2::bigint[]) AS n (budget_id, period_start)
   ON CONFLICT (budget_id, period_start, holder) DO UPDATE SET until = excluded.until`,
)
const DROP_WANTS = statement(
  'want_drop',
  `DELETE FROM credit_lease_wants WHERE holder = $3
     AND (budget_id, period_start) IN (SELECT * FROM unnest($1::text[], $2::bigint[]))`,
)
const NOTIFY = statement('lease_notify', 'SELECT pg_notify($1, $2)')

interface SpentRow {
  readonly id: string
  readonly periodStartMs: number
  readonly limit: number
  readonly used: number
}
interface ShareRow {
  readonly place: number
  readonly held: number
  readonly holders: number
  readonly isAhead: boolean
  readonly wantedByOthers: boolean
  readonly isWaiting: boolean
}

const WANTED = 'wanted '

/** The message sent when a process starts to wait for credits. */
function wantedBy(holder: string): string {
  return WANTED + holder
}

/** Undefined for any other message. */
export function waitingHolder(message: string): string | undefined {
  return message.startsWith(WANTED) ? message.slice(WANTED.length) : undefined
}

export function settler(db: Database, channel: string) {
  return async (batch: SettleBatch): Promise<CreditLeaseGrant[]> => {
    const { grants, beginsToWait } = await db.write(async (tx) => {
      const sums = await insertCharges(tx, batch.entries)
      const [, , shares] = await Promise.all([
        addUsage(tx, batch, sums),
        seeKeys(tx, batch.keysSeen),
        // Last, so that budgets, which other processes wait for, are locked as briefly as possible.
        batch.leases.length === 0 && sums.budgets.size === 0 ? [] : spendAndLease(tx, batch, sums),
      ])
      return {
        grants: shares.map(({ grant }) => grant),
        beginsToWait: shares.some(({ isWaiting, waited }) => isWaiting && !waited),
      }
    })
    // After the commit rather than in it, because every commit with a notification takes a server-wide lock.
    if (beginsToWait) await db.rows(NOTIFY, [channel, wantedBy(batch.holder)]).catch(() => {})
    return grants
  }
}

async function insertCharges(tx: Queries, entries: readonly LedgerEntry[]): Promise<ChargeSums> {
  const sums = chargeSums()
  if (entries.length === 0) return sums
  const written = await tx.rows<{ id: string }>(INSERT_CHARGES, [
    entries.map(({ id }) => id),
    entries.map(({ atMs }) => atMs),
    entries.map(({ accountId }) => accountId),
    entries.map(({ environment }) => environment),
    entries.map(({ keyId }) => keyId),
    entries.map(({ endpoint }) => endpoint),
    entries.map(({ credits }) => credits),
    entries.map(({ rows }) => rows),
    entries.map(chargesText),
  ])
  const isNew = new Set(written.map(({ id }) => id))
  for (const entry of entries) {
    // Removed from the set so that an entry that is in the batch twice counts once.
    if (isNew.delete(entry.id)) sums.add(entry)
  }
  return sums
}

async function addUsage(tx: Queries, { counts }: SettleBatch, sums: ChargeSums): Promise<void> {
  const rows = [
    ...[...sums.usage.values()].map(({ entry, requests, credits, rows }) => {
      return { ...entry, requests, credits, rows, failed: 0, rateLimited: 0 }
    }),
    ...counts.map((count) => ({ ...count, credits: 0, rows: 0 })),
  ]
  if (rows.length === 0) return
  await tx.run(ADD_USAGE, [
    rows.map(({ accountId }) => accountId),
    rows.map(({ atMs }) => usageDay(atMs)),
    rows.map(({ environment }) => environment),
    rows.map(({ endpoint }) => endpoint),
    rows.map(({ keyId }) => keyId),
    rows.map(({ requests }) => requests),
    rows.map(({ credits }) => credits),
    rows.map((row) => row.rows),
    rows.map(({ failed }) => failed),
    rows.map(({ rateLimited }) => rateLimited),
  ])
}

async function seeKeys(tx: Queries, keysSeen: SettleBatch['keysSeen']): Promise<void> {
  if (keysSeen.length === 0) return
  await tx.run(SEE_KEYS, [keysSeen.map(({ keyId }) => keyId), keysSeen.map(({ atMs }) => atMs)])
}

interface Share {
  readonly grant: CreditLeaseGrant
  readonly isWaiting: boolean
  /** Whether it was waiting before, so that the others already know. */
  readonly waited: boolean
}

async function spendAndLease(
  tx: Queries,
  { leases, holder }: SettleBatch,
  sums: ChargeSums,
): Promise<Share[]> {
  const changes = new Map<string, BudgetSpec & { credits: number }>(sums.budgets)
  for (const lease of leases) {
    if (!changes.has(nameOf(lease))) changes.set(nameOf(lease), { ...lease, credits: 0 })
  }
  const spent = [...changes.values()]
  const ids = leases.map(({ id }) => id)
  const starts = leases.map(({ periodStartMs }) => periodStartMs)
  const [budgets, others] = await Promise.all([
    tx.rows<SpentRow>(SPEND, [
      spent.map(({ id }) => id),
      spent.map(({ periodStartMs }) => periodStartMs),
      spent.map(({ initialLimit }) => initialLimit),
      spent.map(({ credits }) => credits),
    ]),
    leases.length === 0 ? [] : tx.rows<ShareRow>(READ_SHARES, [ids, starts, holder]),
  ])
  if (others.some(({ isAhead }) => isAhead)) await tx.run(END_IN_TIME, [ids, starts])
  const budgetOf = new Map(budgets.map((budget) => [nameOf(budget), budget]))
  const othersAt = new Map(others.map((other) => [other.place, other]))
  const shares = leases.map((lease, place): Share => {
    const budget = budgetOf.get(nameOf(lease))
    const other = othersAt.get(place)
    const grant = leaseCredits(lease, {
      limit: budget?.limit ?? 0,
      used: budget?.used ?? 0,
      heldByOthers: other?.held ?? 0,
      hasOtherHolders: (other?.holders ?? 0) > 0,
      wantedByOthers: other?.wantedByOthers ?? false,
    })
    return { grant, isWaiting: grant.granted < lease.need, waited: other?.isWaiting ?? false }
  })
  await writeLeases(tx, holder, leases, shares)
  return shares
}

async function writeLeases(
  tx: Queries,
  holder: string,
  leases: SettleBatch['leases'],
  shares: readonly Share[],
): Promise<void> {
  const grants = shares.map(({ grant }) => grant)
  // An active process keeps its row even with nothing leased, so that the others leave it a share.
  const kept = grants.filter((_, place) => leases[place]?.release === false)
  const released = grants.filter((_, place) => leases[place]?.release !== false)
  const waiting = shares.filter(({ isWaiting }) => isWaiting).map(({ grant }) => grant)
  const served = shares.filter(({ isWaiting, waited }) => !isWaiting && waited).map(({ grant }) => grant)
  const refs = (list: readonly CreditLeaseGrant[]) => [
    list.map(({ id }) => id),
    list.map(({ periodStartMs }) => periodStartMs),
    holder,
  ]
  await Promise.all([
    kept.length === 0 ? 0 : tx.run(PUT_LEASES, [...refs(kept), kept.map(({ granted }) => granted)]),
    released.length === 0 ? 0 : tx.run(DROP_LEASES, refs(released)),
    waiting.length === 0 ? 0 : tx.run(PUT_WANTS, refs(waiting)),
    served.length === 0 ? 0 : tx.run(DROP_WANTS, refs(served)),
  ])
}

function nameOf({ id, periodStartMs }: { id: string; periodStartMs: number }): string {
  return `${id} ${periodStartMs}`
}
