import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ActiveCounts } from './active-counts.ts'

test('each owner is counted apart, until its release and not beyond', () => {
  const counts = new ActiveCounts<string>()
  const first = counts.add('a')
  const second = counts.add('a', 3)
  counts.add('b')
  assert.deepEqual([counts.of('a'), counts.of('b'), counts.of('c')], [4, 1, 0])
  first()
  first()
  assert.equal(counts.of('a'), 3)
  second()
  assert.deepEqual([counts.of('a'), counts.of('b')], [0, 1])
})
