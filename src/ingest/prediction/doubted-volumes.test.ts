import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DoubtedVolumes } from './doubted-volumes.ts'

const MINUTE_MS = 60_000
const NOW_MS = Date.parse('2026-11-15T10:00:00Z')

/** How many successive answers, a minute apart, are doubted. */
function doubted(volumes: DoubtedVolumes, lacking: number, fromMs: number, volume = 100): number {
  let answers = 0
  while (answers < 100 && volumes.isDoubted('a', lacking, volume, fromMs + answers * MINUTE_MS)) answers += 1
  return answers
}

test('an answer that lacks trades is believed after half an hour of such answers, and then until more is lacking', () => {
  const volumes = new DoubtedVolumes()
  assert.equal(doubted(volumes, 10, NOW_MS), 30)
  assert.equal(doubted(volumes, 10, NOW_MS + 40 * MINUTE_MS), 0)
  assert.ok(doubted(volumes, 11, NOW_MS + 41 * MINUTE_MS) > 20)
})

test('time without answers is no proof, and trades that make up the figure end the doubt', () => {
  const volumes = new DoubtedVolumes()
  assert.equal(volumes.isDoubted('a', 10, 100, NOW_MS), true)
  assert.equal(volumes.isDoubted('a', 10, 100, NOW_MS + 50 * MINUTE_MS), true)
  for (let minute = 51; minute < 70; minute += 1)
    assert.equal(volumes.isDoubted('a', 10, 100, NOW_MS + minute * MINUTE_MS), true)
  volumes.settled('a')
  assert.equal(doubted(volumes, 10, NOW_MS + 70 * MINUTE_MS), 30)
})

test('a doubted market is requested less and less often, at least every two minutes', () => {
  const volumes = new DoubtedVolumes()
  const requested: number[] = []
  for (let second = 0; second < 600; second += 15) {
    const nowMs = NOW_MS + second * 1_000
    if (volumes.isTooEarly('a', nowMs)) continue
    requested.push(second)
    volumes.isDoubted('a', 10, 100, nowMs)
  }
  assert.deepEqual(requested, [0, 15, 30, 60, 120, 240, 360, 480])
})

test('a market is believed while no larger part of its volume is lacking, also after less of it was', () => {
  const volumes = new DoubtedVolumes()
  assert.equal(doubted(volumes, 10, NOW_MS), 30)
  assert.equal(doubted(volumes, 20, NOW_MS + 31 * MINUTE_MS, 200), 0)
  assert.equal(doubted(volumes, 4, NOW_MS + 32 * MINUTE_MS, 200), 0)
  assert.equal(doubted(volumes, 10, NOW_MS + 33 * MINUTE_MS, 200), 0)
  assert.ok(doubted(volumes, 20, NOW_MS + 34 * MINUTE_MS, 200) > 20)
})

test('where nothing at all is received, more of it is doubted again', () => {
  const volumes = new DoubtedVolumes()
  assert.equal(doubted(volumes, 100, NOW_MS), 30)
  assert.equal(doubted(volumes, 100, NOW_MS + 31 * MINUTE_MS), 0)
  assert.ok(doubted(volumes, 200, NOW_MS + 32 * MINUTE_MS, 200) > 20)
})
