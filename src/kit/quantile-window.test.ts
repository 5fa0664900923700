import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createQuantileWindow } from './quantile-window.ts'

test('the quantile is that of the last samples, and unknown while they are few', () => {
  const window = createQuantileWindow(100, 10)
  for (let i = 0; i < 9; i++) window.add(1)
  assert.equal(window.quantile(0.95), undefined)
  for (let i = 1; i <= 100; i++) window.add(i)
  assert.equal(window.quantile(0.95), 96)
  assert.equal(window.quantile(1), 100)
  for (let i = 0; i < 100; i++) window.add(5)
  assert.equal(window.quantile(0.95), 5)
})
