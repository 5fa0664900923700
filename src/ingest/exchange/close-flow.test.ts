import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readGaps, readRows } from '../../../test/ingest/read-feed.ts'
import { decimal } from '../../core/decimal.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import type { Venue } from '../../venues/venue.ts'
import { feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import type { Candle } from './candle.ts'
import { closeFlow } from './close-flow.ts'
import { noCounts, type SymbolParts } from './symbol-parts.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')
const MINUTE_MS = 60_000

test('flow has no bar over a minute that the venue has no candle of, and a gap there', async () => {
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const { series, coverage } = store
  const random = () => 0.5
  const writer = createRowWriter({ store, random, clock, log: createLogger({ level: 'silent' }) })
  const tracker = createCoverageTracker({ feeds: [], coverage, writer })
  const signal = new AbortController().signal
  const parts: SymbolParts = {
    ...{ plan: VENUES['binance-spot'].plan, venue: {} as Venue, symbol: 'BTC', series, writer, tracker },
    ...{ derivatives: undefined, counts: noCounts(), random, clock, signal },
  }
  const prover = { trade() {}, judge: () => ({ kind: 'late', provenMs: 0 }) as const, forget() {} }
  const flow = closeFlow(parts, START_MS, prover, { isWaiting: false })
  await flow.start()
  const at = (minute: number) => START_MS + minute * MINUTE_MS
  const candles = [0, 1, 3, 4, 5, 6, 7, 8, 9].map(
    (minute): Candle => ({
      ...{ openMs: at(minute), open: '1', high: '1', low: '1', close: '1', volume: decimal('2'), count: 2 },
      ...{ quote: decimal('2'), buyVolume: decimal('1'), buyQuote: decimal('1'), buys: null, sells: null },
    }),
  )
  const missing = [{ range: { fromMs: at(2), toMs: at(3) }, reason: 'not_provided' }] as const
  flow.minutes({ good: candles, refused: [] }, missing, START_MS, at(10))
  flow.close(clock.now())
  await writer.flush()
  const feed = feedOf('flow', 'cexa', 'BTC', '5m')
  const range = { fromMs: START_MS, toMs: at(10) }
  const rows = await readRows(store, feed, range)
  assert.deepEqual(
    rows.map(({ timestamp, buy_volume }) => [Date.parse(timestamp), buy_volume]),
    [[at(5), 5]],
  )
  assert.deepEqual(
    (await readGaps(store, feed, range)).map(({ from, to, reason }) => [from, to, reason]),
    [[at(2), at(3), 'not_provided']],
  )
  await writer.close()
  await store.close()
})
