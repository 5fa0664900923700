/** The venue's clock is ahead of ours: what it sent before we subscribed is not observed, whatever its timestamp. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readGaps, readRows } from '../../../test/ingest/compare.ts'
import { type Recording, startRecording, startWorld, type World } from '../../../test/ingest/recording.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import { feedOf } from '../shared/feeds.ts'

const AHEAD_MS = 1_500
/** We subscribe this long before the liquidation's time; the venue, being ahead, has already sent it. */
const SUBSCRIBED_BEFORE_MS = 1_000
const START_MS = Date.parse('2026-11-10T00:02:10Z')
const feed = feedOf('liquidations', 'cexa_futures', 'BTC')

let world: World<PacedClock>
let recording: Recording
let liquidatedMs = 0

before(async () => {
  world = await startWorld(pacedClock(START_MS, 100))
  const { clock, sandbox } = world
  const [first] = sandbox.truth.liquidations('BTC', START_MS + 5_000, START_MS + 60_000)
  liquidatedMs = first?.timeMs ?? 0
  sandbox.faults.set({ kind: 'skew', venue: 'futures', offsetMs: AHEAD_MS, durationMs: 300_000 })
  await clock.runUntil(liquidatedMs - SUBSCRIBED_BEFORE_MS)
  recording = await startRecording(world, { venues: ['futures'] })
  await clock.runUntil(liquidatedMs + 60_000)
})

after(async () => {
  await recording.close()
  await world.close()
})

test('a liquidation that was sent before the subscription, with a later time, lies in a gap', async () => {
  assert.ok(liquidatedMs > START_MS)
  const around = { fromMs: liquidatedMs, toMs: liquidatedMs + 1 }
  assert.deepEqual(await readRows(recording.store, feed, around), [])
  assert.equal((await readGaps(recording.store, feed, around)).length, 1)
  const later = { fromMs: liquidatedMs + AHEAD_MS, toMs: liquidatedMs + 50_000 }
  assert.deepEqual(await readGaps(recording.store, feed, later), [])
  assert.ok((await readRows(recording.store, feed, later)).length > 0)
})
