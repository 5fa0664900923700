/** A symbol that falls mute on a healthy socket: its prints are not claimed, and come back with what REST tells. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PacedClock, pacedClock } from '../../test/predictions/paced-clock.ts'
import {
  type PredictionsRecording,
  type PredictionsWorld,
  startPredictionsRecording,
  startPredictionsWorld,
} from '../../test/predictions/recording.ts'
import type { Gap } from '../store/coverage.ts'
import { feedOf } from './plans.ts'

const START_MS = Date.parse('2026-11-15T10:01:00Z')
const MUTE_MS = START_MS + 40_000
const MUTE_END_MS = MUTE_MS + 60_000
const TRADES = feedOf('trades', 'predmkt_a', 'BTC')

let world: PredictionsWorld<PacedClock>
let recording: PredictionsRecording
let gapsMeanwhile: Gap[] = []

before(async () => {
  world = await startPredictionsWorld(pacedClock(START_MS, 200), { slotMs: 1_000 })
  const { clock, sandbox } = world
  recording = await startPredictionsRecording(world, { venues: ['polymarket'], symbols: ['BTC'] })
  await clock.runUntil(MUTE_MS)
  sandbox.faults.set({
    kind: 'mute',
    venue: 'polymarket',
    symbol: 'BTC',
    durationMs: MUTE_END_MS - MUTE_MS,
  })
  await clock.runUntil(MUTE_END_MS)
  gapsMeanwhile = (await recording.store.coverage.read([TRADES], START_MS + 20_000, MUTE_END_MS - 5_000)).gaps
})

after(async () => {
  if (recording !== undefined) await world.clock.during(recording.close())
  await world?.close()
})

test('while the symbol is mute, the coverage of its prints has a gap from the first moment on', () => {
  const [first] = gapsMeanwhile
  assert.ok(first !== undefined && first.from <= MUTE_MS + 1_000, JSON.stringify(gapsMeanwhile))
  assert.ok(first.from >= MUTE_MS - 16_000 && gapsMeanwhile.at(-1)?.to === MUTE_END_MS - 5_000)
})
