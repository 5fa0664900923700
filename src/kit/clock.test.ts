import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock, timerMs } from './clock.ts'
import { createWake } from './wake.ts'
import { watchClock } from './watch-clock.ts'

const YEAR_MS = 365 * 86_400_000
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('a sleep of years does not end at once, and ends with its signal', async () => {
  for (const ms of [2 ** 31, 3 * YEAR_MS, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]) {
    const stop = new AbortController()
    let ended = false
    const sleeping = systemClock.sleep(ms, stop.signal).then(
      () => {
        ended = true
      },
      () => {},
    )
    await pause(30)
    assert.equal(ended, false, `${ms}`)
    stop.abort()
    await sleeping
  }
  const startedMs = performance.now()
  await systemClock.sleep(25)
  assert.ok(performance.now() - startedMs >= 24)
  for (const ms of [-YEAR_MS, Number.NaN, 0]) await systemClock.sleep(ms)
})

test('a timer of many years does not fire early', async () => {
  const stop = new AbortController()
  let ended = false
  const waiting = createWake(systemClock)
    .wait(3 * YEAR_MS, stop.signal)
    .then(() => {
      ended = true
    })
  await pause(30)
  assert.equal(ended, false)
  stop.abort()
  await waiting
})

test('rings while a woken loop gathers count as one with the ring that woke it', async () => {
  const { signal } = new AbortController()
  const wake = createWake(systemClock)
  wake.ring()
  await wake.wait(1_000, signal)
  wake.ring()
  const gathering = wake.gather(10, signal)
  wake.ring()
  await gathering
  const startedMs = performance.now()
  await wake.wait(30, signal)
  assert.ok(performance.now() - startedMs >= 28)
})

test('every delay fits into a timer', () => {
  assert.deepEqual([-1, 0, 5, 2 ** 31 - 1, 2 ** 31, Number.POSITIVE_INFINITY, Number.NaN].map(timerMs), [
    0,
    0,
    5,
    2 ** 31 - 1,
    2 ** 31 - 1,
    2 ** 31 - 1,
    1,
  ])
})

test('a clock jump is reported once, with its size; small corrections are not', async () => {
  let offsetMs = 0
  const jumps: number[] = []
  const watch = watchClock({
    clock: { ...systemClock, now: () => performance.now() + offsetMs },
    everyMs: 2,
    // Rounded because the two clocks are read one after the other.
    onJump: (byMs) => jumps.push(Math.round(byMs / 1_000) * 1_000),
  })
  for (const stepMs of [5_000, 5_000, -8_000, 10_000, 10_000, 10_000]) {
    offsetMs += stepMs
    await pause(10)
  }
  assert.deepEqual(jumps, [])
  for (const stepMs of [3 * 3_600_000, -3 * YEAR_MS, 3 * YEAR_MS, 60_000]) {
    const { length } = jumps
    offsetMs += stepMs
    while (jumps.length === length) await pause(2)
  }
  watch.close()
  offsetMs += YEAR_MS
  await pause(10)
  assert.deepEqual(jumps, [3 * 3_600_000, -3 * YEAR_MS, 3 * YEAR_MS, 60_000])
})
