/**
 * Every aggregate trade of a symbol, once and in order (trade-sequence.ts).
 *
 *   a number is missing ──▶ later trades wait
 *     ├── it arrives within `PATIENCE_MS` (frames may come out of order), or the venue sends it on request ──▶ repaired
 *     ╰── the venue does not have it, or not in time, or more than `MAX_WAITING_TRADES` wait ──▶ reported as a gap
 *
 * Silence proves nothing, because a socket may be down, or open and dead. How far trades are complete (`provenMs`)
 * follows from the trades themselves, or from an answer of the venue, which `prove` requests.
 *
 * After a start, the earlier trades of the first trade's minute are requested and released before it, so that the
 * minute is whole.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import type { AggregateTradeObservation } from '../../venues/observation.ts'
import type { HistoryRange, HistoryRequest, Venue } from '../../venues/venue.ts'
import { OUT_OF_ORDER_MS, TradeSequence } from './trade-sequence.ts'

export const MAX_WAITING_TRADES = 50_000
const MINUTE_MS = 60_000
const PATIENCE_MS = 1_500
/** A repair is abandoned after this many answers that lack the trades, or after `REPAIR_WITHIN_MS`. */
const REPAIR_TRIES = 6
const REPAIR_WITHIN_MS = 60_000
const REPAIR_PAUSE_MS = 2_000

export type TradeFollower = ReturnType<typeof followTrades>

export function followTrades(options: {
  venue: Pick<Venue, 'history'>
  symbol: HistoryRequest['symbol']
  clock: Clock
  signal: AbortSignal
  onTrade: (trade: AggregateTradeObservation) => void
  /** Trades in this range are missing for good. */
  onGap: (fromMs: number, toMs: number) => void
  onError: (error: unknown) => void
}) {
  const { clock, signal } = options
  const sequence = new TradeSequence(options.onTrade)
  const counts = { gaps: 0, repaired: 0, lost: 0 }
  let wantedMs = Number.NEGATIVE_INFINITY
  let isRepairing = false
  let asking = new AbortController()

  async function read(
    request: Pick<HistoryRequest, 'range' | 'afterId'>,
    onPage: (found: readonly AggregateTradeObservation[]) => void,
    isEnough: (last: AggregateTradeObservation | undefined) => boolean,
  ): Promise<number> {
    let coveredMs = Number.NEGATIVE_INFINITY
    asking = new AbortController()
    const pages = options.venue.history(
      { topic: 'aggregate_trades', symbol: options.symbol, isUrgent: true, ...request },
      { signal: AbortSignal.any([signal, asking.signal]) },
    )
    for await (const page of pages) {
      const found = page.observations.filter((row) => row.kind === 'aggregate_trade')
      onPage(found)
      coveredMs = Math.max(coveredMs, page.covered?.toMs ?? coveredMs)
      if (isEnough(found.at(-1))) break
    }
    return coveredMs
  }

  /** Requests the minute of the first trade, from its beginning. */
  async function requestFirst(first: AggregateTradeObservation): Promise<boolean> {
    const fromMs = Math.floor(first.venueTimeMs / MINUTE_MS) * MINUTE_MS
    const range = { fromMs, toMs: first.venueTimeMs + 1 }
    const found: AggregateTradeObservation[] = []
    const isEnough = (last: AggregateTradeObservation | undefined) => (last?.id ?? 0) >= first.id - 1
    await read({ range }, (page) => void found.push(...page), isEnough)
    return sequence.start(fromMs, found, first)
  }

  /**
   * Requests the trades after the last released one, up to the first waiting trade or, if none waits, up to `wantedMs`.
   */
  async function requestNext(
    afterId: number,
    until: AggregateTradeObservation | undefined,
  ): Promise<boolean> {
    const toMs = until === undefined ? wantedMs : until.venueTimeMs + 1
    const range = { fromMs: Math.min(sequence.lastMs, toMs), toMs: toMs + OUT_OF_ORDER_MS }
    let isUnbroken = true
    const coveredMs = await read(
      { range, afterId },
      (found) => {
        if (isUnbroken) isUnbroken = sequence.append(found, until?.id)
      },
      (last) => until !== undefined && (last?.id ?? 0) >= until.id - 1,
    )
    await drain()
    if (until !== undefined) return (sequence.lastId ?? afterId) >= until.id
    if (isUnbroken) sequence.prove(Math.min(coveredMs, toMs))
    return sequence.provenMs >= toMs
  }

  async function drain(): Promise<void> {
    while (sequence.drain(elapsedMs(clock))) await yieldToOthers()
  }

  async function repair(): Promise<void> {
    isRepairing = true
    if (sequence.isWaiting) counts.gaps += 1
    const beganMs = elapsedMs(clock)
    try {
      for (let lacking = 0; ; ) {
        const until = sequence.firstWaiting()
        const { lastId } = sequence
        if (until === undefined && (lastId === undefined || sequence.provenMs >= wantedMs)) return
        try {
          const isDone =
            lastId !== undefined
              ? await requestNext(lastId, until)
              : until !== undefined && (await requestFirst(until))
          if (isDone) {
            if (until !== undefined) counts.repaired += 1
            return
          }
          lacking += 1
        } catch (error) {
          if (signal.aborted || asking.signal.aborted) return
          options.onError(error)
        }
        await clock.sleep(REPAIR_PAUSE_MS, signal)
        await drain()
        if (lacking >= REPAIR_TRIES || elapsedMs(clock) - beganMs >= REPAIR_WITHIN_MS) return giveUp()
      }
    } finally {
      isRepairing = false
      sequence.drain(elapsedMs(clock))
      sequence.waitingSinceMs = elapsedMs(clock)
    }
  }

  function giveUp(): void {
    const gap = sequence.skipGap()
    if (gap !== undefined) report(gap)
  }

  function report({ fromMs, toMs }: HistoryRange): void {
    counts.lost += 1
    asking.abort()
    options.onGap(fromMs, toMs)
  }

  return {
    push(trade: AggregateTradeObservation) {
      if (sequence.isFarBelow(trade)) report(sequence.restartAt(trade))
      sequence.push(trade, elapsedMs(clock))
      if (sequence.waiting <= MAX_WAITING_TRADES) return
      giveUp()
      // Without yielding in between, because memory is short.
      while (sequence.drain(elapsedMs(clock)));
    },
    /** Starts the repair of a gap that is old enough, or a requested proof; called regularly. */
    tick() {
      if (isRepairing || sequence.drain(elapsedMs(clock))) return
      const isGap = sequence.isWaiting && elapsedMs(clock) - sequence.waitingSinceMs >= PATIENCE_MS
      const isWanted = !sequence.isWaiting && sequence.lastId !== undefined && sequence.provenMs < wantedMs
      if (!isGap && !isWanted) return
      repair().catch((error) => {
        if (!signal.aborted) options.onError(error)
      })
    },
    /** Trades are complete from here on, except for reported gaps; undefined before the first trade is released. */
    get startMs(): number | undefined {
      return sequence.startMs
    },
    /** Every trade before this instant has been released or reported as a gap. */
    get provenMs() {
      return sequence.provenMs
    },
    /** Whether trades wait for others that are missing. */
    get isWaiting() {
      return sequence.isWaiting
    },
    /** Requests a proof that nothing is missing before this instant. */
    prove(toMs: number) {
      wantedMs = Math.max(wantedMs, toMs)
    },
    stats: () => ({ ...counts }),
  }
}
