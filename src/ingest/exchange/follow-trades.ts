/**
 * Aggregate trades carry numbers that grow by one: what comes out of here is every trade, once, in order.
 *
 *   next number ──▶ out
 *   older       ──▶ a repeat, dropped
 *   newer       ──▶ waits; a gap that does not close by itself within `PATIENCE_MS` (frames may change places)
 *                   is requested from the venue; one that the venue cannot fill, or not in time, or not before
 *                   `MAX_WAITING_TRADES` wait, is reported as a gap
 *
 * Silence proves nothing: a socket may be down, or open and dead. Up to when trades are complete (`provenMs`) follows
 * from the trades themselves, or from an answer of the venue, which `prove` requests.
 *
 * The first trade after a start is preceded by the trades of its own minute, so that whole minutes come out.
 */
import type { Clock } from '../../kit/clock.ts'
import type { AggregateTradeObservation } from '../../venues/observation.ts'
import type { HistoryRequest, Venue } from '../../venues/venue.ts'

export const MAX_WAITING_TRADES = 50_000
/** Numbers grow in the order of time but for moments: a trade is proof of what was this long before it. */
export const OUT_OF_ORDER_MS = 1_500
const MINUTE_MS = 60_000
const PATIENCE_MS = 1_500
/** Answers that lack the same trades; a venue that does not answer is retried for `REPAIR_WITHIN_MS`. */
const REPAIR_TRIES = 6
const REPAIR_WITHIN_MS = 60_000
const REPAIR_PAUSE_MS = 2_000

export interface TradeFollower {
  push(trade: AggregateTradeObservation): void
  /** Looks whether a gap is old enough to be repaired; called once in a while. */
  tick(): void
  /** Complete from here on, apart from reported gaps; undefined before the first trade is out. */
  readonly startMs: number | undefined
  /** Every trade of a time before this is out, or reported as a gap. */
  readonly provenMs: number
  /** Whether trades wait for others that are missing. */
  readonly isWaiting: boolean
  /** Somebody has to know that nothing is missing before this instant. */
  prove(toMs: number): void
  stats(): { gaps: number; repaired: number; lost: number }
}

export function followTrades(options: {
  venue: Pick<Venue, 'history'>
  symbol: HistoryRequest['symbol']
  clock: Clock
  signal: AbortSignal
  onTrade: (trade: AggregateTradeObservation) => void
  /** Trades in this range are missing for good. */
  onGap: (fromMs: number, toMs: number) => void
  onError: (error: unknown) => void
}): TradeFollower {
  const { clock, signal } = options
  const waiting = new Map<number, AggregateTradeObservation>()
  const counts = { gaps: 0, repaired: 0, lost: 0 }
  let lastId: number | undefined
  let lastMs = Number.NEGATIVE_INFINITY
  let answeredMs = Number.NEGATIVE_INFINITY
  let wantedMs = Number.NEGATIVE_INFINITY
  let startMs: number | undefined
  let waitingSinceMs = 0
  let isRepairing = false
  let asking = new AbortController()

  const provenMs = () => Math.max(answeredMs, lastMs - OUT_OF_ORDER_MS)

  function out(trade: AggregateTradeObservation): void {
    lastId = trade.id
    lastMs = Math.max(lastMs, trade.venueTimeMs)
    options.onTrade(trade)
  }

  function drain(): void {
    while (lastId !== undefined && waiting.size > 0) {
      const next = waiting.get(lastId + 1)
      if (next === undefined) break
      waiting.delete(next.id)
      out(next)
      waitingSinceMs = clock.now()
    }
  }

  const firstWaiting = (): AggregateTradeObservation | undefined => {
    let first: AggregateTradeObservation | undefined
    for (const trade of waiting.values()) if (first === undefined || trade.id < first.id) first = trade
    return first
  }

  function dropOld(): void {
    for (const id of waiting.keys()) if (lastId !== undefined && id <= lastId) waiting.delete(id)
  }

  async function read(
    request: HistoryRequest,
    isEnough: (last: AggregateTradeObservation | undefined) => boolean,
  ): Promise<{ found: AggregateTradeObservation[]; coveredMs: number }> {
    const found: AggregateTradeObservation[] = []
    let coveredMs = Number.NEGATIVE_INFINITY
    asking = new AbortController()
    const whileWorth = AbortSignal.any([signal, asking.signal])
    for await (const page of options.venue.history(request, { signal: whileWorth })) {
      for (const row of page.observations) if (row.kind === 'aggregate_trade') found.push(row)
      coveredMs = Math.max(coveredMs, page.covered?.toMs ?? coveredMs)
      if (isEnough(found.at(-1))) break
    }
    return { found, coveredMs }
  }

  const base = { topic: 'aggregate_trades', symbol: options.symbol, isUrgent: true } as const

  /** The minute of the first trade, from its beginning. */
  async function requestFirst(until: AggregateTradeObservation): Promise<boolean> {
    const fromMs = Math.floor(until.venueTimeMs / MINUTE_MS) * MINUTE_MS
    const range = { fromMs, toMs: until.venueTimeMs + 1 }
    const answer = await read({ ...base, range }, (last) => (last?.id ?? 0) >= until.id - 1)
    const found = answer.found.filter((row) => row.id < until.id)
    const firstId = found[0]?.id ?? until.id
    const isWhole = found.every((row, index) => row.id === firstId + index)
    if (!isWhole || firstId + found.length !== until.id) return false
    startMs ??= fromMs
    for (const row of found) out(row)
    lastId ??= until.id - 1
    return true
  }

  /** What follows the last trade that is out: up to the first one that waits, or to the instant that is wanted. */
  async function requestNext(
    afterId: number,
    until: AggregateTradeObservation | undefined,
  ): Promise<boolean> {
    const toMs = until === undefined ? wantedMs : until.venueTimeMs + 1
    const range = { fromMs: Math.min(lastMs, toMs), toMs: toMs + OUT_OF_ORDER_MS }
    const { found, coveredMs } = await read(
      { ...base, range, afterId },
      (last) => until !== undefined && (last?.id ?? 0) >= until.id - 1,
    )
    let isUnbroken = true
    for (const row of found) {
      // Others may have come out by themselves meanwhile.
      if (lastId === undefined || row.id <= lastId || row.id >= (until?.id ?? Number.POSITIVE_INFINITY))
        continue
      isUnbroken = row.id === lastId + 1
      if (!isUnbroken) break
      out(row)
    }
    dropOld()
    drain()
    if (until !== undefined) return lastId !== undefined && lastId >= until.id
    if (isUnbroken) answeredMs = Math.max(answeredMs, Math.min(coveredMs, toMs))
    return provenMs() >= toMs
  }

  async function repair(): Promise<void> {
    isRepairing = true
    if (waiting.size > 0) counts.gaps += 1
    const beganMs = clock.now()
    try {
      for (let lacking = 0; ; ) {
        const until = firstWaiting()
        if (until === undefined && (lastId === undefined || provenMs() >= wantedMs)) return
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
        drain()
        if (lacking >= REPAIR_TRIES || clock.now() - beganMs >= REPAIR_WITHIN_MS) return giveUp()
      }
    } finally {
      isRepairing = false
      dropOld()
      drain()
      waitingSinceMs = clock.now()
    }
  }

  function giveUp(): void {
    const until = firstWaiting()
    if (until === undefined) return
    counts.lost += 1
    asking.abort()
    const timeMs = until.venueTimeMs
    options.onGap(startMs === undefined ? Math.floor(timeMs / MINUTE_MS) * MINUTE_MS : lastMs, timeMs)
    startMs ??= timeMs
    lastId = until.id - 1
  }

  return {
    push(trade) {
      if (lastId !== undefined && trade.id <= lastId) return
      if (waiting.size === 0 && lastId !== undefined && trade.id === lastId + 1) return out(trade)
      if (waiting.size === 0) waitingSinceMs = clock.now()
      waiting.set(trade.id, trade)
      drain()
      if (waiting.size > MAX_WAITING_TRADES) {
        giveUp()
        drain()
      }
    },
    tick() {
      if (isRepairing) return
      const isGap = waiting.size > 0 && clock.now() - waitingSinceMs >= PATIENCE_MS
      const isWanted = waiting.size === 0 && lastId !== undefined && provenMs() < wantedMs
      if (!isGap && !isWanted) return
      repair().catch((error) => {
        if (!signal.aborted) options.onError(error)
      })
    },
    get startMs() {
      return startMs
    },
    get provenMs() {
      return provenMs()
    },
    get isWaiting() {
      return waiting.size > 0
    },
    prove(toMs) {
      wantedMs = Math.max(wantedMs, toMs)
    },
    stats: () => ({ ...counts }),
  }
}
