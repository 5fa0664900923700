import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import type { Clock } from '../kit/clock.ts'
import type { FetchInit } from './rest/http.ts'
import { createVenueClock, MAX_STANDSTILL_MS } from './venue-clock.ts'

const START_MS = Date.UTC(2026, 5, 1)
const TEN_MINUTES_MS = 600_000
const INIT: FetchInit = { method: 'GET', headers: {}, signal: new AbortController().signal }

/** A machine whose wall clock can be set, and a venue whose clock is right. */
function world(wallErrorMs = 0) {
  const time = manualClock(START_MS)
  const machine = { wallErrorMs, suspendedMs: 0, venueErrorMs: 0 }
  const clock: Clock = {
    now: () => time.now() + machine.wallErrorMs,
    elapsed: () => time.now() - START_MS - machine.suspendedMs,
    sleep: time.sleep,
  }
  const venue = createVenueClock({ clock, uptime: () => time.now() - START_MS })
  async function* body() {
    yield Buffer.from('{}')
  }
  const answer = async (headers: Record<string, string>) => ({
    status: 500,
    headers: { get: (name: string) => headers[name] ?? null },
    body: body(),
  })
  /** Requests an answer with this round trip; the venue dates it in the middle. */
  async function ask(roundTripMs = 40, more: Record<string, string> = {}) {
    const fetch = venue.through(async () => {
      time.advance(roundTripMs / 2)
      const date = new Date(time.now() + machine.venueErrorMs).toUTCString()
      time.advance(roundTripMs / 2)
      return answer({ date, ...more })
    })
    return fetch('http://venue', INIT)
  }
  /** Learns from many answers, at all phases of a second. */
  async function settle() {
    for (let count = 0; count < 40; count++) {
      await ask()
      time.advance(137)
    }
  }
  const errorMs = () => venue.now() - time.now()
  return { time, machine, venue, ask, settle, errorMs }
}

test('before the first answer the time is not known; any answer makes it known, whatever its status', async () => {
  const { venue, ask } = world()
  assert.equal(venue.isKnown, false)
  await ask()
  assert.equal(venue.isKnown, true)
  await venue.whenKnown
})

test('a first answer that is hours from the wall clock is believed only with others that agree with it', async () => {
  for (const wrongMs of [48 * 3_600_000, -2 * 3_600_000]) {
    const { venue, ask, machine, errorMs } = world()
    machine.venueErrorMs = wrongMs
    await ask()
    assert.equal(venue.isKnown, false, 'one wrong date')
    machine.venueErrorMs = 0
    await ask()
    assert.deepEqual([venue.isKnown, errorMs()], [true, 0])
    const other = world(wrongMs)
    await other.ask()
    await other.ask()
    assert.equal(other.venue.isKnown, false)
    await other.ask()
    assert.equal(other.venue.isKnown, true, 'the wall clock is wrong')
    assert.ok(Math.abs(other.errorMs()) <= 1_000)
  }
})

test('a wall clock that the venue agrees with is followed exactly', async () => {
  const { settle, errorMs, machine } = world(300)
  await settle()
  assert.equal(errorMs(), 300)
  // The wall clock is corrected step by step, as NTP does.
  while (machine.wallErrorMs > 0) {
    machine.wallErrorMs -= 50
    await settle()
  }
  assert.equal(errorMs(), 0)
})

for (const stepMs of [TEN_MINUTES_MS, -TEN_MINUTES_MS, 1_500, -1_500])
  test(`a wall clock that is set by ${stepMs / 1_000} s moves nothing`, async () => {
    const { settle, errorMs, machine } = world()
    await settle()
    machine.wallErrorMs = stepMs
    assert.equal(errorMs(), 0)
    await settle()
    assert.equal(errorMs(), 0)
    machine.wallErrorMs = 0
    await settle()
    assert.equal(errorMs(), 0)
  })

for (const wrongMs of [TEN_MINUTES_MS, -TEN_MINUTES_MS])
  test(`a wall clock that is ${wrongMs / 1_000} s off from the start is not used`, async () => {
    const { ask, settle, errorMs } = world(wrongMs)
    await ask()
    assert.ok(Math.abs(errorMs()) <= 540, `${errorMs()} ms off`)
    await settle()
    assert.ok(Math.abs(errorMs()) <= 100, `${errorMs()} ms off`)
  })

test('one answer with a wrong date, or one from a cache, changes nothing; a venue that goes on in another time is followed', async () => {
  const { ask, settle, errorMs, machine } = world()
  await settle()
  machine.venueErrorMs = 3_600_000
  await ask()
  assert.equal(errorMs(), 0)
  for (let count = 0; count < 5; count++) await ask(40, { age: '7' })
  assert.equal(errorMs(), 0)
  await settle()
  assert.ok(Math.abs(errorMs() - 3_600_000) <= 100, `${errorMs()} ms off`)
})

test('slow answers prove too little to move a known time', async () => {
  const { ask, settle, errorMs, machine } = world()
  await settle()
  machine.venueErrorMs = 3_600_000
  for (let count = 0; count < 5; count++) await ask(4_000)
  assert.equal(errorMs(), 0)
})

test('a process that stood still is noticed before anybody reads the time, and what it received meanwhile is spoiled', async () => {
  const { time, venue, ask, settle, errorMs } = world()
  await settle()
  const end = venue.watch()
  const standstills: number[] = []
  const forget = venue.onStandstill((ms) => standstills.push(ms))
  for (let second = 0; second < 60; second++) {
    time.advance(1_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.deepEqual(standstills, [])
  const before = await ask()
  let woken = false
  void venue.sleep(1_000).then(() => {
    woken = true
  })
  time.advance(60_000)
  assert.equal(errorMs(), 0)
  assert.equal(standstills.length, 1)
  assert.ok((standstills[0] ?? 0) > MAX_STANDSTILL_MS)
  await assert.rejects(Array.fromAsync(before.body ?? []), /stood still/)
  // A sleeper resumes only after the consequences of the standstill have happened.
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(woken, false)
  time.advance(1_000)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(woken, true)
  forget()
  end()
})

test('a suspended machine is a standstill too, and its time goes on where the venue is', async () => {
  const { time, machine, venue, settle, errorMs } = world()
  await settle()
  const end = venue.watch()
  const standstills: number[] = []
  venue.onStandstill((ms) => standstills.push(ms))
  machine.suspendedMs = 3_600_000
  time.advance(3_600_000)
  assert.equal(errorMs(), 0)
  assert.deepEqual(standstills, [3_600_000])
  await settle()
  assert.equal(errorMs(), 0)
  // Setting the clock is not a standstill.
  machine.wallErrorMs = TEN_MINUTES_MS
  venue.now()
  assert.equal(standstills.length, 1)
  end()
})

test('answers that contradict each other outweigh nothing, however many they are', async () => {
  const { ask, settle, errorMs, machine } = world()
  await settle()
  for (let count = 1; count <= 6; count++) {
    machine.venueErrorMs = count * TEN_MINUTES_MS
    await ask()
  }
  assert.equal(errorMs(), 0)
})

test('two clocks that run apart a little do not contradict each other after a long silence', async () => {
  const { time, ask, settle, errorMs, machine } = world()
  await settle()
  time.advance(86_400_000)
  machine.venueErrorMs = 5_000
  await ask()
  assert.ok(Math.abs(errorMs() - 5_000) <= 1_000, `${errorMs()} ms`)
})
