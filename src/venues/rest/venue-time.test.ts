import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { createVenueTime } from './venue-time.ts'

const NOW = Date.parse('2026-03-14T12:00:00Z')
const { signal } = new AbortController()

test('the time of the venue is kept for a minute', async () => {
  const clock = manualClock(NOW)
  let asked = 0
  const time = createVenueTime({
    clock,
    askVenue: async () => ({ venueMs: clock.now() + 700 + 1_000 * asked++, roundTripMs: 0 }),
  })
  assert.equal(await time.now(signal), NOW + 700)
  clock.advance(60_000)
  assert.equal(await time.now(signal), NOW + 60_700)
  clock.advance(1)
  assert.equal(await time.now(signal), NOW + 60_001 + 1_700)
})

test('a clock that was set is compared with that of the venue again', async () => {
  const manual = manualClock(NOW)
  let setMs = 0
  const clock = { ...manual, now: () => manual.now() + setMs, elapsed: () => manual.now() - NOW }
  const time = createVenueTime({ clock, askVenue: async () => ({ venueMs: manual.now(), roundTripMs: 0 }) })
  for (const stepMs of [0, 30_000, -600_000, 0]) {
    setMs = stepMs
    manual.advance(1_000)
    assert.equal(await time.now(signal), manual.now(), `set by ${stepMs} ms`)
  }
})

test('a time that is none of now is refused, shown to the operator, and asked for again', async () => {
  const clock = manualClock(NOW)
  let venueMs = NOW
  const time = createVenueTime({ clock, askVenue: async () => ({ venueMs, roundTripMs: 10 }) })
  for (const wrong of [NOW / 1_000, NOW * 1_000, 0, -1, NOW + 7_200_000, NOW - 86_400_000, Number.NaN]) {
    venueMs = wrong
    await assert.rejects(time.now(signal), /the venue's time is .* ms from ours/, String(wrong))
    assert.equal((await time.request(signal)).venueMs, wrong)
  }
  venueMs = NOW + 1_000
  assert.equal(await time.now(signal), NOW + 1_005)
})
