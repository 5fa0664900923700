/**
 * Rounds that the recorder did not receive are requested, and only those on which the nodes agree count as observed.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { compareClosedOracle } from '../../../test/predictions/compare-oracle.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import { startPredictionsRecording, startPredictionsWorld } from '../../../test/predictions/recording.ts'
import { candleFeed } from '../shared/feeds.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const FEED = candleFeed('oracle', 'BTC', '5m')
const at = (text: string) => Date.parse(`2026-11-15T${text}:00Z`)

async function startWorld(startMs: number, folder: string) {
  const world = await startPredictionsWorld(pacedClock(startMs, 1_000), { slotMs: 60_000 })
  const record = () =>
    startPredictionsRecording(world, {
      venues: ['chainlink'],
      symbols: ['BTC'],
      folder,
      oracleBackMs: 10 * MINUTE_MS,
    })
  return { ...world, record }
}

function newFolder(t: { after: (work: () => void) => void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-oracle-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('after an outage of more than a day every round of it is requested', async (t) => {
  const folder = newFolder(t)
  const first = await startWorld(at('10:01'), folder)
  const before = await first.record()
  await first.clock.runUntil(at('10:08'))
  await first.clock.during(before.close())
  await first.close()
  const backMs = at('10:08') + 27 * HOUR_MS
  const second = await startWorld(backMs, folder)
  t.after(() => second.close())
  const recording = await second.record()
  await second.clock.runUntil(backMs + 8 * MINUTE_MS)
  await second.clock.during(recording.stop())
  const range = { fromMs: at('10:00'), toMs: backMs + 5 * MINUTE_MS }
  const { gaps } = await recording.store.coverage.read([FEED], range.fromMs, range.toMs)
  const wrong = await compareClosedOracle(recording.store, second.sandbox.truth, '5m', range)
  await recording.close()
  assert.deepEqual(gaps, [])
  assert.deepEqual(wrong.slice(0, 5), [])
})

test('a start while the chain has halted observes nothing beyond its newest round', async (t) => {
  const world = await startWorld(at('10:01'), newFolder(t))
  t.after(() => world.close())
  const { clock, sandbox } = world
  await clock.runUntil(at('10:02'))
  sandbox.faults.set({ kind: 'chain-halt', venue: 'ethereum', durationMs: 8 * MINUTE_MS })
  await clock.runUntil(at('10:08'))
  const recording = await world.record()
  await clock.runUntil(at('10:09'))
  const halted = await recording.store.coverage.read([FEED], at('10:03'), at('10:08'))
  await clock.runUntil(at('10:14'))
  await clock.during(recording.stop())
  const later = await recording.store.coverage.read([FEED], at('10:03'), at('10:05'))
  await recording.close()
  assert.deepEqual(halted.observed, [])
  assert.deepEqual(later.gaps, [], 'a newer round proves that there was none')
})
