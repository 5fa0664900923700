import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { createLogger } from '../../kit/log.ts'
import { createVenueClock } from '../../venues/venue-clock.ts'
import { keepTime } from './keep-time.ts'
import type { Recorder } from './recorder.ts'

function world() {
  const clock = manualClock(Date.UTC(2026, 5, 1))
  const time = createVenueClock({ clock })
  const state = { isReachable: false, asked: 0, runs: 0 }
  const lines: string[] = []
  const log = createLogger({ level: 'warn', write: (line) => void lines.push(line) })
  const fetch = time.through(async () => {
    state.asked += 1
    if (!state.isReachable) throw new TypeError('fetch failed')
    return { status: 503, headers: { get: () => new Date(clock.now()).toUTCString() }, body: null }
  })
  const recorder = {
    name: 'a venue',
    run: (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        state.runs += 1
        signal.addEventListener('abort', () => resolve(), { once: true })
      }),
  } as Recorder
  const venue = {
    async check({ signal }: { signal: AbortSignal }) {
      const ok = await fetch('http://venue', { method: 'GET', headers: {}, signal }).then(
        () => true,
        () => false,
      )
      return { venue: 'a venue', ok, line: ok ? 'reachable' : 'the name could not be resolved' }
    },
  }
  async function pass(ms: number) {
    for (let left = ms; left > 0; left -= 500) {
      clock.advance(500)
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { clock, state, lines, pass, kept: keepTime(recorder, { time, venue, random: () => 0.5, log }) }
}

test('nothing is recorded until the venue has answered anything', async () => {
  const { state, lines, pass, kept } = world()
  const stop = new AbortController()
  const running = kept.run(stop.signal)
  await pass(120_000)
  // Once, with what the check of the venue found.
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).why),
    ['the name could not be resolved'],
  )
  assert.equal(state.runs, 0)
  assert.ok(state.asked > 3 && state.asked < 60, `asked ${state.asked} times`)
  state.isReachable = true
  await pass(20_000)
  assert.equal(state.runs, 1)
  stop.abort()
  await running
})

test('a venue that answers nothing else is asked every few minutes', async () => {
  const { clock, state, pass, kept } = world()
  state.isReachable = true
  const stop = new AbortController()
  const running = kept.run(stop.signal)
  await pass(1_000)
  assert.equal(state.asked, 1)
  await pass(1_800_000)
  assert.ok(state.asked >= 5 && state.asked <= 8, `asked ${state.asked} times`)
  stop.abort()
  await running
  assert.equal(clock.sleepers, 0)
})

test('a recorder that is stopped before the time is known ends', async () => {
  const { clock, state, pass, kept } = world()
  const stop = new AbortController()
  const running = kept.run(stop.signal)
  await pass(5_000)
  stop.abort()
  await running
  assert.equal(state.runs, 0)
  assert.equal(clock.sleepers, 0)
})
