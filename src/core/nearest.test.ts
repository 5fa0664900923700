import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearest } from './nearest.ts'

test('the nearest word is found in any case, and none where nothing is near', () => {
  const known = ['limit', 'interval', 'symbol', 'include_orderbook']
  assert.equal(nearest('limt', known), 'limit')
  assert.equal(nearest('SYMBOLS', known), 'symbol')
  assert.equal(nearest('intreval', known), 'interval')
  assert.equal(nearest('include_order_book', known), 'include_orderbook')
  assert.equal(nearest('zzzzzzzz', known), undefined)
  assert.equal(nearest('x', []), undefined)
  assert.equal(nearest('a'.repeat(10_000), known), undefined)
})
