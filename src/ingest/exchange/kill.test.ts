/** After any number of kills, what a recorder stored is true, and what it missed is a gap. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { type FollowedProcess, startFollowed } from '../../../test/followed-process.ts'
import { compareAll, readGaps, readRows } from '../../../test/ingest/compare.ts'
import { startWorld, type World } from '../../../test/ingest/recording.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import { feedName } from '../../core/feed.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'

const MINUTE_MS = 60_000
const isLong = process.env.TAPELINE_SOAK !== undefined
const KILLS = isLong ? 20 : 2
/** The clock advances in steps of this length, and waits for everything that happens in a step. */
const STEP_MS = 200
/**
 * Frames arrive in the step in which they are sent, answers in one of the next steps, because two processes take turns.
 */
const SLACK_MS = 3 * STEP_MS
/** Shortly after midnight, so that little of the day has to be requested. */
const START_MS = Date.parse('2026-11-10T00:02:10Z')
const DAY_START_MS = Date.parse('2026-11-10T00:00:00Z')
const PROCESS = join(import.meta.dirname, '../../../test/ingest/record-process.ts')

let world: World<PacedClock>
let store: EnvironmentStore
let folder: string
let range = { fromMs: 0, toMs: 0 }
/** The times from each kill to the next start. */
const downs: { fromMs: number; toMs: number }[] = []

function startRecorder(): Promise<FollowedProcess> {
  const { spot, futures, perp } = world.sandbox
  return startFollowed(world.clock, PROCESS, {
    sandbox: { spot, futures, perp },
    folder,
    backfillFromMs: DAY_START_MS,
  })
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapeline-kill-'))
  world = await startWorld(pacedClock(START_MS, STEP_MS))
  const { clock } = world
  let random = 12345
  const draw = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31
    return random % below
  }
  for (let kill = 0; kill < KILLS; kill++) {
    const recorder = await startRecorder()
    if (kill === 0) {
      // The first kill comes only after every channel has sent something.
      range = { fromMs: Math.ceil((clock.now() + 20_000) / MINUTE_MS) * MINUTE_MS, toMs: 0 }
      await clock.runUntil(range.fromMs + 20_000)
    }
    await clock.runUntil(clock.now() + 8_000 + draw(isLong ? 44_000 : 22_000))
    await recorder.kill(draw(20))
    const killedMs = clock.now()
    await clock.runUntil(killedMs + 5_000 + draw(10_000))
    downs.push({ fromMs: killedMs, toMs: clock.now() })
  }
  const recorder = await startRecorder()
  range = { ...range, toMs: Math.ceil((clock.now() + 30_000) / MINUTE_MS) * MINUTE_MS }
  await clock.runUntil(range.toMs + 60_000)
  await recorder.stop()
  store = await storesIn(folder, clock).environment('test')
})

after(async () => {
  await store?.close()
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

for (const venue of ['spot', 'futures', 'perp'] as const) {
  test(`${venue}: after ${KILLS} kills rows and gaps together are exactly what happened`, async () => {
    const subject = { store, truth: world.sandbox.truth, venue, symbol: 'BTC', range } as const
    assert.deepEqual(await compareAll({ ...subject, slackMs: SLACK_MS }), [])
  })
}

test('the backfill closed every gap that the venues can close', async () => {
  const feeds = [
    ...(['cexa', 'cexa_futures', 'perpdex'] as const).flatMap((source) =>
      (['1m', ...COARSE_INTERVALS] as const).map((interval) => candleFeed(source, 'BTC', interval)),
    ),
    candleFeed('cexa', 'BTC', '1s'),
    candleFeed('cexa_futures', 'BTC', '1s'),
    ...COARSE_INTERVALS.map((interval) => feedOf('flow', 'cexa', 'BTC', interval)),
  ]
  for (const feed of feeds) assert.deepEqual(await readGaps(store, feed, range), [], JSON.stringify(feed))
})

test('the time between a kill and the next start is a gap in what cannot be requested again', async () => {
  assert.equal(downs.length, KILLS)
  const feeds = [
    feedOf('ticker', 'cexa', 'BTC'),
    feedOf('ticker', 'cexa_futures', 'BTC'),
    feedOf('liquidations', 'cexa_futures', 'BTC'),
    feedOf('snapshots', 'perpdex', 'BTC'),
    ...COARSE_INTERVALS.map((interval) => feedOf('open_interest', 'perpdex', 'BTC', interval)),
    feedOf('trades', 'perpdex', 'BTC'),
  ]
  for (const feed of feeds) {
    const gaps = await readGaps(store, feed, range)
    assert.ok(gaps.every((gap) => gap.reason === 'not_observed'))
    for (const down of downs) {
      const isGap = gaps.some((gap) => gap.from <= down.fromMs && gap.to >= down.toMs)
      const what = `${feedName(feed)} ${down.fromMs} to ${down.toMs}: ${JSON.stringify(gaps)}`
      // The venue sends its last trades to a new subscriber, and its candles may prove parts of a minute.
      assert.ok(isGap || (feed.dataset === 'trades' && (await hasOtherTrades(down, gaps))), what)
    }
  }
})

/** Whether every trade outside the gaps is stored. */
async function hasOtherTrades(
  down: { fromMs: number; toMs: number },
  gaps: readonly { from: number; to: number }[],
): Promise<boolean> {
  const isOutside = (timeMs: number) => !gaps.some(({ from, to }) => timeMs >= from && timeMs < to)
  const rows = await readRows(store, feedOf('trades', 'perpdex', 'BTC'), down)
  const stored = rows.filter(({ timestamp }) => isOutside(Date.parse(timestamp)))
  const trades = world.sandbox.truth.trades('perp', 'BTC', down.fromMs, down.toMs)
  return stored.length === trades.filter((trade) => isOutside(trade.timeMs)).length
}

test('no closed row was rewritten by a restart', async () => {
  const feeds = (await store.series.feeds({})).map(({ feed }) => feed)
  const revisions = await store.series.revisions({
    feeds,
    range: { from: 0, to: Number.MAX_SAFE_INTEGER },
    limit: 10,
  })
  assert.deepEqual(
    revisions.map(({ text }) => text),
    [],
  )
})
