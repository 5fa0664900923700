/**
 * A tape with minutes in which nobody trades, as in thin markets: some minutes in a row of every ten. Trade and fill ids
 * stay contiguous.
 *
 *   ten minutes:  x x x · · x x x x x     the ids of the trades after a quiet minute are lower by those it would have had
 */
import { FIRST_ID } from './block-reader.ts'
import { hash32 } from './hash.ts'
import type { Tape } from './tape.ts'
import { emptySums, GENESIS_MS, type Trade } from './trade.ts'

const MINUTE_MS = 60_000
const PERIOD = 10

export function withQuietMinutes(tape: Tape, seed: number, quiet: number): Tape {
  if (!Number.isSafeInteger(quiet) || quiet < 1 || quiet >= PERIOD)
    throw new RangeError(`quiet minutes of every ${PERIOD}: a whole number below it`)
  // Every minute of the tape has the same number of trades and of fills.
  const perMinute = tape.firstIdAt(GENESIS_MS + MINUTE_MS) - FIRST_ID
  const [first] = tape.fromId(FIRST_ID + perMinute, Number.POSITIVE_INFINITY, 1)
  const fillsPerMinute = (first?.firstFill ?? FIRST_ID) - FIRST_ID

  const minuteOf = (timeMs: number) => Math.floor((timeMs - GENESIS_MS) / MINUTE_MS)
  const firstQuiet = (period: number) => hash32(seed, tape.market.stream + 80, period) % (PERIOD - quiet + 1)
  /** How many of the minutes of its period before this one are quiet, and whether this one is. */
  function placeOf(minute: number) {
    const period = Math.floor(minute / PERIOD)
    const since = minute - period * PERIOD - firstQuiet(period)
    return {
      before: period * quiet + Math.min(Math.max(since, 0), quiet),
      isQuiet: since >= 0 && since < quiet,
    }
  }

  function publish(trade: Trade): Trade[] {
    const { before, isQuiet } = placeOf(minuteOf(trade.timeMs))
    if (isQuiet) return []
    const fills = before * fillsPerMinute
    return [
      {
        ...trade,
        id: trade.id - before * perMinute,
        firstFill: trade.firstFill - fills,
        lastFill: trade.lastFill - fills,
      },
    ]
  }

  return {
    ...tape,
    firstIdAt(timeMs) {
      let minute = minuteOf(Math.max(timeMs, GENESIS_MS))
      let atMs = timeMs
      for (; placeOf(minute).isQuiet; atMs = GENESIS_MS + minute * MINUTE_MS) minute++
      return tape.firstIdAt(atMs) - placeOf(minute).before * perMinute
    },
    between: (fromMs, toMs, limit) =>
      tape.between(fromMs, toMs, Number.POSITIVE_INFINITY).flatMap(publish).slice(0, limit),
    fromId(id, toMs, limit) {
      const position = Math.max(0, id - FIRST_ID)
      const busy = Math.floor(position / perMinute)
      const period = Math.floor(busy / (PERIOD - quiet))
      const ofPeriod = busy % (PERIOD - quiet)
      const skipped = period * quiet + (ofPeriod < firstQuiet(period) ? 0 : quiet)
      // As many as are needed even if the quiet minutes of two periods lie among them.
      const wanted = Math.ceil((limit + 2 * quiet * perMinute) / (1 - quiet / PERIOD))
      const trades = tape.fromId(FIRST_ID + position + skipped * perMinute, toMs, wanted)
      return trades.flatMap(publish).slice(0, limit)
    },
    /** Of a time within one minute. */
    sum(fromMs, toMs) {
      const { before, isQuiet } = placeOf(minuteOf(fromMs))
      if (isQuiet) return emptySums()
      const sums = tape.sum(fromMs, toMs)
      if (sums.trades > 0) sums.firstFill -= before * fillsPerMinute
      return sums
    },
  }
}
