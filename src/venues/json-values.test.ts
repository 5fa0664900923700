import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countValues, hasTooManyValues } from './json-values.ts'

test('values are counted without reading them, never too few', () => {
  for (const value of [
    [],
    {},
    [1, [2, 3], { a: { b: 4 }, c: '5,6' }],
    Array.from({ length: 99 }, () => ({})),
  ]) {
    const text = JSON.stringify(value)
    let objects = 0
    JSON.parse(text, (_key, part) => {
      if (typeof part === 'object') objects++
      return part
    })
    assert.ok(countValues(Buffer.from(text)) >= objects, text)
  }
  assert.equal(hasTooManyValues(Buffer.from(`[${'{},'.repeat(300_000)}{}]`)), true)
  assert.equal(hasTooManyValues(Buffer.from(`[${'{},'.repeat(200_000)}{}]`)), false)
})
