/** The contract behind a feed is replaced: the new one counts from 1, so no number shows what the old one answered last. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readRows } from '../../../test/predictions/compare.ts'
import { steeredClock } from '../../../test/predictions/paced-clock.ts'
import type { OracleUpdate } from '../../core/oracle-candles.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { createLogger } from '../../kit/log.ts'
import { chainlinkDescription } from '../../venues/chainlink/describe.ts'
import type { OracleRoundObservation } from '../../venues/observation.ts'
import type { HistoryPage, Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { OracleSymbolRecorder } from './record-oracle-symbol.ts'

const START_MS = Date.parse('2026-11-15T10:00:00Z')
const HEARTBEAT_MS = 27_000
const CHANNEL = 'oracle_rounds:BTC'

const round = (phase: bigint, round: bigint, second: number, price: string): OracleRoundObservation => ({
  kind: 'oracle_round',
  source: 'oracle',
  symbol: 'BTC',
  instrument: '',
  venueTimeMs: START_MS + second * 1_000,
  receivedMs: START_MS + second * 1_000,
  key: null,
  roundId: (phase << 64n) | round,
  price,
  updatedMs: START_MS + second * 1_000,
})

/** All of them are on the chain; the two last ones of the old phase are not received. */
const CHAIN = [
  round(6n, 40n, -20, '100'),
  round(6n, 41n, 5, '101'),
  round(6n, 42n, 30, '190'),
  round(6n, 43n, 55, '50'),
  round(7n, 1n, 80, '102'),
  round(7n, 2n, 105, '103'),
]

test('the last rounds of the old phase are requested, and the candle has them', async (t) => {
  const clock = steeredClock(START_MS)
  const log = createLogger({ level: 'silent' })
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const rows = createRowWriter({ store, random: Math.random, clock, log })
  t.after(() => rows.close())
  const feed = candleFeed('oracle', 'BTC', '5m')
  const tracker = createCoverageTracker({
    feeds: [{ feed, channels: [CHANNEL] }],
    coverage: store.coverage,
    writer: rows,
  })
  async function* history({ range }: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    const isInside = ({ updatedMs }: OracleUpdate) =>
      updatedMs >= range.fromMs && updatedMs < Math.min(range.toMs, clock.now() + 1)
    yield { observations: CHAIN.filter(isInside), covered: range, missing: [] }
  }
  const venue: Pick<Venue, 'describe' | 'history'> = { describe: chainlinkDescription, history }
  const recorder = new OracleSymbolRecorder({
    venue,
    symbol: 'BTC',
    heartbeatMs: HEARTBEAT_MS,
    store,
    rows,
    tracker,
    clock,
    signal: new AbortController().signal,
    backMs: 0,
  })
  tracker.up(CHANNEL, START_MS)
  recorder.begins('oracle_rounds', START_MS)
  await recorder.close(START_MS)
  for (const index of [1, 4, 5]) {
    const next = CHAIN[index]
    assert.ok(next)
    await clock.moveTo(next.receivedMs)
    recorder.observe(next)
  }
  await clock.moveTo(START_MS + 400_000)
  recorder.observedTo('oracle_rounds', START_MS + 395_000)
  recorder.show(clock.now())
  tracker.coverTo(START_MS + 390_000)
  await recorder.close(START_MS + 400_000)
  await rows.flush()
  const candles = await readRows<CandleRow>(store, feed, [''], { from: START_MS, to: START_MS + 300_000 })
  assert.deepEqual(
    candles.map(({ open, high, low, close, closed }) => [open, high, low, close, closed]),
    [[101, 190, 50, 103, true]],
  )
  const { gaps } = await store.coverage.read([feed], START_MS, START_MS + 300_000)
  assert.deepEqual(gaps, [])
})
