import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { countSentWeight } from './sent-weight.ts'

const WINDOW_MS = 60_000

test('a window with more than the venue allows is an overrun, once', () => {
  const clock = manualClock(10 * WINDOW_MS)
  const sent = countSentWeight({ weight: { limit: 100, windowMs: WINDOW_MS } }, clock)
  for (let i = 0; i < 5; i++) sent.add('weight', 20)
  assert.deepEqual(sent.read(), [{ pool: 'weight', limit: 100, sent: 100, overruns: 0 }])
  sent.add('weight', 1)
  sent.add('weight', 1)
  assert.equal(sent.read()[0]?.overruns, 1)
  clock.advance(WINDOW_MS)
  sent.add('weight', 60)
  sent.add('weight', 60)
  assert.deepEqual(sent.read(), [{ pool: 'weight', limit: 100, sent: 120, overruns: 2 }])
})

test('a single request above the whole budget is none; a second one beside it is', () => {
  const clock = manualClock(0)
  const sent = countSentWeight({ weight: { limit: 100, windowMs: WINDOW_MS } }, clock)
  sent.add('weight', 150)
  assert.equal(sent.read()[0]?.overruns, 0)
  sent.add('weight', 1)
  assert.equal(sent.read()[0]?.overruns, 1)
})
