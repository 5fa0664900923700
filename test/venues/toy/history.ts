/** The toy's REST side. */

import { floorTo, notProvided } from '../../../src/venues/rest/history-range.ts'
import { requestTyped } from '../../../src/venues/rest/typed-request.ts'
import type { VenueTime } from '../../../src/venues/rest/venue-time.ts'
import type { HistoryPage, HistoryRequest } from '../../../src/venues/venue.ts'
import { mapCandle } from './mapper.ts'
import { Candles, Time } from './wire.ts'

const MINUTE_MS = 60_000

type Asker = Parameters<typeof requestTyped>[0]

export async function askServerTime(
  rest: Asker,
  signal: AbortSignal,
): Promise<{ venueMs: number; roundTripMs: number }> {
  const { value, answer } = await requestTyped(rest, { path: '/time', weight: 1 }, Time, signal)
  return { venueMs: value.now, roundTripMs: answer.roundTripMs }
}

export async function* walkHistory(
  rest: Asker & { readonly venueTime: VenueTime },
  { topic, range }: HistoryRequest,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  if (topic !== 'candles') return yield notProvided(range)
  const toMs = Math.min(range.toMs, floorTo(await rest.venueTime.now(signal), MINUTE_MS))
  if (toMs <= range.fromMs) return
  const question = {
    path: '/candles',
    query: { from: range.fromMs, to: toMs },
    weight: 1,
    isBackground: true,
  }
  const { value, answer } = await requestTyped(rest, question, Candles, signal)
  const observations = value.map((candle) => mapCandle(candle, answer.receivedMs))
  yield { observations, covered: { fromMs: range.fromMs, toMs }, missing: [] }
}
