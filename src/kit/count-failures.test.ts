import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from './clock.ts'
import { countFailures } from './count-failures.ts'

test('what fails every two seconds is said at once, and then once a minute with its number', () => {
  let nowMs = 0
  const clock: Clock = { now: () => nowMs, sleep: async () => {} }
  const failed = countFailures(clock)
  const said: [number, number][] = []
  for (nowMs = 0; nowMs <= 121_000; nowMs += 2_000) {
    const failures = failed()
    if (failures > 0) said.push([nowMs, failures])
  }
  assert.deepEqual(said, [
    [0, 1],
    [60_000, 30],
    [120_000, 30],
  ])
})
