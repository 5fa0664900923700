import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { createBackfillPace, noPace, whileThereIsRoom } from './backfill-pace.ts'

/** How long a backfill rests on a thread whose timers are this late. */
async function restOf(lateMs: number): Promise<number> {
  let nowMs = 0
  const slept: number[] = []
  const rest = createBackfillPace({
    now: () => nowMs,
    async sleep(ms) {
      nowMs += ms + (slept.length === 0 ? lateMs : 0)
      slept.push(ms)
    },
  })
  await rest(new AbortController().signal)
  return slept.slice(1).reduce((sum, ms) => sum + ms, 0)
}

test('the backfill goes on at once on a machine that keeps up, and rests the longer the later its timers are', async () => {
  assert.deepEqual([await restOf(0), await restOf(25), await restOf(40)], [0, 0, 0])
  assert.equal(await restOf(100), 500)
  assert.equal(await restOf(300), 1_500)
})

test('however busy the machine is, the backfill goes on in the end', async () => {
  assert.equal(await restOf(60_000), 2_000)
})

test('while the disk is nearly full the backfill waits, what live data waits for apart, and goes on when there is room', async () => {
  const clock = manualClock(0)
  let isLow = true
  let isOn = false
  const pace = whileThereIsRoom(noPace, clock, () => isLow)
  const going = pace(new AbortController().signal).then(() => {
    isOn = true
  })
  clock.advance(60_000)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isOn, false)
  await pace(new AbortController().signal, true)
  isLow = false
  clock.advance(5_000)
  await going
  const stopped = new AbortController()
  isLow = true
  const waiting = pace(stopped.signal)
  stopped.abort()
  await assert.rejects(waiting)
})
