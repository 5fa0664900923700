import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecentKeys } from './recent-keys.ts'

test('a repeat within the remembered span is recognised, in whatever order it comes', () => {
  const keys = createRecentKeys<number>(100)
  for (let id = 0; id < 1_000; id++) {
    assert.ok(keys.isNew(id))
    assert.ok(!keys.isNew(id))
    if (id >= 99) assert.ok(!keys.isNew(id - 99), 'the last hundred are remembered')
  }
  assert.ok(keys.isNew(5), 'what is long gone is forgotten')
})
