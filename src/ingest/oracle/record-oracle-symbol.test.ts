/** What is claimed of the time before the past is known. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { createLogger } from '../../kit/log.ts'
import { chainlinkDescription } from '../../venues/chainlink/describe.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { OracleSymbolRecorder } from './record-oracle-symbol.ts'

const START_MS = Date.parse('2026-11-15T10:00:00Z')
const CHANNEL = 'oracle_rounds:BTC'

test('nothing is claimed while no candle is shown; a connection lost meanwhile is requested from the start on', async (t) => {
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const { coverage } = store
  const log = createLogger({ level: 'silent' })
  const rows = createRowWriter({ store, random: () => 0.5, clock, log })
  t.after(async () => {
    await rows.close()
    await store.close()
  })
  const feed = candleFeed('oracle', 'BTC', '5m')
  const tracker = createCoverageTracker({ feeds: [{ feed, channels: [CHANNEL] }], coverage, writer: rows })
  const requested: HistoryRange[] = []
  const venue: Pick<Venue, 'describe' | 'history'> = {
    describe: chainlinkDescription,
    async *history({ range }) {
      requested.push({ ...range, fromMs: range.fromMs - START_MS, toMs: range.toMs - START_MS })
      yield { observations: [], covered: range, missing: [] }
    },
  }
  const recorder = new OracleSymbolRecorder({
    ...{ venue, symbol: 'BTC', heartbeatMs: 1_000, store, rows, tracker, clock },
    ...{ signal: new AbortController().signal, backMs: 0 },
  })
  const tick = async (ms: number) => {
    clock.set(START_MS + ms)
    recorder.show(clock.now())
    tracker.coverTo(clock.now())
    await rows.flush()
    const { observed } = await coverage.read([feed], START_MS, clock.now() + 1)
    return observed.map(({ from, to }) => [from - START_MS, to - START_MS])
  }
  tracker.up(CHANNEL, START_MS)
  recorder.begins('oracle_rounds', START_MS)
  assert.deepEqual(await tick(5_000), [])
  recorder.gap('oracle_rounds', START_MS + 6_000, Number.POSITIVE_INFINITY)
  tracker.failed(CHANNEL, START_MS + 6_000, 'venue_down')
  recorder.gap('oracle_rounds', Number.NEGATIVE_INFINITY, START_MS + 9_000)
  tracker.up(CHANNEL, START_MS + 9_000)
  assert.deepEqual(await tick(10_000), [])
  await recorder.close(clock.now())
  assert.equal(requested[0]?.toMs, 9_001)
  assert.deepEqual(await tick(20_000), [[0, 20_000]])
})
