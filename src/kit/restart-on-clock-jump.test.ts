/** When the clock jumps, the service is restarted on its port, logs one line, and can be stopped at any time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from './clock.ts'
import { createLogger } from './log.ts'
import { restartOnClockJump } from './restart-on-clock-jump.ts'

const HOUR_MS = 3_600_000
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function rig(options: { startMs?: number; fails?: boolean } = {}) {
  const state = { offsetMs: 0, running: 0, most: 0, starts: 0, ports: [] as number[], lines: [] as string[] }
  const start = async (port: number) => {
    state.starts++
    state.ports.push(port)
    await pause(options.startMs ?? 1)
    if (options.fails && state.starts > 1) throw new Error('no')
    state.running++
    state.most = Math.max(state.most, state.running)
    let stopped = false
    return {
      url: 'http://127.0.0.1:4321',
      failed: new Promise<string>(() => {}),
      stop: async () => {
        await pause(5)
        if (!stopped) state.running--
        stopped = true
        return { clean: true, failures: [] }
      },
    }
  }
  const log = createLogger({ level: 'info', write: (line) => void state.lines.push(line) })
  const open = async () =>
    restartOnClockJump({
      ...{ first: await start(0), startAgain: start, log, lookEveryMs: 2 },
      clock: { ...systemClock, now: () => performance.now() + state.offsetMs },
    })
  return { state, open }
}

test('each jump, forward or back, restarts the service on the same port and logs one line', async () => {
  const { state, open } = rig()
  const kept = await open()
  for (const byMs of [3 * HOUR_MS, 26_280 * HOUR_MS, -26_283 * HOUR_MS]) {
    const { starts } = state
    state.offsetMs += byMs
    while (state.starts === starts || state.running === 0) await pause(5)
  }
  assert.equal(state.running, 1)
  assert.equal(state.most, 1, 'never two at once')
  assert.deepEqual(state.ports, [0, 4321, 4321, 4321])
  assert.deepEqual(
    state.lines.map((line) => JSON.parse(line).by),
    ['3 hours forward', '3 years forward', '3 years back'],
  )
  assert.deepEqual(await kept.stop(), { clean: true, failures: [] })
  assert.equal(state.running, 0)
})

test('a clock that jumps while the service starts again is not missed', async () => {
  const { state, open } = rig({ startMs: 60 })
  const kept = await open()
  state.offsetMs += HOUR_MS
  await pause(30)
  state.offsetMs -= HOUR_MS
  while (state.starts < 3 || state.running === 0) await pause(5)
  await pause(50)
  assert.equal(state.starts, 3)
  assert.equal(state.running, 1)
  state.offsetMs += HOUR_MS
  await pause(10)
  await kept.stop()
  assert.equal(state.running, 0, 'a stop in the middle of it leaves nothing running')
})

test('a service that cannot be restarted has failed', async () => {
  const { state, open } = rig({ fails: true })
  const kept = await open()
  state.offsetMs += HOUR_MS
  assert.match(await kept.failed, /no/)
  assert.equal(state.lines.filter((line) => line.includes('"level":60')).length, 1)
  await kept.stop()
})
