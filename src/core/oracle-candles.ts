/**
 * Candles of an on-chain price, always from the updates themselves: a carried 5m candle is no update of its 15m candle.
 *
 *   first_update   open = first update in the candle; an empty candle is flat at the answer before it (the default)
 *   in_force       open = the answer in force at the candle's start, which high and low include
 *
 * An answer is carried forward only while it is fresh: an empty candle that ends more than three heartbeats after
 * the last update is a gap, because then the chain or the feed stood still.
 */
import { compare, decimal, decimalText } from './decimal.ts'
import { type CandleInterval, candleStart, INTERVAL_MS } from './interval.ts'
import type { Prices } from './join-prices.ts'
import { pricesOf } from './market-candles.ts'

export const CARRY_HEARTBEATS = 3
/** A candle is final when it is known that so many heartbeats after its end there was no answer yet. */
export const FINAL_HEARTBEATS = 2

export interface OracleUpdate {
  /** The oracle's own time of the answer, never block or receive time. */
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
 * The candles that start in [fromMs, toMs), ascending. Updates before `fromMs` matter for what is carried in; there
 * is no candle before the first known update.
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

/** Nothing can change the candle any more. */
export function isOracleCandleFinal(options: {
  endMs: number
  /** Every answer before this is known. */
  knownToMs: number
  heartbeatMs: number
  newestUpdateMs: number | null
}): boolean {
  const { endMs, newestUpdateMs } = options
  if (newestUpdateMs !== null && newestUpdateMs >= endMs) return true
  return options.knownToMs > endMs + FINAL_HEARTBEATS * options.heartbeatMs
}

/** An integer answer with its decimals as exact text. */
export function answerText(answer: bigint, decimals: number): string {
  return decimalText({ units: answer, scale: decimals })
}

/** Whether answer b may follow answer a: newer round, and time that does not run backwards. */
export function mayFollow(a: OracleUpdate, b: OracleUpdate): boolean {
  return b.roundId > a.roundId && b.updatedMs >= a.updatedMs && compare(decimal(b.price), decimal(0)) > 0
}

const ROUND_BITS = 64n

/**
 * Whether there may be a round between two that follow each other. A new phase counts from 1, and its numbers do not
 * show where the phase before it ended.
 */
export function skipsRounds(a: Pick<OracleUpdate, 'roundId'>, b: Pick<OracleUpdate, 'roundId'>): boolean {
  const isSamePhase = b.roundId >> ROUND_BITS === a.roundId >> ROUND_BITS
  return b.roundId > (isSamePhase ? a.roundId + 1n : a.roundId)
}
