/**
 * Writes rows by key, all rows of a dataset in one statement. The stored row decides:
 *
 *   nothing              → inserted
 *   same bytes           → unchanged
 *   open                 → rewritten (or closed) in place
 *   closed, new is open  → unchanged: a late open version never replaces a closed row
 *   closed, other bytes  → corrected: the old bytes become a revision
 *
 * The first statement inserts and rewrites. Only if it left rows alone does a second one find out which of them differ.
 */
import type { Dataset } from '../../core/feed.ts'
import type { PackedRows } from '../rows/packed.ts'
import { arrayOf, lines, linesOf } from './columns.ts'
import { type Queries, type Statement, statement } from './database.ts'
import { seriesTable } from './partitions.ts'
import { type LockedFeed, noteChange } from './series-feeds.ts'

type RowColumns = Omit<PackedRows, 'feed' | 'books'>

export interface FeedPack {
  readonly feed: LockedFeed
  readonly rows: RowColumns
}

interface SeriesStatements {
  readonly put: Statement
  readonly differing: Statement
  readonly correct: Statement
}

const statements = new Map<Dataset, SeriesStatements>()

function statementsOf(dataset: Dataset): SeriesStatements {
  const known = statements.get(dataset)
  if (known !== undefined) return known
  const table = seriesTable(dataset)
  const made = {
    put: statement(
      `put_${dataset}`,
      `INSERT INTO ${table} AS r
          (feed_id, ts, seq, recorded_at, usd, revision, writes, closed, instrument, side, text)
        SELECT feed_id, ts, seq, $1::bigint, nullif(usd, 'NaN'), 1, 1, closed, coalesce(instrument, ''),
            nullif(side, ''), text
          FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::float8[], $6::boolean[], ${lines('$7')},
            ${lines('$8')}, ${lines('$9')}) AS i (feed_id, ts, seq, usd, closed, instrument, side, text)
        ON CONFLICT (feed_id, ts, instrument, seq) DO UPDATE SET text = excluded.text, closed = excluded.closed,
            side = excluded.side, usd = excluded.usd, recorded_at = excluded.recorded_at, writes = r.writes + 1
          WHERE NOT r.closed AND (r.text <> excluded.text OR excluded.closed)
        RETURNING feed_id, ts, writes`,
    ),
    differing: statement(
      `differ_${dataset}`,
      `SELECT i.place::int AS place, r.text, r.revision, r.recorded_at
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], ${lines('$4')}, ${lines('$5')})
            WITH ORDINALITY AS i (feed_id, ts, seq, instrument, text, place)
          JOIN ${table} r ON r.feed_id = i.feed_id AND r.ts = i.ts AND r.seq = i.seq
            AND r.instrument = coalesce(i.instrument, '')
        WHERE r.closed AND r.text <> i.text AND r.ts BETWEEN $6::bigint AND $7::bigint`,
    ),
    correct: statement(
      `correct_${dataset}`,
      `UPDATE ${table} AS r SET text = i.text, side = nullif(i.side, ''), usd = nullif(i.usd, 'NaN'),
          revision = r.revision + 1, recorded_at = $1::bigint
        FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::float8[], ${lines('$6')}, ${lines('$7')},
          ${lines('$8')}) AS i (feed_id, ts, seq, usd, instrument, side, text)
        WHERE r.feed_id = i.feed_id AND r.ts = i.ts AND r.seq = i.seq AND r.instrument = coalesce(i.instrument, '')
          AND r.ts BETWEEN $9::bigint AND $10::bigint`,
    ),
  }
  statements.set(dataset, made)
  return made
}

const REVISE = statement(
  'revise',
  `INSERT INTO series_revisions (feed_id, ts, instrument, seq, revision, recorded_at, superseded_at, text, books)
    SELECT feed_id, ts, coalesce(instrument, ''), seq, revision, recorded_at, $1::bigint, text,
        CASE WHEN has_books THEN decode(coalesce(books, ''), 'hex') END
      FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::int[], $6::bigint[], $7::boolean[], ${lines('$8')},
        ${lines('$9')}, ${lines('$10')})
        AS i (feed_id, ts, seq, revision, recorded_at, has_books, instrument, text, books)`,
)

/** A row with its feed; made only where rows have to be handled one by one. */
interface SingleRow {
  readonly feed: LockedFeed
  readonly ts: number
  readonly seq: number
  readonly closed: boolean
  readonly usd: number
  readonly instrument: string
  readonly side: string
  readonly text: string
}

interface WrittenRow {
  feed_id: number
  ts: number
  writes: number
}

interface DifferingRow {
  place: number
  text: string
  revision: number
  recorded_at: number
}

/** Counts what became of the rows with their feeds. */
export async function appendRows(
  tx: Queries,
  dataset: Dataset,
  packs: readonly FeedPack[],
  now: number,
): Promise<void> {
  if (areAllKeysOnce(packs)) await appendRound(tx, dataset, packs, now)
  else for (const round of roundsOf(packs)) await appendRound(tx, dataset, packsOf(round), now)
  for (const { feed, rows } of packs) feed.counts.unchanged += rows.count
  for (const { counts } of new Set(packs.map(({ feed }) => feed)))
    counts.unchanged -= counts.inserted + counts.rewritten + counts.corrected
}

async function appendRound(
  tx: Queries,
  dataset: Dataset,
  packs: readonly FeedPack[],
  now: number,
): Promise<void> {
  const { put, differing, correct } = statementsOf(dataset)
  const byId = new Map(packs.map(({ feed }) => [feed.id, feed]))
  const total = packs.reduce((sum, { rows }) => sum + rows.count, 0)
  const written = await tx.rows<WrittenRow>(put, [now, ...columnsOf(packs)])
  for (const { feed_id, ts, writes } of written) {
    const feed = byId.get(feed_id)
    if (feed === undefined) continue
    if (writes === 1) feed.counts.inserted++
    else feed.counts.rewritten++
    noteChange(feed, ts)
  }
  for (const { feed, rows } of packs) noteTimes(feed, rows.ts)
  if (written.length === total) return
  const candidates = leftAlone(packs, written)
  const found = candidates.length === 0 ? [] : await tx.rows<DifferingRow>(differing, keysOf(candidates))
  if (found.length === 0) return
  const old = found.map((row) => ({ ...row, now: candidates[row.place - 1] as SingleRow }))
  for (const { now: row } of old) {
    noteChange(row.feed, row.ts)
    row.feed.corrections++
    row.feed.counts.corrected++
  }
  const corrected = packsOf(old.map((row) => row.now))
  const [feedIds, ts, seq, usd, , instruments, sides, texts] = columnsOf(corrected)
  const bounds = boundsOf(old.map((row) => row.now))
  await Promise.all([
    tx.run(correct, [now, feedIds, ts, seq, usd, instruments, sides, texts, ...bounds]),
    revise(
      tx,
      now,
      old.map(({ now: row, text, revision, recorded_at }) => ({
        feedId: row.feed.id,
        ts: row.ts,
        seq: row.seq,
        instrument: row.instrument,
        revision,
        recordedAt: recorded_at,
        text,
        books: undefined,
      })),
    ),
  ])
}

export interface OldVersion {
  readonly feedId: number
  readonly ts: number
  readonly seq: number
  readonly instrument: string
  readonly revision: number
  readonly recordedAt: number
  readonly text: string
  readonly books: Uint8Array | undefined
}

export async function revise(tx: Queries, now: number, old: readonly OldVersion[]): Promise<void> {
  if (old.length === 0) return
  await tx.run(REVISE, [
    now,
    arrayOf(old.map(({ feedId }) => feedId)),
    arrayOf(old.map(({ ts }) => ts)),
    arrayOf(old.map(({ seq }) => seq)),
    arrayOf(old.map(({ revision }) => revision)),
    arrayOf(old.map(({ recordedAt }) => recordedAt)),
    arrayOf(old.map(({ books }) => books !== undefined)),
    linesOf(old.map(({ instrument }) => instrument)),
    linesOf(old.map(({ text }) => text)),
    linesOf(old.map(({ books }) => Buffer.from(books ?? []).toString('hex'))),
  ])
}

/** All of these rows exist after the write, whatever was stored before. */
export function noteTimes(feed: LockedFeed, times: Iterable<number>): void {
  for (const ts of times) {
    if (feed.firstTs === null || ts < feed.firstTs) feed.firstTs = ts
    if (feed.lastTs === null || ts > feed.lastTs) feed.lastTs = ts
  }
}

/** The parameters of `put` after the time. */
function columnsOf(packs: readonly FeedPack[]): string[] {
  const numbers = (of: (pack: FeedPack) => string) => `{${packs.map(of).join()}}`
  const repeated = (value: string, separator: string, count: number) =>
    new Array<string>(count).fill(value).join(separator)
  const texts = (of: (rows: RowColumns) => string | null) =>
    packs.map(({ rows }) => of(rows) ?? repeated('', '\n', rows.count)).join('\n')
  return [
    numbers(({ feed, rows }) => repeated(String(feed.id), ',', rows.count)),
    numbers(({ rows }) => rows.ts.join()),
    numbers(({ rows }) => rows.seq.join()),
    numbers(({ rows }) => rows.usd?.join() ?? repeated('NaN', ',', rows.count)),
    numbers(({ rows }) => rows.closed.join()),
    texts(({ instruments }) => instruments),
    texts(({ sides }) => sides),
    texts((rows) => rows.texts),
  ]
}

function keysOf(rows: readonly SingleRow[]): unknown[] {
  return [
    arrayOf(rows.map(({ feed }) => feed.id)),
    arrayOf(rows.map(({ ts }) => ts)),
    arrayOf(rows.map(({ seq }) => seq)),
    linesOf(rows.map(({ instrument }) => instrument)),
    linesOf(rows.map(({ text }) => text)),
    ...boundsOf(rows),
  ]
}

/** With the first and the last time in the statement, only the partitions between them are read. */
function boundsOf(rows: readonly SingleRow[]): [number, number] {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { ts } of rows) {
    first = Math.min(first, ts)
    last = Math.max(last, ts)
  }
  return [first, last]
}

/** Closed rows that may not have been written: those of times at which fewer rows were written than arrived. */
function leftAlone(packs: readonly FeedPack[], written: readonly WrittenRow[]): SingleRow[] {
  const done = new Map<string, number>()
  for (const { feed_id, ts } of written) {
    const key = `${feed_id}/${ts}`
    done.set(key, (done.get(key) ?? 0) + 1)
  }
  const came = new Map<string, number>()
  for (const { feed, rows } of packs) {
    for (const ts of rows.ts) {
      const key = `${feed.id}/${ts}`
      came.set(key, (came.get(key) ?? 0) + 1)
    }
  }
  return singleRows(packs).filter(({ feed, ts, closed }) => {
    const key = `${feed.id}/${ts}`
    return closed && came.get(key) !== done.get(key)
  })
}

/** Rows mostly arrive in ascending order, in which no key can occur twice. */
function areAllKeysOnce(packs: readonly FeedPack[]): boolean {
  const last = new Map<LockedFeed, { ts: number; seq: number }>()
  for (const { feed, rows } of packs) {
    let { ts: lastTs, seq: lastSeq } = last.get(feed) ?? { ts: Number.NEGATIVE_INFINITY, seq: 0 }
    for (let i = 0; i < rows.count; i++) {
      const [ts = 0, seq = 0] = [rows.ts[i], rows.seq[i]]
      if (ts < lastTs || (ts === lastTs && seq <= lastSeq)) return roundsOf(packs).length === 1
      lastTs = ts
      lastSeq = seq
    }
    last.set(feed, { ts: lastTs, seq: lastSeq })
  }
  return true
}

/** A statement can write a key only once, so a row whose key came before goes into the next round. */
function roundsOf(packs: readonly FeedPack[]): SingleRow[][] {
  const rounds: SingleRow[][] = []
  const times = new Map<string, number>()
  for (const row of singleRows(packs)) {
    const key = `${row.feed.id}/${row.ts}/${row.seq}/${row.instrument}`
    const round = times.get(key) ?? 0
    times.set(key, round + 1)
    const list = rounds[round] ?? []
    rounds[round] = list
    list.push(row)
  }
  return rounds
}

function singleRows(packs: readonly FeedPack[]): SingleRow[] {
  return packs.flatMap(({ feed, rows }) => {
    const texts = rows.texts.split('\n')
    const instruments = rows.instruments?.split('\n')
    const sides = rows.sides?.split('\n')
    return texts.map((text, i) => ({
      feed,
      ts: rows.ts[i] ?? 0,
      seq: rows.seq[i] ?? 0,
      closed: rows.closed[i] === 1,
      usd: rows.usd?.[i] ?? Number.NaN,
      instrument: instruments?.[i] ?? '',
      side: sides?.[i] ?? '',
      text,
    }))
  })
}

/** The reverse of `singleRows`. */
function packsOf(rows: readonly SingleRow[]): FeedPack[] {
  const packs: { feed: LockedFeed; rows: SingleRow[] }[] = []
  for (const row of rows) {
    const last = packs.at(-1)
    if (last?.feed === row.feed) last.rows.push(row)
    else packs.push({ feed: row.feed, rows: [row] })
  }
  return packs.map(({ feed, rows: own }) => ({
    feed,
    rows: {
      count: own.length,
      ts: Float64Array.from(own, ({ ts }) => ts),
      seq: Float64Array.from(own, ({ seq }) => seq),
      closed: Uint8Array.from(own, ({ closed }) => (closed ? 1 : 0)),
      texts: linesOf(own.map(({ text }) => text)),
      instruments: linesOf(own.map(({ instrument }) => instrument)),
      sides: linesOf(own.map(({ side }) => side)),
      usd: Float64Array.from(own, ({ usd }) => usd),
    },
  }))
}
