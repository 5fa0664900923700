/**
 * Aggregate trades carry numbers that grow by one: what comes out of here is every trade, once, in order.
 *
 *   next number ──▶ out
 *   older       ──▶ a repeat, dropped
 *   newer       ──▶ waits; a hole that does not close by itself within `patienceMs` (frames may change places)
 *                   is asked for at the venue; one that the venue cannot fill, or not before `MAX_WAITING_TRADES`
 *                   wait, is told as a gap
 *
 * The first trade after a start is preceded by the trades of its own minute, so that whole minutes come out.
 */
import type { Clock } from '../kit/clock.ts'
import type { AggregateTradeObservation } from '../venues/observation.ts'
import type { HistoryRequest, Venue } from '../venues/venue.ts'

export const MAX_WAITING_TRADES = 50_000
const MINUTE_MS = 60_000
const PATIENCE_MS = 1_500
const REPAIR_TRIES = 6
const REPAIR_PAUSE_MS = 2_000

export interface TradeFollower {
  push(trade: AggregateTradeObservation): void
  /** Looks whether a hole is old enough to be repaired; called once in a while. */
  tick(): void
  /** Whole from here on, gaps told apart; undefined before the first trade is out. */
  readonly startMs: number | undefined
  /** True when nothing waits. */
  readonly isWhole: boolean
  stats(): { holes: number; repaired: number; lost: number }
}

export function followTrades(options: {
  venue: Pick<Venue, 'history'>
  symbol: HistoryRequest['symbol']
  clock: Clock
  signal: AbortSignal
  onTrade: (trade: AggregateTradeObservation) => void
  /** Trades in this stretch are missing for good. */
  onGap: (fromMs: number, toMs: number) => void
  onError: (error: unknown) => void
}): TradeFollower {
  const { clock, signal } = options
  const waiting = new Map<number, AggregateTradeObservation>()
  const counts = { holes: 0, repaired: 0, lost: 0 }
  let lastId: number | undefined
  let lastMs = 0
  let startMs: number | undefined
  let waitingSinceMs = 0
  let isRepairing = false
  let asking = new AbortController()

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

  /** Asks for what lies between the last trade that is out and the first one that waits. */
  async function ask(until: AggregateTradeObservation): Promise<boolean> {
    const fromMs = lastId === undefined ? Math.floor(until.venueTimeMs / MINUTE_MS) * MINUTE_MS : lastMs
    const request: HistoryRequest = {
      dataset: 'aggregate_trades',
      symbol: options.symbol,
      range: { fromMs, toMs: until.venueTimeMs + 1 },
      ...(lastId === undefined ? {} : { afterId: lastId }),
      isUrgent: true,
    }
    const found: AggregateTradeObservation[] = []
    asking = new AbortController()
    const whileWorth = AbortSignal.any([signal, asking.signal])
    for await (const page of options.venue.history(request, { signal: whileWorth })) {
      for (const row of page.observations)
        if (row.kind === 'aggregate_trade' && row.id < until.id) found.push(row)
      if ((found.at(-1)?.id ?? 0) >= until.id - 1) break
    }
    const first = found[0]
    const expected = lastId === undefined ? (first?.id ?? until.id) : lastId + 1
    const isWhole = found.every((row, index) => row.id === expected + index)
    if (!isWhole || expected + found.length !== until.id) return false
    if (startMs === undefined) startMs = fromMs
    for (const row of found) out(row)
    if (lastId === undefined) lastId = until.id - 1
    return true
  }

  async function repair(): Promise<void> {
    isRepairing = true
    counts.holes += 1
    try {
      for (let attempt = 0; attempt < REPAIR_TRIES; attempt++) {
        const until = firstWaiting()
        if (until === undefined) return
        try {
          if (await ask(until)) {
            counts.repaired += 1
            return
          }
        } catch (error) {
          if (signal.aborted || asking.signal.aborted) return
          options.onError(error)
        }
        await clock.sleep(REPAIR_PAUSE_MS, signal)
        drain()
      }
      giveUp()
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
    if (startMs === undefined) startMs = until.venueTimeMs
    else options.onGap(lastMs, until.venueTimeMs)
    lastId = until.id - 1
  }

  return {
    push(trade) {
      if (lastId !== undefined && trade.id <= lastId) return
      if (!isRepairing && waiting.size === 0 && lastId !== undefined && trade.id === lastId + 1)
        return out(trade)
      if (waiting.size === 0) waitingSinceMs = clock.now()
      waiting.set(trade.id, trade)
      if (!isRepairing) drain()
      if (waiting.size > MAX_WAITING_TRADES) {
        giveUp()
        drain()
      }
    },
    tick() {
      if (isRepairing || waiting.size === 0 || clock.now() - waitingSinceMs < PATIENCE_MS) return
      repair().catch((error) => {
        if (!signal.aborted) options.onError(error)
      })
    },
    get startMs() {
      return startMs
    },
    get isWhole() {
      return waiting.size === 0 && !isRepairing
    },
    stats: () => ({ ...counts }),
  }
}
