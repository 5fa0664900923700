/** A contract behind the feed that is exchanged: the new one counts from 1, and no number tells what the old one said last. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { steeredClock } from '../../../test/predictions/paced-clock.ts'
import type { OracleUpdate } from '../../core/oracle-candles.ts'
import type { CandleRow } from '../../core/rows/candle.ts'
import { createLogger } from '../../kit/log.ts'
import { openSqliteEnvironment } from '../../store/sqlite/environment.ts'
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

const told = (phase: bigint, round: bigint, second: number, price: string): OracleRoundObservation => ({
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

/** On the chain all of them; the two last ones of the old phase are not heard. */
const CHAIN = [
  told(6n, 40n, -20, '100'),
  told(6n, 41n, 5, '101'),
  told(6n, 42n, 30, '190'),
  told(6n, 43n, 55, '50'),
  told(7n, 1n, 80, '102'),
  told(7n, 2n, 105, '103'),
]

test('what the old phase said last is asked for, and the candle has it', async (t) => {
  const clock = steeredClock(START_MS)
  const log = createLogger({ level: 'silent' })
  const store = await openSqliteEnvironment({ file: ':memory:', clock })
  t.after(() => store.close())
  const rows = createRowWriter({ store, clock, log })
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
    const round = CHAIN[index]
    assert.ok(round)
    await clock.moveTo(round.receivedMs)
    recorder.observe(round)
  }
  await clock.moveTo(START_MS + 400_000)
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
