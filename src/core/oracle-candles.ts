/**
 * Candles of an on-chain price. They are always built from the updates themselves, because a carried-forward 5m candle
 * is not an update of its 15m candle.
 *
 *   first_update   open = first update in the candle; an empty candle is flat at the answer before it (the default)
 *   in_force       open = the answer in force at the candle's start, which high and low include
 *
 * An answer is carried forward only while it is fresh: an empty candle that ends more than three heartbeats after the
 * last update is a gap, because by then the chain or the feed has stopped.
 */
import { compare, decimal, decimalText } from './decimal.ts'
import { type CandleInterval, candleStart, INTERVAL_MS } from './interval.ts'
import type { Prices } from './join-prices.ts'
import { pricesOf } from './market-candles.ts'

export const CARRY_HEARTBEATS = 3
/** Without a later answer, a candle is final once all answers up to this many heartbeats after its end are known. */
export const FINAL_HEARTBEATS = 2

export interface OracleUpdate {
  /** The oracle's own time of the answer, never the block time or the receive time. */
  readonly updatedMs: number
  /** Orders answers of the same instant. */
  readonly roundId: bigint
  readonly price: string
}

export interface OracleCandle extends Prices {
  readonly openTimeMs: number
  readonly updates: number
}

export type OpenRule = 'first_update' | 'in_force'

/**
 * The candles that start in [fromMs, toMs), in ascending order. Updates before `fromMs` are needed for the answer that
 * is carried forward; no candle precedes the first known update.
 */
export function buildOracleCandles(options: {
  interval: Extract<CandleInterval, '5m' | '15m'>
  updates: readonly OracleUpdate[]
  fromMs: number
  toMs: number
  heartbeatMs: number
  openRule?: OpenRule
}): OracleCandle[] {
  const { interval } = options
  const lengthMs = INTERVAL_MS[interval]
  const updates = options.updates.toSorted(
    (a, b) => a.updatedMs - b.updatedMs || (a.roundId < b.roundId ? -1 : a.roundId > b.roundId ? 1 : 0),
  )
  const candles: OracleCandle[] = []
  let next = 0
  let before: OracleUpdate | undefined
  for (
    let openTimeMs = candleStart(options.fromMs + lengthMs - 1, interval);
    openTimeMs < options.toMs;
    openTimeMs += lengthMs
  ) {
    while ((updates[next]?.updatedMs ?? Number.POSITIVE_INFINITY) < openTimeMs) before = updates[next++]
    const inside: OracleUpdate[] = []
    for (let update = updates[next]; update !== undefined; update = updates[++next]) {
      if (update.updatedMs >= openTimeMs + lengthMs) break
      inside.push(update)
    }
    const candle = candleAt(openTimeMs, lengthMs, before, inside, options)
    if (candle !== null) candles.push(candle)
    before = inside.at(-1) ?? before
  }
  return candles
}

function candleAt(
  openTimeMs: number,
  lengthMs: number,
  before: OracleUpdate | undefined,
  inside: readonly OracleUpdate[],
  options: { heartbeatMs: number; openRule?: OpenRule },
): OracleCandle | null {
  const isEmpty = inside.length === 0
  const endMs = openTimeMs + lengthMs
  const isFresh = before !== undefined && endMs - before.updatedMs <= CARRY_HEARTBEATS * options.heartbeatMs
  if (isEmpty && !isFresh) return null
  // An update at the very start of the candle is itself the answer in force there.
  const inForce = options.openRule === 'in_force' && inside[0]?.updatedMs !== openTimeMs ? before : undefined
  const carried = isEmpty ? before : inForce
  const prices = pricesOf([...(carried === undefined ? [] : [carried]), ...inside].map((each) => each.price))
  return prices === null ? null : { openTimeMs, ...prices, updates: inside.length }
}

/** Whether the candle can no longer change. */
export function isOracleCandleFinal(options: {
  endMs: number
  /** Every answer before this time is known. */
  knownToMs: number
  heartbeatMs: number
  newestUpdateMs: number | null
}): boolean {
  const { endMs, newestUpdateMs } = options
  if (newestUpdateMs !== null && newestUpdateMs >= endMs) return true
  return options.knownToMs > endMs + FINAL_HEARTBEATS * options.heartbeatMs
}

/** An integer answer and its number of decimals as exact text. */
export function answerText(answer: bigint, decimals: number): string {
  return decimalText({ units: answer, scale: decimals })
}

/** Whether answer b may follow answer a: a newer round, a time that does not run backwards, and a positive price. */
export function mayFollow(a: OracleUpdate, b: OracleUpdate): boolean {
  return b.roundId > a.roundId && b.updatedMs >= a.updatedMs && compare(decimal(b.price), decimal(0)) > 0
}

const ROUND_BITS = 64n

type Numbered = Pick<OracleUpdate, 'roundId'>

export const isSamePhase = (a: Numbered, b: Numbered): boolean =>
  b.roundId >> ROUND_BITS === a.roundId >> ROUND_BITS

/**
 * Whether rounds may be missing between two consecutive ones. A new phase starts counting at 1, and its numbers do not
 * show where the previous phase ended.
 */
export function skipsRounds(a: Numbered, b: Numbered): boolean {
  return b.roundId > (isSamePhase(a, b) ? a.roundId + 1n : a.roundId)
}
