import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { createUptime } from './uptime.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE
const TODAY = Date.UTC(2026, 10, 16)

const settle = () => new Promise((resolve) => setTimeout(resolve, 20))

test('minutes in which the service is ready are marked, others are not, and neither is one after the end', async () => {
  const clock = manualClock(TODAY)
  const store = storesIn(':memory:', clock).accounts()
  const uptime = createUptime({ store, clock })
  let isReady = true
  const stop = uptime.mark(async () => isReady)
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 20_000) {
      clock.advance(20_000)
      await settle()
    }
  }
  await pass(3 * MINUTE)
  isReady = false
  await pass(2 * MINUTE)
  isReady = true
  await pass(MINUTE)
  await stop()
  await pass(4 * MINUTE)
  // 0:00–0:03 up, 0:04 unavailable, 0:05–0:06 up, then nothing.
  const [yesterday, today] = await uptime.days(2)
  assert.equal(yesterday, null)
  assert.equal(today?.minutes, 10)
  assert.ok(today.upMinutes >= 5 && today.upMinutes <= 6, `${today.upMinutes}`)
  await store.close()
})

test('days before the first minute are not known, a whole day away is a day without an answer', async () => {
  const clock = manualClock(TODAY + 10 * MINUTE)
  const store = storesIn(':memory:', clock).accounts()
  for (let minute = 720; minute < 1_440; minute++) await store.markUp(TODAY - 2 * DAY + minute * MINUTE)
  for (let minute = 0; minute <= 10; minute++) await store.markUp(TODAY + minute * MINUTE)
  assert.deepEqual(await createUptime({ store, clock }).days(4), [
    null,
    { upMinutes: 720, minutes: 720 },
    { upMinutes: 0, minutes: 1_440 },
    { upMinutes: 10, minutes: 10 },
  ])
  assert.deepEqual(await createUptime({ store, clock }).days(2), [
    { upMinutes: 0, minutes: 1_440 },
    { upMinutes: 10, minutes: 10 },
  ])
  await store.close()
})
