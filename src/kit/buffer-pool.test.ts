import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bufferPool } from './buffer-pool.ts'

test('a released buffer is reused; two in use are never the same', () => {
  const pool = bufferPool({ bytes: 64, most: 1 })
  const first = pool.take(10)
  const second = pool.take(64)
  assert.ok(first && second && first !== second)
  assert.equal(pool.take(65), undefined)
  pool.give(first)
  pool.give(second)
  assert.equal(pool.take(1), first)
  assert.notEqual(pool.take(1), second, 'only so many are kept')
})
