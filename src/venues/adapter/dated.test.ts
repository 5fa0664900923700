import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dated } from './dated.ts'

test('a message is read by the version of its own time, from the exact moment of the cut', () => {
  const at = dated(
    'first',
    { from: '2026-04-23T00:00:00Z', use: 'second' },
    { from: '2026-06-30T00:00:00Z', use: 'third' },
  )
  const cut = Date.parse('2026-04-23T00:00:00Z')
  assert.deepEqual([0, cut - 1, cut, Date.parse('2026-06-30T00:00:00Z'), 4e12].map(at), [
    'first',
    'first',
    'second',
    'third',
    'third',
  ])
})

test('versions out of order, or without a readable date, are refused', () => {
  assert.throws(
    () => dated(1, { from: '2026-02-01T00:00:00Z', use: 2 }, { from: '2026-01-01T00:00:00Z', use: 3 }),
    RangeError,
  )
  assert.throws(() => dated(1, { from: 'some day', use: 2 }), RangeError)
})
