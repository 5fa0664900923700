/**
 * Writes the chain index in one transaction, which first locks the row of `chain_state`.
 *
 *   lock ──▶ is this write already the last one? ──yes──▶ its answer was lost: answer again
 *                       │ no
 *                       ▼
 *            is the checkpoint the expected one? ──no──▶ CheckpointMovedError
 *                       │ yes
 *                       ▼
 *            numbers, rows, events, id of the write ──▶ commit
 *
 * If the answer to the commit is lost, the write is repeated with the same id and so takes effect once, whether or not
 * it was committed. Writes of a store run one after another, so that the id of a repeated write is still the last one.
 */
import { randomUUID } from 'node:crypto'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import { acceptedRank } from '../chain/history-place.ts'
import { type ChainGap, type ChainWrite, type ChainWritten, CheckpointMovedError } from '../chain.ts'
import type { NewEvent } from '../events.ts'
import { bytea } from './bytea.ts'
import { addBlocks, checkpointOf, removeBlocks, startChainAt } from './chain-blocks.ts'
import { type Accepted, confirm, drop, enter, unconfirm, type WriteNumbers } from './chain-transactions.ts'
import { type Database, type Queries, statement } from './database.ts'
import { appendEvents } from './events-write.ts'
import { type AppliedTokens, applyTokens, forgetTokens, undoTokens } from './tokens.ts'

const LOCK = statement(
  'chain_lock',
  `SELECT log_name AS "logName", newest_seq AS "newestSeq", newest_place AS "newestPlace",
      last_write::text AS "lastWrite", server,
      (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
        AS "serverNow",
      coverage_from AS "coverageFrom", indexed_from AS "indexedFrom"
    FROM chain_state FOR UPDATE`,
)
const SAVE = statement(
  'chain_save',
  `UPDATE chain_state SET newest_seq = $1::bigint, bytes = bytes + $2::bigint,
      oldest_seq = coalesce(oldest_seq, $3::bigint), newest_place = $4::bigint, last_write = $5::uuid, server = $6,
      coverage_from = $7::bigint, indexed_from = $8::bigint`,
)
const INSERT_GAPS = statement(
  'chain_insert_gaps',
  `INSERT INTO gaps (id, recorded_at, gap)
    SELECT (SELECT coalesce(max(id), 0) FROM gaps) + g.n, g.recorded_at, g.gap
      FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS g (recorded_at, gap, n)`,
)
const SEEN_TO = statement(
  'chain_seen_to',
  'UPDATE chain_state SET seen_to = $1::bytea, seen_to_score = $2::bigint',
)
const INSERT_SEEN = statement(
  'chain_insert_seen',
  `INSERT INTO seen_blocks (hash, seen_at) SELECT hash, $1::bigint FROM unnest($2::bytea[]) AS hash
    ON CONFLICT DO NOTHING`,
)

/** More events than a standby can have missed when it is promoted; readers may know the numbers of those events. */
const SKIPPED_AFTER_FAILOVER = 1_000_000
/** How long a write with an unknown outcome is repeated; longer than a standby needs to become primary. */
const REPEAT_MS = 30_000
const REPEAT_DELAY_MS = 200

interface ChainState {
  readonly logName: string
  readonly newestSeq: number
  readonly newestPlace: number
  readonly lastWrite: string | null
  readonly server: string | null
  readonly serverNow: string
  readonly coverageFrom: number | null
  readonly indexedFrom: number | null
}

/** `onWritten` is called after the log has grown. */
export function chainWriter(
  database: Database,
  { clock, onWritten }: { clock: Clock; onWritten: (newestSeq: number) => void },
): (batch: ChainWrite) => Promise<ChainWritten> {
  let last: Promise<unknown> = Promise.resolve()

  async function writeOnce(batch: ChainWrite): Promise<ChainWritten> {
    const id = randomUUID()
    const startedMs = elapsedMs(clock)
    let mayBeCommitted = false
    for (;;) {
      try {
        return await database.write(async (transaction) => {
          const written = await writeBatch(transaction, batch, id)
          mayBeCommitted = true
          return written
        })
      } catch (error) {
        const isUnknown = mayBeCommitted && error instanceof StoreUnavailableError
        if (!isUnknown || elapsedMs(clock) - startedMs > REPEAT_MS) throw error
        await clock.sleep(REPEAT_DELAY_MS)
      }
    }
  }

  return (batch) => {
    const result = last.then(() => writeOnce(batch))
    last = result.then(
      ({ newestSeq }) => {
        if (batch.events?.length) onWritten(newestSeq)
      },
      () => {},
    )
    return result
  }
}

async function writeBatch(queries: Queries, batch: ChainWrite, id: string): Promise<ChainWritten> {
  // Two statements, so that the second one sees what the previous holder of the lock committed.
  const [[state], tip] = await Promise.all([queries.rows<ChainState>(LOCK), checkpointOf(queries)])
  if (state === undefined) throw new Error('the chain store has no state')
  if (state.lastWrite === id) return { newestSeq: state.newestSeq, checkpoint: tip }
  const found = tip?.hash ?? null
  if (found !== batch.expects) throw new CheckpointMovedError(batch.expects, found)

  const { atMs, gaps = [], start, removed = [], added = [], events = [], entered = [] } = batch
  const isOtherServer = state.server !== null && state.server !== state.serverNow
  const firstSeq = state.newestSeq + 1 + (isOtherServer ? SKIPPED_AFTER_FAILOVER : 0)
  const newestSeq = firstSeq + events.length - 1
  const accepted = added.flatMap((by) =>
    by.transactions.map((transaction, index) => ({ transaction, by, index })),
  )
  const firstPlace = state.newestPlace + 1
  const log = appendEvents(queries, events, { logName: state.logName, firstSeq })
  await Promise.all([
    log.written,
    recordGaps(queries, gaps),
    start && startChainAt(queries, start),
    leaveBlocks(queries, removed, atMs),
  ])
  if (start !== undefined || batch.forgetTokens) await forgetTokens(queries)
  const coverage = coverageAfter(state, batch)
  const [checkpoint] = await Promise.all([
    addBlocks(queries, added).then(() => checkpointOf(queries)),
    writeTransactions(queries, batch, accepted, { atMs, firstSeq, firstPlace }),
    remember(queries, batch, atMs),
    queries.run(SAVE, [
      newestSeq,
      log.size,
      events.length === 0 ? null : firstSeq,
      state.newestPlace + accepted.length + entered.length,
      id,
      state.serverNow,
      coverage.from,
      coverage.indexedFrom,
    ]),
  ])
  return { newestSeq, checkpoint }
}

/** Writes one list after another, because a transaction may be in two of them. Mostly only one list has entries. */
async function writeTransactions(
  queries: Queries,
  { atMs, entered = [], dropped = [], events = [] }: ChainWrite,
  accepted: readonly Accepted[],
  numbers: WriteNumbers,
): Promise<void> {
  await confirm(queries, accepted, numbers)
  await applyTokens(queries, accepted.flatMap(tokensOf(events, numbers.firstSeq)))
  // Transactions with a number below `firstPlace` were known before.
  await enter(queries, entered, { ...numbers, firstPlace: numbers.firstPlace + accepted.length })
  await drop(queries, dropped, atMs)
}

function tokensOf(events: readonly NewEvent[], firstSeq: number) {
  return ({ transaction, by, index }: Accepted): AppliedTokens[] => {
    const { tokens: changes = [], retractable = [] } = transaction
    if (changes.length === 0 && retractable.length === 0) return []
    const reported = retractable.flatMap((place) => {
      const event = events[place]
      return event === undefined ? [] : [{ seq: firstSeq + place, tail: event.tail }]
    })
    return [{ rank: acceptedRank(by.blueScore, index), changes, events: reported }]
  }
}

async function recordGaps(queries: Queries, gaps: readonly ChainGap[]): Promise<void> {
  if (gaps.length === 0) return
  await queries.run(INSERT_GAPS, [gaps.map(({ atMs }) => atMs), gaps.map((gap) => JSON.stringify(gap))])
}

async function leaveBlocks(queries: Queries, removed: readonly string[], atMs: number): Promise<void> {
  if (removed.length === 0) return
  const blocks = await removeBlocks(queries, removed)
  await unconfirm(queries, blocks, atMs)
  await undoTokens(queries, Math.min(...blocks.map(({ blueScore }) => blueScore)))
}

async function remember(queries: Queries, { seen = [], seenTo }: ChainWrite, atMs: number): Promise<void> {
  if (seen.length > 0) await queries.run(INSERT_SEEN, [atMs, seen.map(bytea)])
  if (seenTo !== undefined) await queries.run(SEEN_TO, [bytea(seenTo.hash), seenTo.blueScore])
}

/** Coverage starts after an unreadable transaction, because it is missing from the rows of unknown addresses. */
function coverageAfter({ coverageFrom, indexedFrom }: ChainState, { gaps = [], start }: ChainWrite) {
  const unreadable = gaps.filter(({ reason }) => reason === 'unreadable').map(({ toTimeMs }) => toTimeMs)
  if (start !== undefined) return { from: start.timeMs, indexedFrom: indexedFrom ?? start.timeMs }
  const from = Math.max(coverageFrom ?? Number.NEGATIVE_INFINITY, ...unreadable)
  return { from: Number.isFinite(from) ? from : null, indexedFrom }
}
