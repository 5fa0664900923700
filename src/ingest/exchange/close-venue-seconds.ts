/**
 * Seconds that the venue itself publishes, without leaving any out: shown as they are streamed, closed by its REST
 * answer. Before that answer they are observed up to the newest closed second, and a second that was left out is a gap.
 */
import type { CandleObservation } from '../../venues/observation.ts'
import { candleFeed } from '../shared/feeds.ts'
import { candleOfKline } from './candle.ts'
import { putSeconds, type SecondCloser } from './close-seconds.ts'
import { recordPageCoverage } from './request-derivatives.ts'
import type { SymbolParts } from './symbol-parts.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** Seconds are requested at most this far back at once; a longer gap is left to the backfill. */
const MAX_REQUEST_MS = 3_600_000

export function closeVenueSeconds(parts: SymbolParts): SecondCloser {
  const { plan, venue, symbol, signal, tracker } = parts
  const feed = candleFeed(plan.source, symbol, '1s')
  /** The end of the last known minute whose seconds were not requested yet. */
  let dueMs: number | undefined
  let requestedToMs: number | undefined
  /** The end of the newest second that the stream sent as closed. */
  let streamedToMs = 0
  tracker.limit(feed, streamedToMs)

  async function requestSeconds(toMs: number): Promise<void> {
    const fromMs = Math.max(requestedToMs ?? toMs - MINUTE_MS, toMs - MAX_REQUEST_MS)
    const range = { fromMs, toMs }
    for await (const page of venue.history(
      { topic: 'candles', symbol, interval: '1s', range, isUrgent: true },
      { signal },
    )) {
      const candles = page.observations
        .filter((row): row is CandleObservation => row.kind === 'candle')
        .map(candleOfKline)
      putSeconds(parts, candles, true)
      recordPageCoverage(parts, [feed], page)
      requestedToMs = page.covered?.toMs ?? requestedToMs
    }
  }

  function follow(openMs: number): void {
    if (openMs < streamedToMs) return
    // Time in which the channel was down is already a gap, and coverage resumes after it. Closing frames may also be
    // missing before the first one.
    const fromMs = Math.max(streamedToMs, requestedToMs ?? 0, tracker.coveredTo(feed))
    if (fromMs > 0 && openMs > fromMs) tracker.unproven(feed, fromMs, openMs)
    streamedToMs = openMs + SECOND_MS
  }

  return {
    receive(kline) {
      if (kline.closed) follow(kline.openTimeMs)
      if (requestedToMs !== undefined && kline.openTimeMs < requestedToMs) return
      putSeconds(parts, [candleOfKline(kline)], kline.closed)
    },
    trade() {},
    minute() {},
    empty() {},
    gap() {},
    begin() {},
    show() {
      tracker.limit(feed, streamedToMs)
    },
    minutes(_candles, _unknown, { toMs }) {
      dueMs = toMs
    },
    async close() {
      if (dueMs === undefined) return
      const toMs = dueMs
      await requestSeconds(toMs)
      if (dueMs === toMs) dueMs = undefined
    },
    get closedToMs() {
      return requestedToMs
    },
  }
}
