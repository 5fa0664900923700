/**
 * Decides whether the trades of a minute are complete, before anything built from them is closed.
 *
 *   our volume, quote volume and volume of taker buys equal those of
 *   the venue's candle                                               ──▶ whole
 *   numbers without a gap up to a later trade, or to an answer
 *   of the venue, and the volume fits                             ──▶ whole
 *   anything else ──▶ wait for the follower's proof; then, or at once if trades are known to be missing, request the
 *                     whole minute from the venue. The answer must fit the venue's own candle too, unless it equals our
 *                     own trades and these have no gap; then the candle is wrong.
 *                        ╰── no proof within `PROOF_WITHIN_MS` ──▶ late: what is not proven becomes a gap
 *
 * The venue's candle is an independent witness: every trade that we lack shows as a difference in volume, and one that
 * the stream sent with a wrong price or side as a difference in the other two, which recordings of both products match
 * exactly. The volumes need not be equal where an aggregate trade spans the end of a minute: the candle splits its
 * fills, we have them as one.
 */
import { add, compare, type Decimal, decimal, subtract, ZERO } from '../../core/decimal.ts'
import { elapsedMs } from '../../kit/clock.ts'
import { requestTradeCandles } from './backfill-trade-candles.ts'
import type { TradeFact } from './build-candles.ts'
import type { Candle } from './candle.ts'
import type { TradeFollower } from './follow-trades.ts'
import type { SymbolParts } from './symbol-parts.ts'

const MINUTE_MS = 60_000
/** How long a minute may still be proven after its candle became known. */
const PROOF_WITHIN_MS = 120_000
/** Pause between two requests for the same minute. */
const REQUEST_AGAIN_MS = 5_000
/** Pause after an answer that did not fit the candle: one of the two is wrong, and may stay so for a while. */
const UNFIT_AGAIN_MS = 30_000
/** After an outage many minutes are requested, at most this many at the same time. */
const MAX_ASKING = 4
/** Fills are combined for this long into one aggregate trade. */
const SPAN_MS = 100

interface UnprovenMinute {
  readonly openMs: number
  /** The volume of the venue's own candle; undefined if there is no candle. */
  readonly volume: Decimal | undefined
  readonly quote?: Decimal | null | undefined
  readonly buyVolume?: Decimal | null | undefined
  readonly knownMs: number
}

type MinuteVerdict =
  | { readonly kind: 'wait' }
  /** Every trade of the minute is in these candles, which are our own or the venue's answer. */
  | { readonly kind: 'whole'; readonly candles: readonly Candle[] }
  /** Trades before `provenMs` are complete, except for gaps. */
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
  /** By the end of a minute: the volume of trades that may partly belong to the next minute. */
  const spanning = new Map<number, Decimal>()
  let asking = 0
  /** `askMs` is elapsed time, because the clock may be set. */
  const answers = new Map<number, { candles?: readonly Candle[]; isAsking: boolean; askMs: number }>()

  async function ask(openMs: number): Promise<void> {
    const answer = answers.get(openMs) ?? { isAsking: false, askMs: Number.NEGATIVE_INFINITY }
    if (asking >= MAX_ASKING || answer.isAsking || answer.askMs > elapsedMs(parts.clock)) return
    answers.set(openMs, answer)
    answer.isAsking = true
    asking += 1
    const endMs = openMs + MINUTE_MS
    // Includes trades that may have begun before the minute.
    const range = { fromMs: hasSpans ? openMs - SPAN_MS : openMs, toMs: endMs }
    const spans = new Map<number, Decimal>()
    try {
      const { candles, wholeMs, missing, broken } = await requestTradeCandles(parts, range, lengthMs, {
        isUrgent: true,
        onTrade: (trade) => addSpan(spans, trade),
      })
      if (wholeMs >= endMs && missing.length === 0 && !broken.some(({ toMs }) => toMs > openMs)) {
        answer.candles = candles.filter((candle) => candle.openMs >= openMs)
        for (const [atMs, size] of spans)
          if (compare(size, spanning.get(atMs) ?? ZERO) > 0) spanning.set(atMs, size)
      }
    } catch (error) {
      if (!parts.signal.aborted) options.onError(error)
    } finally {
      asking -= 1
      answer.isAsking = false
      answer.askMs = elapsedMs(parts.clock) + REQUEST_AGAIN_MS
    }
  }

  function addSpan(to: Map<number, Decimal>, { timeMs, size, fills }: TradeFact): void {
    const endMs = Math.ceil((timeMs + 1) / MINUTE_MS) * MINUTE_MS
    if (!hasSpans || fills === 1 || timeMs < endMs - SPAN_MS) return
    to.set(endMs, add(to.get(endMs) ?? ZERO, decimal(size)))
  }

  function isOfMinute(own: Decimal, minute: UnprovenMinute): boolean {
    if (minute.volume === undefined || compare(own, minute.volume) === 0) return true
    return hasSpans && fits(own, minute)
  }

  function fits(own: Decimal, minute: UnprovenMinute): boolean {
    if (minute.volume === undefined) return true
    const begun = spanning.get(minute.openMs) ?? ZERO
    const ended = spanning.get(minute.openMs + MINUTE_MS) ?? ZERO
    const isBelow = compare(minute.volume, subtract(own, ended)) < 0
    return !isBelow && compare(minute.volume, add(own, begun)) <= 0
  }

  return {
    /** A trade that is part of the candles to be judged. */
    trade: (trade: TradeFact) => addSpan(spanning, trade),
    /** `isBroken`: trades of the minute are known to be missing. */
    judge(minute: UnprovenMinute, own: readonly Candle[], isBroken: boolean, nowMs: number): MinuteVerdict {
      const endMs = minute.openMs + MINUTE_MS
      const volume = volumeOf(own)
      const isSameVolume = minute.volume !== undefined && compare(volume, minute.volume) === 0
      if (isSameVolume && hasSameSums(own, minute)) return { kind: 'whole', candles: own }
      const isProven = follower.provenMs >= endMs
      if (isProven && !isBroken && !isSameVolume && hasSpans && fits(volume, minute))
        return { kind: 'whole', candles: own }
      const answer = answers.get(minute.openMs)
      if (answer?.candles !== undefined) {
        parts.counts.differences += 1
        const { candles } = answer
        const answered = volumeOf(candles)
        if (isOfMinute(answered, minute)) return { kind: 'whole', candles }
        if (isProven && !isBroken && compare(answered, volume) === 0) return { kind: 'whole', candles: own }
        delete answer.candles
        answer.askMs = elapsedMs(parts.clock) + UNFIT_AGAIN_MS
      }
      // An absolute difference, because the clock may be set back meanwhile.
      if (Math.abs(nowMs - minute.knownMs) >= PROOF_WITHIN_MS)
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

const volumeOf = (candles: readonly Candle[]) =>
  candles.reduce((sum, candle) => add(sum, candle.volume), ZERO)

/** Whether the prices and sides of trades of the same volume can be right. Sums that are not known agree with any. */
function hasSameSums(own: readonly Candle[], { quote, buyVolume }: UnprovenMinute): boolean {
  const isSame = (theirs: Decimal | null | undefined, ours: (candle: Candle) => Decimal | null) => {
    if (theirs === undefined || theirs === null) return true
    return (
      compare(
        own.reduce((sum, candle) => add(sum, ours(candle) ?? ZERO), ZERO),
        theirs,
      ) === 0
    )
  }
  return isSame(quote, (candle) => candle.quote) && isSame(buyVolume, (candle) => candle.buyVolume)
}
