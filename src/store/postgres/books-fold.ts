/**
 * Folds tails into blocks. A block that is long enough is rewritten only if rows arrive that belong before its last
 * row, or if its span has ended with many blocks.
 */
import { contentOf, decodeBlock, decodeBlocks, encodeBlock } from '../books/block.ts'
import { type BookRow, compareKeys } from '../books/book-row.ts'
import { mergedRows, tailRowOf } from '../books/group.ts'
import { unpackSides } from '../books/pack-sides.ts'
import { type GroupKey, groupKeys, nameOfGroup, READ_BLOCKS, spanBounds } from './books-groups.ts'
import { type Fold, type GroupState, READ_TAILS, type TailRow, writeBlocks } from './books-tables.ts'
import type { Queries } from './database.ts'

/** In a shorter block a row takes twice the space. */
export const MIN_BLOCK_ROWS = 32
/** A group with this many blocks or more becomes one block when its span is over. */
const MAX_BLOCKS_LEFT = 4

/** An incoming row without its books, and the packed books. */
export interface IncomingRow {
  readonly ts: number
  readonly seq: number
  readonly text: string
  readonly packed: Uint8Array
}

export interface GroupToFold extends GroupKey {
  readonly state: GroupState
  /** Rows of this write that are not in the tail yet. */
  readonly changed: ReadonlyMap<string, IncomingRow>
  /** Whether the feed has moved on to a later span. */
  readonly isEnded: boolean
}

export async function foldGroups(tx: Queries, groups: readonly GroupToFold[], now: number): Promise<void> {
  if (groups.length === 0) return
  const withTail = groups.filter(({ state }) => state.tail_rows > 0)
  const withBlocks = groups.filter(({ state }) => state.blocks > 0)
  const [tails, blocks] = await Promise.all([
    withTail.length === 0 ? [] : tx.rows<TailRow>(READ_TAILS, groupKeys(withTail)),
    withBlocks.length === 0
      ? []
      : tx.rows<GroupKey & { data: Buffer }>(READ_BLOCKS, [
          ...groupKeys(withBlocks),
          ...spanBounds(withBlocks),
        ]),
  ])
  const tailsOf = Map.groupBy(tails, nameOfGroup)
  const blocksOf = Map.groupBy(blocks, nameOfGroup)
  const folds = groups.map((group) => {
    const name = nameOfGroup(group)
    const stored = (tailsOf.get(name) ?? []).map((row) => tailRowOf({ ...row }))
    const fresh = [...group.changed.values()].map(({ ts, seq, text, packed }) => ({
      ts,
      seq,
      text,
      recordedAt: now,
      sides: unpackSides(packed),
    }))
    const data = (blocksOf.get(name) ?? []).map((row) => row.data)
    return fold(group, mergedRows(stored, fresh), data)
  })
  await writeBlocks(tx, folds)
}

/**
 * Makes the tail a further block. If some of its rows belong before stored ones, or the span has ended with many
 * blocks, everything becomes one block; if the tail and the last block are both short, those two become one.
 */
function fold({ state, isEnded }: GroupToFold, tail: readonly BookRow[], data: readonly Uint8Array[]): Fold {
  const [first, last] = [tail[0], tail.at(-1)]
  if (first === undefined || last === undefined)
    return { parts: [], isWhole: false, state: withoutTail(state) }
  const isBetween = state.rows > 0 && first.ts <= state.last_ts
  if (data.length === 0 || isBetween || (isEnded && data.length >= MAX_BLOCKS_LEFT)) {
    const rows = data.length === 0 ? tail : mergedRows(decodeBlocks(data, state.span)?.rows() ?? [], tail)
    return wholeBlock(state, rows)
  }
  const dictionary = contentOf(data[0] as Uint8Array)
  const place = data.length - 1
  const before = decodeBlock(data[place] as Uint8Array, state.span, place === 0 ? undefined : dictionary)
  const isShort = tail.length < MIN_BLOCK_ROWS && before.ts.length < MIN_BLOCK_ROWS
  const part = isShort ? place : place + 1
  const block = encodeBlock([...(isShort ? before.rows() : []), ...tail], part === 0 ? undefined : dictionary)
  return {
    parts: [{ part, data: block }],
    isWhole: false,
    state: {
      ...withoutTail(state),
      blocks: part + 1,
      rows: state.rows + tail.length,
      last_ts: last.ts,
    },
  }
}

/** Makes the rows, of which there is at least one, the only block of their group. */
export function wholeBlock(state: GroupState, rows: readonly BookRow[]): Fold {
  const sorted = [...rows].sort(compareKeys)
  return {
    parts: [{ part: 0, data: encodeBlock(sorted) }],
    isWhole: true,
    state: {
      ...withoutTail(state),
      blocks: 1,
      rows: sorted.length,
      first_ts: sorted[0]?.ts ?? 1,
      last_ts: sorted.at(-1)?.ts ?? 0,
    },
  }
}

const withoutTail = (state: GroupState): GroupState => ({
  ...state,
  tail_rows: 0,
  tail_first: 0,
  tail_last: 0,
})
