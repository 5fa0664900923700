/**
 * A tape with fills of size 0 in between, as exchanges occasionally publish them. Each has its own trade id and fill id
 * and the time of the trade after it; every second one also has no price. Candles do not count them.
 *
 *   every 3:   trade 0  1  2  · 3  4  5  · 6     published as   0  1  2 (3) 4  5  6 (7) 8
 */
import { FIRST_ID } from './block-reader.ts'
import type { Tape } from './tape.ts'
import type { Trade } from './trade.ts'

export function withEmptyFills(tape: Tape, every: number): Tape {
  if (!Number.isSafeInteger(every) || every < 1) throw new RangeError('every so many trades: a whole number')
  /** The number of empty fills up to a trade, including the one directly before it. */
  const shiftOf = (id: number) => Math.floor((id - FIRST_ID) / every)
  const hasEmpty = (id: number) => id > FIRST_ID && (id - FIRST_ID) % every === 0

  function publish(trade: Trade): Trade[] {
    const shift = shiftOf(trade.id)
    const shifted = {
      ...trade,
      id: trade.id + shift,
      firstFill: trade.firstFill + shift,
      lastFill: trade.lastFill + shift,
    }
    if (!hasEmpty(trade.id)) return [shifted]
    const fill = shifted.firstFill - 1
    const price = shift % 2 === 0 ? trade.price : 0
    return [{ ...shifted, id: shifted.id - 1, firstFill: fill, lastFill: fill, lots: 0, price }, shifted]
  }

  return {
    ...tape,
    firstIdAt(timeMs) {
      const id = tape.firstIdAt(timeMs)
      return id + shiftOf(id) - (hasEmpty(id) ? 1 : 0)
    },
    between: (fromMs, toMs, limit) => tape.between(fromMs, toMs, limit).flatMap(publish).slice(0, limit),
    fromId(id, toMs, limit) {
      const position = Math.max(0, id - FIRST_ID)
      const empties = Math.floor((position + 1) / (every + 1))
      const isEmpty = (position + 1) % (every + 1) === 0
      const trades = tape.fromId(FIRST_ID + position - empties + (isEmpty ? 1 : 0), toMs, limit)
      const first = trades[0]
      const skipped = !isEmpty && first !== undefined && hasEmpty(first.id) ? 1 : 0
      return trades.flatMap(publish).slice(skipped, skipped + limit)
    },
    sum(fromMs, toMs) {
      const sums = tape.sum(fromMs, toMs)
      if (sums.trades > 0) sums.firstFill += shiftOf(tape.firstIdAt(fromMs))
      return sums
    },
  }
}
