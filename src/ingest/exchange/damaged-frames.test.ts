import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareBooks } from '../../../test/ingest/compare-quotes.ts'
import { readGaps } from '../../../test/ingest/read-feed.ts'
import { startRecording, startWorld } from '../../../test/ingest/recording.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import { feedOf } from '../shared/feeds.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')
const STEP_MS = 200
/** The venue sends a whole book this often. */
const BOOK_MS = 5_400

test('a book that cannot be read leaves a gap up to the next one, in which the one before is not in force', async (t) => {
  const world = await startWorld(pacedClock(START_MS, STEP_MS))
  const recording = await startRecording(world, { venues: ['perp'] })
  t.after(async () => {
    await recording.close()
    await world.close()
  })
  const { clock, sandbox } = world
  const about = { store: recording.store, truth: sandbox.truth, venue: 'perp', symbol: 'BTC' } as const
  let fromMs = START_MS + 30_000
  for (const kind of ['malformed', 'unfit-value', 'wrong-time'] as const) {
    await clock.runUntil(fromMs + 10_000)
    sandbox.faults.set({ kind, venue: 'perp', symbol: 'BTC', channel: 'l2Book', count: 1 })
    const range = { fromMs, toMs: fromMs + 30_000 }
    await clock.runUntil(range.toMs + 10_000)
    assert.deepEqual(await compareBooks({ ...about, range, slackMs: 2 * STEP_MS }), [], kind)
    const gaps = await readGaps(recording.store, feedOf('snapshots', 'perpdex', 'BTC'), range)
    const lostMs = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0)
    assert.ok(lostMs >= BOOK_MS && lostMs < 3 * BOOK_MS, `${kind}: a gap of ${lostMs} ms`)
    fromMs = range.toMs + 10_000
  }
})

test('open interest at a grid point is a gap if the figure before it could not be read', async (t) => {
  const gridMs = START_MS + 300_000
  const world = await startWorld(pacedClock(gridMs - 60_000, STEP_MS))
  const recording = await startRecording(world, { venues: ['perp'] })
  t.after(async () => {
    await recording.close()
    await world.close()
  })
  const { clock, sandbox } = world
  await clock.runUntil(gridMs - 1_500)
  sandbox.faults.set({ kind: 'malformed', venue: 'perp', symbol: 'BTC', channel: 'activeAssetCtx', count: 1 })
  await clock.runUntil(gridMs + 20_000)
  const feed = feedOf('open_interest', 'perpdex', 'BTC', '5m')
  const gaps = await readGaps(recording.store, feed, { fromMs: gridMs - 30_000, toMs: gridMs + 10_000 })
  assert.ok(
    gaps.some(({ from, to }) => from <= gridMs && to > gridMs),
    JSON.stringify(gaps),
  )
  assert.ok(
    gaps.every(({ from, to }) => from > gridMs - 5_000 && to < gridMs + 5_000),
    JSON.stringify(gaps),
  )
})
