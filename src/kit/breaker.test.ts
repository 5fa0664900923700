import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { createBreaker } from './breaker.ts'

const policy = { failures: 3, openMs: 1_000, maxOpenMs: 3_000 }

test('opens after that many failures in a row, not after scattered ones', () => {
  const breaker = createBreaker(policy, manualClock(0))
  for (let i = 0; i < 10; i++) {
    breaker.failure()
    breaker.failure()
    breaker.success()
  }
  assert.equal(breaker.state(), 'closed')
  for (let i = 0; i < 3; i++) breaker.failure()
  assert.equal(breaker.state(), 'open')
  assert.equal(breaker.tryEnter(), false)
})

test('after the wait one trial goes through: success closes, failure doubles the wait up to the cap', () => {
  const clock = manualClock(0)
  const breaker = createBreaker(policy, clock)
  for (let i = 0; i < 3; i++) breaker.failure()
  for (const waitMs of [1_000, 2_000, 3_000, 3_000]) {
    clock.advance(waitMs - 1)
    assert.equal(breaker.state(), 'open')
    clock.advance(1)
    assert.equal(breaker.state(), 'half_open')
    assert.equal(breaker.tryEnter(), true)
    assert.equal(breaker.tryEnter(), false)
    breaker.failure()
  }
  clock.advance(3_000)
  assert.equal(breaker.tryEnter(), true)
  breaker.release()
  assert.equal(breaker.tryEnter(), true)
  breaker.success()
  assert.equal(breaker.state(), 'closed')
})

test('the wait does not become longer if the system clock is set back', () => {
  const time = manualClock(0)
  let setMs = 0
  const breaker = createBreaker(policy, { ...time, now: () => time.now() + setMs, elapsed: () => time.now() })
  for (let i = 0; i < 3; i++) breaker.failure()
  setMs = -3_600_000
  assert.equal(breaker.state(), 'open')
  time.advance(1_000)
  assert.equal(breaker.state(), 'half_open')
})
