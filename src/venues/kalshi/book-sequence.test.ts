import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterGap, continuityOf, createBookSequence } from './book-sequence.ts'

test('the number after the last one continues; a missing one is a gap; a known one is old', () => {
  assert.equal(continuityOf(undefined, 1), 'first')
  assert.equal(continuityOf(undefined, 2), 'gap', 'the first frame was lost')
  assert.equal(continuityOf(7, 8), 'next')
  assert.equal(continuityOf(7, 9), 'gap')
  assert.equal(continuityOf(7, 7), 'old')
  assert.equal(continuityOf(7, 3), 'old')
})

test('a gap is found once: the frames after it continue, and its late frame is old', () => {
  const sequence = createBookSequence()
  assert.deepEqual(
    [1, 2, 4, 5, 3].map((seq) => sequence(1, seq)),
    ['first', 'next', 'gap', 'next', 'old'],
  )
})

test('every subscription counts for itself', () => {
  const sequence = createBookSequence()
  assert.equal(sequence(1, 1), 'first')
  assert.equal(sequence(2, 1), 'first')
  assert.equal(sequence(1, 2), 'next')
})

test('after a gap the books are requested again; a second gap within a minute costs the socket', () => {
  assert.equal(afterGap(Number.NEGATIVE_INFINITY, 0), 'request books')
  assert.equal(afterGap(0, 59_999), 'drop socket')
  assert.equal(afterGap(0, 60_000), 'request books')
})

test('a number far ahead, or subscriptions without end, cannot be right', () => {
  const sequence = createBookSequence()
  assert.equal(sequence(1, 1), 'first')
  assert.equal(sequence(1, 2 ** 40), 'implausible')
  assert.equal(sequence(1, 2), 'next')
  const verdicts = Array.from({ length: 20_000 }, (_, sid) => sequence(sid + 2, 1))
  assert.equal(verdicts.at(-1), 'implausible')
})
