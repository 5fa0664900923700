import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeenNumbers } from './seen-numbers.ts'

test('a number is new once, whether it came in order or filled a hole', () => {
  const { isNew } = createSeenNumbers(10)
  const brought = [5, 6, 6, 9, 8, 8, 7, 5, 10, 7]
  assert.deepEqual(brought.map(isNew), [true, true, false, true, true, false, true, false, true, false])
})

test('of a wide hole the newest numbers are remembered', () => {
  const { isNew } = createSeenNumbers(3)
  isNew(1)
  assert.equal(isNew(100), true)
  assert.deepEqual([96, 97, 99, 99].map(isNew), [false, true, true, false])
})
