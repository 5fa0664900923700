/**
 * Writes snapshots and trades of prediction markets. A *group* is one instrument over one span of ten minutes: a row of
 * book_groups, compressed blocks, and a tail of rows that are in no block yet. A tail row replaces the block row with
 * the same key.
 *
 *   row ──▶ tail ──long, or the feed has moved on to the next span──▶ another block
 *
 * The groups of a write are handled together: their state is read, then the stored versions of incoming rows where
 * there can be any, then everything is written. Rows of a group that becomes a block at once never enter the tail.
 */
import { decodeBlocks, spanOf } from '../books/block.ts'
import type { BookRow } from '../books/book-row.ts'
import { packSides } from '../books/pack-sides.ts'
import { bytesOf, type PackedRows } from '../rows/packed.ts'
import { foldGroups, type GroupToFold, type IncomingRow, MIN_BLOCK_ROWS } from './books-fold.ts'
import {
  type GroupKey,
  groupKeys,
  KEYS,
  nameOfGroup,
  ON_KEY,
  READ_BLOCKS,
  spanBounds,
  TAIL_ROWS,
} from './books-groups.ts'
import { type GroupState, putGroups, STATE_COLUMNS, type TailRow } from './books-tables.ts'
import { arrayOf, hexLinesOf, lines, linesOf } from './columns.ts'
import { type Queries, statement } from './database.ts'
import { noteTimes, type OldVersion, revise } from './series-append.ts'
import { type LockedFeed, noteChange } from './series-feeds.ts'

/**
 * Limits of a tail. A tail row takes ten times the space of a row in a block, and a row in a short block twice that of
 * a row in a long one. Many instruments have few rows, so after a minute a tail is packed with fewer rows.
 */
const MAX_TAIL_ROWS = 128
const MAX_TAIL_MS = 60_000
/**
 * A write folds at most this many groups of earlier spans plus twice those it writes, so that the end of a span does
 * not make one huge transaction.
 */
const FOLDS_AT_LEAST = 4

const STATES = statement(
  'group_states',
  `SELECT ${STATE_COLUMNS} FROM ${KEYS} JOIN book_groups g ON ${ON_KEY('g')}`,
)
const OVER = statement(
  'groups_over',
  `SELECT ${STATE_COLUMNS} FROM book_groups g JOIN unnest($1::bigint[], $2::bigint[]) AS k (feed_id, span)
      ON g.feed_id = k.feed_id AND g.span < k.span
    WHERE g.waiting ORDER BY g.feed_id, g.span, g.instrument LIMIT $3`,
)
const PUT_TAIL = statement(
  'tail_put',
  `INSERT INTO book_tail (feed_id, span, instrument, ts, seq, recorded_at, text, sides)
    SELECT feed_id, span, coalesce(instrument, ''), ts, seq, $1::bigint, text, decode(coalesce(sides, ''), 'hex')
      FROM unnest($2::bigint[], $3::bigint[], ${lines('$4')}, $5::bigint[], $6::bigint[], ${lines('$7')}, ${lines('$8')})
        AS i (feed_id, span, instrument, ts, seq, text, sides)
    ON CONFLICT (feed_id, span, instrument, ts, seq) DO UPDATE
      SET recorded_at = excluded.recorded_at, text = excluded.text, sides = excluded.sides`,
)
const COUNT_REVISIONS = statement(
  'revisions_count',
  `SELECT k.place::int AS place, count(r.revision) AS count
    FROM unnest($1::bigint[], $2::bigint[], ${lines('$3')}, $4::bigint[])
        WITH ORDINALITY AS k (feed_id, ts, instrument, seq, place)
      JOIN series_revisions r ON r.feed_id = k.feed_id AND r.ts = k.ts AND r.instrument = coalesce(k.instrument, '')
        AND r.seq = k.seq
    GROUP BY k.place`,
)

interface OldRow {
  readonly text: string
  readonly packed: Uint8Array
  readonly recordedAt: number
}

/** A group that this write changes. */
interface Group extends GroupToFold {
  readonly lockedFeed: LockedFeed
  state: GroupState
  readonly incoming: IncomingRow[]
  /** The stored versions of incoming rows by key, updated as the write replaces them. */
  readonly old: Map<string, OldRow>
  /** The rows to write, by key. */
  readonly changed: Map<string, IncomingRow>
  /** All rows of the blocks, if they had to be unpacked. */
  unpacked: BookRow[] | undefined
}

const keyOf = ({ ts, seq }: { ts: number; seq: number }) => `${ts}/${seq}`
const isSame = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0
const NEW_GROUP = { blocks: 0, rows: 0, first_ts: 1, last_ts: 0, tail_rows: 0, tail_first: 0, tail_last: 0 }

/** Appends rows of grouped feeds, and counts what became of them with their feeds. */
export async function appendBooks(
  tx: Queries,
  packs: readonly { readonly feed: LockedFeed; readonly rows: PackedRows }[],
  now: number,
): Promise<void> {
  const groups = groupsOf(packs)
  if (groups.length === 0) return
  const [states, over] = await Promise.all([
    tx.rows<GroupState>(STATES, groupKeys(groups)),
    readOver(tx, groups),
  ])
  const byName = new Map(groups.map((group) => [nameOfGroup(group), group]))
  for (const state of states) {
    const group = byName.get(nameOfGroup(state))
    if (group !== undefined) group.state = state
  }
  await readOld(tx, groups)
  const corrected = groups.flatMap(decide)
  const touched = groups.filter(({ changed }) => changed.size > 0)
  // Folding changes the stored form of a feed, so only a write that also changes the feed's version does it.
  const isChanged = new Set(touched.map(({ feed }) => feed))
  const ended = over
    .filter((state) => isChanged.has(state.feed) && !byName.has(nameOfGroup(state)))
    .map((state) => emptyGroup(state, feedOf(packs, state.feed), true))
  const waiting = touched.filter((group) => !isLong(group))
  await Promise.all([
    putTails(tx, waiting, now),
    reviseBooks(tx, corrected, now),
    foldGroups(tx, [...touched.filter(isLong), ...ended], now),
  ])
}

function feedOf(packs: readonly { readonly feed: LockedFeed }[], id: number): LockedFeed {
  const pack = packs.find(({ feed }) => feed.id === id)
  if (pack === undefined) throw new Error(`feed ${id} is not part of the write`)
  return pack.feed
}

function emptyGroup(state: GroupState, lockedFeed: LockedFeed, isEnded = false): Group {
  const { feed, span, instrument } = state
  return {
    feed,
    span,
    instrument,
    lockedFeed,
    state,
    incoming: [],
    old: new Map(),
    changed: new Map(),
    isEnded,
    unpacked: undefined,
  }
}

function groupsOf(packs: readonly { readonly feed: LockedFeed; readonly rows: PackedRows }[]): Group[] {
  const groups = new Map<string, Group>()
  for (const { feed: lockedFeed, rows } of packs) {
    const texts = rows.texts.split('\n')
    const instruments = rows.instruments?.split('\n')
    noteTimes(lockedFeed, rows.ts)
    for (const [i, text] of texts.entries()) {
      const ts = rows.ts[i] ?? 0
      const key = { feed: lockedFeed.id, span: spanOf(ts), instrument: instruments?.[i] ?? '' }
      const name = nameOfGroup(key)
      const group = groups.get(name) ?? emptyGroup({ ...key, ...NEW_GROUP }, lockedFeed)
      groups.set(name, group)
      group.incoming.push({ ts, seq: rows.seq[i] ?? 0, text, packed: bytesOf(rows.books, i) })
    }
  }
  return [...groups.values()]
}

/** Groups that still have a tail although their feed has moved on to a later span. */
function readOver(tx: Queries, groups: readonly Group[]): Promise<GroupState[]> {
  const newest = new Map<number, number>()
  for (const { feed, span } of groups) newest.set(feed, Math.max(span, newest.get(feed) ?? span))
  const atMost = FOLDS_AT_LEAST + 2 * groups.length
  return tx.rows<GroupState>(OVER, [arrayOf(newest.keys()), arrayOf(newest.values()), atMost])
}

/** Reads the stored versions of the incoming rows; rows after everything in their group are new. */
async function readOld(tx: Queries, groups: readonly Group[]): Promise<void> {
  const inTail = groups.flatMap((group) =>
    group.incoming
      .filter(
        ({ ts }) => group.state.tail_rows > 0 && ts >= group.state.tail_first && ts <= group.state.tail_last,
      )
      .map(({ ts, seq }) => ({ group, ts, seq })),
  )
  const inBlocks = groups.filter(({ state, incoming }) =>
    incoming.some(({ ts }) => ts >= state.first_ts && ts <= state.last_ts),
  )
  const [tail] = await Promise.all([
    inTail.length === 0
      ? []
      : tx.rows<TailRow>(TAIL_ROWS, [
          ...groupKeys(inTail.map(({ group }) => group)),
          arrayOf(inTail.map(({ ts }) => ts)),
          arrayOf(inTail.map(({ seq }) => seq)),
        ]),
    unpackBlocks(tx, inBlocks),
  ])
  const byName = new Map(groups.map((group) => [nameOfGroup(group), group]))
  for (const { unpacked = [], incoming, old } of inBlocks) {
    const wanted = new Set(incoming.map(keyOf))
    for (const row of unpacked) {
      if (!wanted.has(keyOf(row))) continue
      old.set(keyOf(row), { text: row.text, packed: packSides(row.sides), recordedAt: row.recordedAt })
    }
  }
  for (const row of tail) {
    const { text, sides, recorded_at } = row
    byName.get(nameOfGroup(row))?.old.set(keyOf(row), { text, packed: sides, recordedAt: recorded_at })
  }
}

async function unpackBlocks(tx: Queries, groups: readonly Group[]): Promise<void> {
  if (groups.length === 0) return
  const rows = await tx.rows<GroupKey & { data: Buffer }>(READ_BLOCKS, [
    ...groupKeys(groups),
    ...spanBounds(groups),
  ])
  const parts = Map.groupBy(rows, nameOfGroup)
  for (const group of groups) {
    const data = parts.get(nameOfGroup(group))?.map((row) => row.data) ?? []
    group.unpacked = decodeBlocks(data, group.span)?.rows() ?? []
  }
}

interface Corrected {
  readonly group: Group
  readonly row: IncomingRow
  readonly old: OldRow
}

/** Applies the incoming rows in order to the stored ones and returns the versions that were replaced. */
function decide(group: Group): Corrected[] {
  const { counts } = group.lockedFeed
  const corrected: Corrected[] = []
  for (const row of group.incoming) {
    const key = keyOf(row)
    const old = group.old.get(key)
    if (old !== undefined && old.text === row.text && isSame(old.packed, row.packed)) {
      counts.unchanged++
      continue
    }
    if (old === undefined) counts.inserted++
    else {
      counts.corrected++
      group.lockedFeed.corrections++
      corrected.push({ group, row, old })
    }
    noteChange(group.lockedFeed, row.ts)
    group.changed.set(key, row)
    group.old.set(key, { text: row.text, packed: row.packed, recordedAt: NOW })
  }
  return corrected
}

/** Stands for the time of this write in rows that the same write replaces again. */
const NOW = -1

/** The length and times of the tail including the rows of this write. */
function tailOf({ state, changed }: Group): { rows: number; first: number; last: number } {
  let [first, last] =
    state.tail_rows > 0
      ? [state.tail_first, state.tail_last]
      : [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { ts } of changed.values()) {
    first = Math.min(first, ts)
    last = Math.max(last, ts)
  }
  return { rows: state.tail_rows + changed.size, first, last }
}

function isLong(group: Group): boolean {
  const { rows, first, last } = tailOf(group)
  return rows >= MAX_TAIL_ROWS || (rows >= MIN_BLOCK_ROWS && last - first >= MAX_TAIL_MS)
}

async function putTails(tx: Queries, groups: readonly Group[], now: number): Promise<void> {
  if (groups.length === 0) return
  const rows = groups.flatMap((group) => [...group.changed.values()].map((row) => ({ group, row })))
  const [feeds, spans, instruments] = groupKeys(rows.map(({ group }) => group))
  await Promise.all([
    tx.run(PUT_TAIL, [
      now,
      feeds,
      spans,
      instruments,
      arrayOf(rows.map(({ row }) => row.ts)),
      arrayOf(rows.map(({ row }) => row.seq)),
      linesOf(rows.map(({ row }) => row.text)),
      hexLinesOf(rows.map(({ row }) => row.packed)),
    ]),
    putGroups(
      tx,
      groups.map((group) => {
        const tail = tailOf(group)
        return {
          ...group.state,
          version: 0,
          tail_rows: tail.rows,
          tail_first: tail.first,
          tail_last: tail.last,
        }
      }),
    ),
  ])
}

async function reviseBooks(tx: Queries, corrected: readonly Corrected[], now: number): Promise<void> {
  if (corrected.length === 0) return
  const found = await tx.rows<{ place: number; count: number }>(COUNT_REVISIONS, [
    arrayOf(corrected.map(({ group }) => group.feed)),
    arrayOf(corrected.map(({ row }) => row.ts)),
    linesOf(corrected.map(({ group }) => group.instrument)),
    arrayOf(corrected.map(({ row }) => row.seq)),
  ])
  const counts = new Map(found.map(({ place, count }) => [place - 1, count]))
  const inWrite = new Map<string, number>()
  const old = corrected.map(({ group, row, old }, i): OldVersion => {
    const name = `${nameOfGroup(group)}/${keyOf(row)}`
    const before = inWrite.get(name) ?? 0
    inWrite.set(name, before + 1)
    return {
      feedId: group.feed,
      ts: row.ts,
      seq: row.seq,
      instrument: group.instrument,
      revision: (counts.get(i) ?? 0) + before + 1,
      recordedAt: old.recordedAt === NOW ? now : old.recordedAt,
      text: old.text,
      books: old.packed,
    }
  })
  await revise(tx, now, old)
}
