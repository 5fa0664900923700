/** Nodes that do not agree on a round of the past: that stretch is a gap until they do, and no bar over it is closed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pacedClock } from '../../test/predictions/paced-clock.ts'
import { HEARTBEAT_MS, startPredictionsWorld } from '../../test/predictions/recording.ts'
import { openVenue } from '../app/open-venue.ts'
import { sandboxPredictions } from '../app/predictions.ts'
import { createLogger } from '../kit/log.ts'
import { openSqliteEnvironment } from '../store/sqlite/environment.ts'
import type { HistoryPage, Venue } from '../venues/venue.ts'
import { candleFeed } from './plans.ts'
import { recordOracle } from './record-oracle.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-15T10:01:00Z')
const LOST = { fromMs: Date.parse('2026-11-15T09:52:00Z'), toMs: Date.parse('2026-11-15T09:53:00Z') }
const FEED = candleFeed('oracle', 'BTC', '5m')

/** The venue's own pages, without what it does not stand for at present. */
function doubting(venue: Venue, isDoubted: () => boolean): Venue {
  async function* history(...asked: Parameters<Venue['history']>): AsyncGenerator<HistoryPage> {
    for await (const page of venue.history(...asked)) {
      const { covered } = page
      if (!isDoubted() || covered === null) yield page
      else {
        const isLost = (timeMs: number) => timeMs >= LOST.fromMs && timeMs < LOST.toMs
        const observations = page.observations.filter(({ venueTimeMs }) => !isLost(venueTimeMs))
        yield { ...page, observations, covered: { fromMs: covered.fromMs, toMs: LOST.fromMs } }
        yield { observations: [], covered: { fromMs: LOST.toMs, toMs: covered.toMs }, missing: [] }
      }
    }
  }
  return { ...venue, history }
}

test('only what is covered is observed; once the nodes agree the stretch is asked for again', async (t) => {
  const { clock, sandbox, close } = await startPredictionsWorld(pacedClock(START_MS, 500), { slotMs: 60_000 })
  t.after(close)
  const setting = sandboxPredictions({ ready: true, ...sandbox }).find(({ name }) => name === 'chainlink')
  assert.ok(setting)
  const store = await openSqliteEnvironment({ file: ':memory:', clock })
  t.after(() => store.close())
  let isDoubted = true
  const recorder = recordOracle({
    venue: doubting(openVenue(setting, clock), () => isDoubted),
    heartbeatMs: HEARTBEAT_MS,
    store,
    clock,
    log: createLogger({ level: 'silent' }),
    symbols: ['BTC'],
    backMs: 15 * MINUTE_MS,
  })
  const stop = new AbortController()
  const running = recorder.run(stop.signal)
  await clock.runUntil(START_MS + MINUTE_MS)
  const gapsOf = async () =>
    (await store.coverage.read([FEED], START_MS - 10 * MINUTE_MS, START_MS - MINUTE_MS)).gaps
  const doubted = await gapsOf()
  isDoubted = false
  await clock.runUntil(START_MS + 2 * MINUTE_MS)
  const agreed = await gapsOf()
  stop.abort()
  await clock.during(running)
  assert.deepEqual(
    doubted.map(({ from, to }) => ({ fromMs: from, toMs: to })),
    [LOST],
  )
  assert.deepEqual(agreed, [])
})
