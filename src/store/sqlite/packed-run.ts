/** Neighbouring rows of a block of packed rows. */
import { endOf } from '../order/arms.ts'
import type { OpenBlock } from '../rows/row-block.ts'
import type { SeriesQuery } from '../series.ts'

/** Where a block is in its feed. */
export interface Place {
  id: number
  firstTs: number
  lastTs: number
}

/** Rows of a block with an index in [low, high). */
export interface Run {
  readonly block: OpenBlock
  readonly low: number
  readonly high: number
}

/** The rows, each followed by the separator of pages. */
export function textOf({ block: { text, starts }, low, high }: Run): string {
  return text.slice(starts[low], starts[high])
}

/** The part of the range that can come after the position, as [from, to). */
export function spanAfter({ range, order, position }: SeriesQuery): [number, number] {
  return order === 'asc'
    ? [Math.max(range.from, position?.ts ?? 0), endOf(range)]
    : [range.from, Math.min(endOf(range), (position?.ts ?? Number.MAX_SAFE_INTEGER - 1) + 1)]
}
