/**
 * Every aggregate trade of a symbol, once and in order (trade-sequence.ts).
 *
 *   a number is missing ──▶ later trades wait
 *     ├── it comes within `PATIENCE_MS` (frames may arrive out of order), or the venue sends it on request ──▶ repaired
 *     ╰── the venue does not have it, or not in time, or more than `MAX_WAITING_TRADES` wait ──▶ reported as a gap
 *
 * Silence proves nothing: a socket may be down, or open and dead. Up to when trades are complete (`provenMs`) follows
 * from the trades themselves, or from an answer of the venue, which `prove` requests.
 *
 * The first trade after a start is preceded by the trades of its own minute, so that whole minutes come out.
 */
import type { Clock } from '../../kit/clock.ts'
import type { AggregateTradeObservation } from '../../venues/observation.ts'
import type { HistoryRange, HistoryRequest, Venue } from '../../venues/venue.ts'
import { OUT_OF_ORDER_MS, TradeSequence } from './trade-sequence.ts'

export const MAX_WAITING_TRADES = 50_000
const MINUTE_MS = 60_000
const PATIENCE_MS = 1_500
/** Answers that lack the same trades; a venue that does not answer is retried for `REPAIR_WITHIN_MS`. */
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
    isEnough: (last: AggregateTradeObservation | undefined) => boolean,
  ): Promise<{ found: AggregateTradeObservation[]; coveredMs: number }> {
    const found: AggregateTradeObservation[] = []
    let coveredMs = Number.NEGATIVE_INFINITY
    asking = new AbortController()
    const pages = options.venue.history(
      { topic: 'aggregate_trades', symbol: options.symbol, isUrgent: true, ...request },
      { signal: AbortSignal.any([signal, asking.signal]) },
    )
    for await (const page of pages) {
      for (const row of page.observations) if (row.kind === 'aggregate_trade') found.push(row)
      coveredMs = Math.max(coveredMs, page.covered?.toMs ?? coveredMs)
      if (isEnough(found.at(-1))) break
    }
    return { found, coveredMs }
  }

  /** The minute of the first trade, from its beginning. */
  async function requestFirst(first: AggregateTradeObservation): Promise<boolean> {
    const fromMs = Math.floor(first.venueTimeMs / MINUTE_MS) * MINUTE_MS
    const range = { fromMs, toMs: first.venueTimeMs + 1 }
    const { found } = await read({ range }, (last) => (last?.id ?? 0) >= first.id - 1)
    return sequence.start(fromMs, found, first)
  }

  /** What follows the last trade that is out: up to the first one that waits, or to the instant that is wanted. */
  async function requestNext(
    afterId: number,
    until: AggregateTradeObservation | undefined,
  ): Promise<boolean> {
    const toMs = until === undefined ? wantedMs : until.venueTimeMs + 1
    const range = { fromMs: Math.min(sequence.lastMs, toMs), toMs: toMs + OUT_OF_ORDER_MS }
    const { found, coveredMs } = await read(
      { range, afterId },
      (last) => until !== undefined && (last?.id ?? 0) >= until.id - 1,
    )
    const isUnbroken = sequence.append(found, until?.id)
    sequence.drain(clock.now())
    if (until !== undefined) return (sequence.lastId ?? afterId) >= until.id
    if (isUnbroken) sequence.prove(Math.min(coveredMs, toMs))
    return sequence.provenMs >= toMs
  }

  async function repair(): Promise<void> {
    isRepairing = true
    if (sequence.isWaiting) counts.gaps += 1
    const beganMs = clock.now()
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
        sequence.drain(clock.now())
        if (lacking >= REPAIR_TRIES || clock.now() - beganMs >= REPAIR_WITHIN_MS) return giveUp()
      }
    } finally {
      isRepairing = false
      sequence.drain(clock.now())
      sequence.waitingSinceMs = clock.now()
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
      sequence.push(trade, clock.now())
      if (sequence.waiting <= MAX_WAITING_TRADES) return
      giveUp()
      sequence.drain(clock.now())
    },
    /** Starts the repair of a gap that is old enough; called regularly. */
    tick() {
      if (isRepairing) return
      const isGap = sequence.isWaiting && clock.now() - sequence.waitingSinceMs >= PATIENCE_MS
      const isWanted = !sequence.isWaiting && sequence.lastId !== undefined && sequence.provenMs < wantedMs
      if (!isGap && !isWanted) return
      repair().catch((error) => {
        if (!signal.aborted) options.onError(error)
      })
    },
    /** Complete from here on, apart from reported gaps; undefined before the first trade is out. */
    get startMs(): number | undefined {
      return sequence.startMs
    },
    /** Every trade of a time before this is out, or reported as a gap. */
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
