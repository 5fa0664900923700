/** What counts as observed of the seconds that the venue streams, before its REST answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VENUES } from '../../venues/list.ts'
import type { CandleObservation } from '../../venues/observation.ts'
import { closeVenueSeconds } from './close-venue-seconds.ts'
import type { SymbolParts } from './symbol-parts.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')

function start() {
  const unproven: number[][] = []
  let limitMs: number | undefined
  let coveredMs: number | undefined
  const seconds = closeVenueSeconds({
    ...{ plan: VENUES['binance-spot'].plan, symbol: 'BTC', writer: { put() {} } },
    tracker: {
      unproven: (_feed: unknown, fromMs: number, toMs: number) =>
        void unproven.push([fromMs - START_MS, toMs - START_MS]),
      coveredTo: () => (coveredMs === undefined ? 0 : coveredMs + START_MS),
      limit: (_feed: unknown, toMs: number) => {
        limitMs = toMs - START_MS
      },
    },
  } as unknown as SymbolParts)
  const receive = (ms: number, closed = true) =>
    seconds.receive({
      ...{ kind: 'candle', source: 'cexa', symbol: 'BTC', interval: '1s', closed, openTimeMs: START_MS + ms },
      ...{ open: '1', high: '1', low: '1', close: '1', volume: '1', venueTimeMs: START_MS + ms },
      ...{ quoteVolume: null, tradeCount: null, takerBuyVolume: null, takerBuyQuoteVolume: null },
    } as unknown as CandleObservation)
  const limit = () => {
    seconds.show()
    return limitMs
  }
  const resume = (ms: number) => {
    coveredMs = ms
  }
  return { receive, unproven, limit, resume, firstLimitMs: limitMs }
}

test('nothing is claimed after the newest second that came closed', () => {
  const { receive, unproven, limit, firstLimitMs } = start()
  assert.equal(firstLimitMs, -START_MS)
  receive(0)
  receive(1_000)
  receive(2_000, false)
  assert.equal(limit(), 2_000)
  assert.deepEqual(unproven, [])
})

test('a second that was left out is a gap until the venue has answered, one after a long silence is not', () => {
  const { receive, unproven, limit, resume } = start()
  receive(0)
  receive(3_000)
  receive(1_000)
  assert.equal(limit(), 4_000)
  assert.deepEqual(unproven, [[1_000, 3_000]])
  resume(400_000)
  receive(400_000)
  assert.deepEqual(unproven, [[1_000, 3_000]], 'the channel was down meanwhile')
})

test('seconds before the first closing frame are a gap from the time when the channel came up', () => {
  const { receive, unproven, resume } = start()
  resume(2_300)
  receive(5_000)
  assert.deepEqual(unproven, [[2_300, 5_000]])
})

test('seconds whose closing frames did not come are a gap, however many they are', () => {
  const { receive, unproven } = start()
  receive(0)
  receive(100_000)
  assert.deepEqual(unproven, [[1_000, 100_000]])
})
