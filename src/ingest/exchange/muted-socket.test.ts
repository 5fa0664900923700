/**
 * A venue whose sockets open and send nothing, for longer than it takes to cut them. From the first cut on, no new
 * socket may make the time without data look observed, at any instant at which it could be read.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Recording, startRecording, startWorld, type World } from '../../../test/ingest/recording.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import { type Feed, feedName } from '../../core/feed.ts'
import { feedOf } from '../shared/feeds.ts'

const SECOND_MS = 1_000
const STEP_MS = 200
const MUTED_MS = 210_000
/** Until then the silence may be that of a quiet market; each replaced socket gets half a minute. */
const FOUND_WITHIN_MS = 80_000
const FEEDS: Feed[] = [
  feedOf('trades', 'perpdex', 'BTC'),
  feedOf('ticker', 'cexa_futures', 'BTC'),
  // Liquidations may be silent for any length of time; the silence of their socket counts.
  feedOf('liquidations', 'cexa_futures', 'BTC'),
]

let world: World<PacedClock>
let recording: Recording
let mutedMs = 0

const observedIn = async (feed: Feed, fromMs: number, toMs: number) =>
  (await recording.store.coverage.read([feed], fromMs, toMs)).observed

before(async () => {
  world = await startWorld(pacedClock(Date.parse('2026-11-10T07:52:30Z'), STEP_MS))
  recording = await startRecording(world, { venues: ['futures', 'perp'] })
  await world.clock.runUntil(world.clock.now() + 30 * SECOND_MS)
  mutedMs = world.clock.now()
  for (const venue of ['futures', 'perp'] as const)
    world.sandbox.faults.set({ kind: 'mute', venue, symbol: 'BTC', durationMs: MUTED_MS })
})

after(async () => {
  await recording.close()
  await world.close()
})

test('sockets that send nothing cover nothing, however often they are replaced', async () => {
  const { clock } = world
  await clock.runUntil(mutedMs + FOUND_WITHIN_MS)
  const wrong = new Set<string>()
  for (; clock.now() < mutedMs + MUTED_MS; await clock.runUntil(clock.now() + SECOND_MS))
    for (const feed of FEEDS)
      for (const { from, to } of await observedIn(feed, mutedMs + SECOND_MS, clock.now()))
        wrong.add(`${feedName(feed)} ${(from - mutedMs) / SECOND_MS} to ${(to - mutedMs) / SECOND_MS} s`)
  assert.deepEqual([...wrong], [])
  const { futures, perp } = world.sandbox.state()
  // More than the two sockets and the one socket opened at the start: they were replaced meanwhile.
  assert.ok(futures.connectionsOpened > 2 && perp.connectionsOpened > 1)
})

test('they are covered again with the first data', async () => {
  const { clock } = world
  await clock.runUntil(mutedMs + MUTED_MS + 40 * SECOND_MS)
  for (const feed of FEEDS) {
    const [again] = await observedIn(feed, mutedMs + SECOND_MS, clock.now())
    assert.ok(again !== undefined, feedName(feed))
    const afterMs = again.from - (mutedMs + MUTED_MS)
    assert.ok(afterMs >= 0 && afterMs < 10 * SECOND_MS, `${feedName(feed)}: ${afterMs} ms`)
  }
})
