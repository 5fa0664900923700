import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../kit/clock.ts'
import { createSignInGuard } from './sign-in-guard.ts'

test('sign-in is at once for the first failures, then ever slower, then refused until the window is over', async () => {
  const clock = manualClock(1_000_000)
  const guard = createSignInGuard(clock)
  const waitOf = async () => {
    const startMs = clock.now()
    let done = false
    const asked = guard.before('a@example.com', '192.0.2.1').then((refusedFor) => {
      done = true
      return refusedFor
    })
    await new Promise(setImmediate)
    while (!done) {
      clock.advance(50)
      await new Promise(setImmediate)
    }
    return (await asked) === undefined ? clock.now() - startMs : 'refused'
  }
  const waits: (number | string)[] = []
  for (let i = 0; i < 21; i++) {
    waits.push(await waitOf())
    guard.failed('A@example.com', '192.0.2.1')
  }
  assert.deepEqual(waits.slice(0, 9), [0, 0, 0, 250, 500, 1000, 2000, 4000, 4000])
  assert.equal(waits[20], 'refused')
  assert.equal(await guard.before('b@example.com', '192.0.2.2'), undefined, 'others are not slowed')
  clock.advance(15 * 60_000)
  assert.equal(await waitOf(), 0)
})

test('a success forgets the failures of the person', async () => {
  const clock = manualClock(0)
  const guard = createSignInGuard(clock)
  for (let i = 0; i < 4; i++) guard.failed('a@example.com', '192.0.2.1')
  guard.succeeded('a@example.com')
  assert.equal(await guard.before('a@example.com', '192.0.2.1'), undefined)
})
