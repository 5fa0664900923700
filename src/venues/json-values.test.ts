import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countValues, hasTooManyValues, isFrameTooLarge } from './json-values.ts'

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

test('a frame may have fewer values and bytes than an answer, but two hundred full books fit', () => {
  const level = { price: '0.01', size: '1000000.000001' }
  const book = { event_type: 'book', asset_id: '9'.repeat(77), bids: Array.from({ length: 99 }, () => level) }
  assert.equal(isFrameTooLarge(Buffer.from(JSON.stringify(Array.from({ length: 200 }, () => book)))), false)
  assert.equal(isFrameTooLarge(Buffer.from(`[${'{},'.repeat(60_000)}{}]`)), true)
  assert.equal(isFrameTooLarge(Buffer.from(`"${'x'.repeat(4 * 1024 * 1024)}"`)), true)
})
