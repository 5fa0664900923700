/**
 * Whether the trades of a minute are all there, before anything that is built from them is closed.
 *
 *   own volume is that of the venue's candle                         ──▶ whole
 *   numbers without a gap up to a later trade, or to an answer
 *   of the venue, and the volume fits                             ──▶ whole
 *   anything else ──▶ wait: the follower has to prove it; then, or at once where some are known to be missing, the whole
 *                     minute is requested from the venue
 *                        ╰── not within `PROOF_WITHIN_MS` ──▶ late: what is not proven becomes a gap
 *
 * The venue's candle is an independent witness: trades that we lack are always missing in its volume. It need not fit to the
 * last digit where an aggregate trade spans the end of a minute: the candle splits its fills, we have them as one.
 */
import { add, compare, type Decimal, decimal, subtract, ZERO } from '../../core/decimal.ts'
import { requestTradeCandles } from './backfill-trade-candles.ts'
import type { TradeFact } from './build-candles.ts'
import type { Candle } from './candle.ts'
import type { TradeFollower } from './follow-trades.ts'
import type { SymbolParts } from './symbol-parts.ts'

const MINUTE_MS = 60_000
/** A minute may still be proven this long after its candle was known. */
const PROOF_WITHIN_MS = 120_000
/** Between two requests for one minute. */
const REQUEST_AGAIN_MS = 5_000
/** After an outage many minutes are requested, so many at the same time. */
const MAX_ASKING = 4
/** Fills are gathered for this long into one aggregate trade. */
const SPAN_MS = 100

interface UnprovenMinute {
  readonly openMs: number
  /** The volume of the venue's own candle; undefined where there is none. */
  readonly volume: Decimal | undefined
  readonly knownMs: number
}

type MinuteVerdict =
  | { readonly kind: 'wait' }
  /** Every trade of the minute is in these candles: the own ones, or the venue's answer. */
  | { readonly kind: 'whole'; readonly candles: readonly Candle[] }
  /** Trades before `provenMs` are there, gaps apart. */
  | { readonly kind: 'late'; readonly provenMs: number }

export type MinuteProver = ReturnType<typeof proveMinutes>

export function proveMinutes(
  parts: SymbolParts,
  options: {
    follower: Pick<TradeFollower, 'provenMs' | 'prove'>
    lengthMs: number
    onError: (error: unknown) => void
  },
) {
  const { follower, lengthMs } = options
  const hasSpans = parts.plan.aggregatesSpanMinutes
  /** By the end of a minute: what may belong to the next one in part. */
  const spanning = new Map<number, Decimal>()
  let asking = 0
  const answers = new Map<number, { candles?: readonly Candle[]; isAsking: boolean; askMs: number }>()

  async function ask(openMs: number): Promise<void> {
    const answer = answers.get(openMs) ?? { isAsking: false, askMs: 0 }
    if (asking >= MAX_ASKING || answer.isAsking || answer.askMs > parts.clock.now()) return
    answers.set(openMs, answer)
    answer.isAsking = true
    asking += 1
    const endMs = openMs + MINUTE_MS
    try {
      const { candles, wholeMs, missing, broken } = await requestTradeCandles(
        parts,
        { fromMs: openMs, toMs: endMs },
        lengthMs,
        true,
      )
      if (wholeMs >= endMs && missing.length === 0 && broken.length === 0) answer.candles = candles
    } catch (error) {
      if (!parts.signal.aborted) options.onError(error)
    } finally {
      asking -= 1
      answer.isAsking = false
      answer.askMs = parts.clock.now() + REQUEST_AGAIN_MS
    }
  }

  function fits(own: Decimal, minute: UnprovenMinute): boolean {
    if (minute.volume === undefined) return true
    const begun = spanning.get(minute.openMs) ?? ZERO
    const ended = spanning.get(minute.openMs + MINUTE_MS) ?? ZERO
    const isBelow = compare(minute.volume, subtract(own, ended)) < 0
    return !isBelow && compare(minute.volume, add(own, begun)) <= 0
  }

  return {
    /** A trade that belongs to the candles. */
    trade({ timeMs, size, fills }: TradeFact) {
      const endMs = Math.ceil((timeMs + 1) / MINUTE_MS) * MINUTE_MS
      if (!hasSpans || fills === 1 || timeMs < endMs - SPAN_MS) return
      spanning.set(endMs, add(spanning.get(endMs) ?? ZERO, decimal(size)))
    },
    /** `isBroken`: something of the minute is known to be missing. */
    judge(minute: UnprovenMinute, own: readonly Candle[], isBroken: boolean, nowMs: number): MinuteVerdict {
      const endMs = minute.openMs + MINUTE_MS
      const volume = own.reduce((sum, candle) => add(sum, candle.volume), ZERO)
      if (minute.volume !== undefined && compare(volume, minute.volume) === 0)
        return { kind: 'whole', candles: own }
      const isProven = follower.provenMs >= endMs
      if (isProven && !isBroken && hasSpans && fits(volume, minute)) return { kind: 'whole', candles: own }
      const answer = answers.get(minute.openMs)?.candles
      if (answer !== undefined) {
        parts.counts.differences += 1
        return { kind: 'whole', candles: answer }
      }
      if (nowMs >= minute.knownMs + PROOF_WITHIN_MS)
        return { kind: 'late', provenMs: isProven && !isBroken ? minute.openMs : follower.provenMs }
      if (!isProven && !isBroken) follower.prove(endMs)
      else void ask(minute.openMs)
      return { kind: 'wait' }
    },
    /** The minutes before this are closed. */
    forget(beforeMs: number) {
      for (const endMs of spanning.keys()) if (endMs < beforeMs) spanning.delete(endMs)
      for (const openMs of answers.keys()) if (openMs < beforeMs) answers.delete(openMs)
    },
  }
}
