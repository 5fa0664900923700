/**
 * The books of a block as columns: per row and side, the levels that are new or changed (size above 0) or gone (size 0)
 * since the row before. Prices are steps from the level before, in the largest unit that fits all.
 *
 *   counts   per row: changes of side 0 (doubled, +1 when the second book mirrors the first), 1, and then 2 and 3
 *   prices   per change: distance to the previous change of the same side; for the first, to the previous best level
 *   sizes    per change
 */

import { type MicroSide, mirroredSide, NO_SIDE } from '../../core/micro-book.ts'
import { allSides, type BookRow } from './book-row.ts'
import { byteWriter, type VarintReader, type VarintWriter } from './bytes.ts'

const MAX_UNIT = 1_000_000
const NO_SIDES = [NO_SIDE, NO_SIDE, NO_SIDE, NO_SIDE]

export function writeSides(rows: readonly BookRow[], into: VarintWriter): void {
  const counts: number[] = []
  const prices: number[] = []
  const sizes: number[] = []
  let last: Pick<BookRow, 'sides'> = { sides: NO_SIDES }
  for (const row of rows) {
    const isMirrored = row.sides.length === 2
    const before = isMirrored ? last.sides : allSides(last)
    for (let side = 0; side < row.sides.length; side++) {
      const count = writeChanges(before[side] ?? NO_SIDE, row.sides[side] ?? NO_SIDE, side, prices, sizes)
      counts.push(side === 0 ? 2 * count + (isMirrored ? 1 : 0) : count)
    }
    last = row
  }
  const [priceUnit, sizeUnit] = [commonUnit([prices]), commonUnit([sizes])]
  const columns = [byteWriter(), byteWriter(), byteWriter()] as const
  for (const count of counts) columns[0].number(count)
  for (const price of prices) columns[1].signed(price / priceUnit)
  for (const size of sizes) columns[2].number(size / sizeUnit)
  into.number(priceUnit)
  into.number(sizeUnit)
  for (const column of columns) into.section(column)
}

/** The best level comes first on both sides: bids use negative keys, so that the best key is the smallest on both. */
function writeChanges(
  before: MicroSide,
  after: MicroSide,
  side: number,
  prices: number[],
  sizes: number[],
): number {
  const sign = side % 2 === 0 ? -1 : 1
  let last = sign * (before.prices[0] ?? 0)
  let count = 0
  const change = (key: number, size: number) => {
    prices.push(key - last)
    sizes.push(size)
    last = key
    count++
  }
  let [i, j] = [0, 0]
  while (i < before.prices.length || j < after.prices.length) {
    const old = i < before.prices.length ? sign * (before.prices[i] ?? 0) : Number.POSITIVE_INFINITY
    const now = j < after.prices.length ? sign * (after.prices[j] ?? 0) : Number.POSITIVE_INFINITY
    if (old < now) {
      change(old, 0)
      i++
    } else {
      if (now < old || before.sizes[i] !== after.sizes[j]) change(now, after.sizes[j] ?? 0)
      if (now === old) i++
      j++
    }
  }
  return count
}

/** The largest power of ten that divides all numbers; at most a million. */
export function commonUnit(lists: readonly (readonly number[])[]): number {
  let unit = MAX_UNIT
  for (const list of lists) for (const value of list) while (unit > 1 && value % unit !== 0) unit /= 10
  return unit
}

/** Walks forward over the rows of a block. */
interface SideWalk {
  /** Moves forward to a row, or stays where it is. */
  goTo(index: number): void
  /** The sides of the current row, as copies. */
  sides(): MicroSide[]
}

export interface SideColumns {
  walk(): SideWalk
}

/**
 * The books are remembered every this many rows once a walk has reached them, and the next walk starts at the nearest.
 */
const ROWS_PER_MARK = 100

interface Mark {
  readonly positions: readonly [number, number, number]
  readonly isMirrored: boolean
  readonly state: readonly MicroSide[]
}

export function readSides(from: VarintReader): SideColumns {
  const priceUnit = from.number()
  const sizeUnit = from.number()
  const columns = [from.section(), from.section(), from.section()] as const
  /** Entry n is the state of a walk at row n × ROWS_PER_MARK - 1. */
  const marks: (Mark | undefined)[] = []
  return { walk: () => sideWalk(columns, marks, priceUnit, sizeUnit) }
}

function sideWalk(
  columns: readonly [VarintReader, VarintReader, VarintReader],
  marks: (Mark | undefined)[],
  priceUnit: number,
  sizeUnit: number,
): SideWalk {
  let [counts, prices, sizes] = columns
  let at = -1
  let isMirrored = false
  let state: MutableSide[] = [emptySide(), emptySide(), emptySide(), emptySide()]

  const apply = (side: MutableSide, sign: 1 | -1, count: number) => {
    let key = sign * (side.prices[0] ?? 0)
    let place = 0
    for (let i = 0; i < count; i++) {
      key += prices.signed() * priceUnit
      const size = sizes.number() * sizeUnit
      while (place < side.prices.length && sign * (side.prices[place] ?? 0) < key) place++
      const isThere = side.prices[place] === sign * key
      if (size === 0) {
        side.prices.splice(place, 1)
        side.sizes.splice(place, 1)
      } else if (isThere) side.sizes[place] = size
      else {
        side.prices.splice(place, 0, sign * key)
        side.sizes.splice(place, 0, size)
      }
    }
  }

  const next = () => {
    const first = counts.number()
    if (isMirrored && first % 2 === 0) {
      state[2] = mutable(mirroredSide(state[1] ?? NO_SIDE))
      state[3] = mutable(mirroredSide(state[0] ?? NO_SIDE))
    }
    isMirrored = first % 2 === 1
    for (let side = 0; side < (isMirrored ? 2 : 4); side++) {
      const count = side === 0 ? Math.floor(first / 2) : counts.number()
      if (count > 0) apply(state[side] ?? emptySide(), side % 2 === 0 ? -1 : 1, count)
    }
    at++
    if ((at + 1) % ROWS_PER_MARK === 0)
      marks[(at + 1) / ROWS_PER_MARK] ??= {
        positions: [counts.position(), prices.position(), sizes.position()],
        isMirrored,
        state: state.map(mutable),
      }
  }

  const start = (place: number) => {
    const mark = marks[place]
    const [first, second, third] = mark?.positions ?? [0, 0, 0]
    counts = columns[0].from(first)
    prices = columns[1].from(second)
    sizes = columns[2].from(third)
    if (mark === undefined) return
    at = place * ROWS_PER_MARK - 1
    isMirrored = mark.isMirrored
    state = mark.state.map(mutable)
  }
  start(0)

  return {
    goTo(index) {
      let place = Math.floor((index + 1) / ROWS_PER_MARK)
      while (place > 0 && marks[place] === undefined) place--
      if (place * ROWS_PER_MARK - 1 > at) start(place)
      while (at < index) next()
    },
    sides: () => state.slice(0, isMirrored ? 2 : 4).map(mutable),
  }
}

interface MutableSide {
  prices: number[]
  sizes: number[]
}

function emptySide(): MutableSide {
  return { prices: [], sizes: [] }
}

function mutable({ prices, sizes }: MicroSide): MutableSide {
  return { prices: [...prices], sizes: [...sizes] }
}
