import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecentKeys, createSeenNumbers } from './repeats.ts'

test('a repeat within the remembered span is recognised, in whatever order it comes', () => {
  const keys = createRecentKeys<number>(100)
  for (let id = 0; id < 1_000; id++) {
    assert.ok(keys.isNew(id))
    assert.ok(!keys.isNew(id))
    if (id >= 99) assert.ok(!keys.isNew(id - 99), 'the last hundred are remembered')
  }
  assert.ok(keys.isNew(5), 'what is long gone is forgotten')
})

test('a number is new once, whether it came in order or filled a gap', () => {
  const { isNew } = createSeenNumbers(10)
  const brought = [5, 6, 6, 9, 8, 8, 7, 5, 10, 7]
  assert.deepEqual(brought.map(isNew), [true, true, false, true, true, false, true, false, true, false])
})

test('of a wide gap the newest numbers are remembered', () => {
  const { isNew } = createSeenNumbers(3)
  isNew(1)
  assert.equal(isNew(100), true)
  assert.deepEqual([96, 97, 99, 99].map(isNew), [false, true, true, false])
})
