import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lru } from './lru.ts'

test('the least recently used entry is evicted first, and the newest always fits', () => {
  const lru = new Lru<string, number>({ maxEntries: 2 })
  lru.set('a', 1)
  lru.set('b', 2)
  assert.equal(lru.get('a'), 1)
  lru.set('c', 3)
  assert.deepEqual([lru.get('a'), lru.get('b'), lru.get('c')], [1, undefined, 3])
  lru.set('d', 4)
  assert.equal(lru.get('d'), 4, 'also when everything else was used')
  assert.equal(lru.size, 2)
})

test('weight is bounded too; an entry above the bound is not stored', () => {
  const lru = new Lru<string, string>({ maxEntries: 100, maxWeight: 10, weigh: (text) => text.length })
  lru.set('a', 'aaaa')
  lru.set('b', 'bbbb')
  lru.set('c', 'cccc')
  assert.deepEqual([lru.get('a'), lru.get('b'), lru.get('c')], [undefined, 'bbbb', 'cccc'])
  lru.set('b', 'b')
  assert.equal(lru.weight, 5)
  lru.set('big', 'x'.repeat(11))
  assert.equal(lru.get('big'), undefined)
  assert.equal(lru.size, 2)
  lru.delete('b')
  lru.clear()
  assert.deepEqual([lru.size, lru.weight], [0, 0])
})

test('a thousand random uses never exceed the bounds, and a hot entry stays', () => {
  const lru = new Lru<number, number>({ maxEntries: 50 })
  lru.set(-1, -1)
  for (let i = 0; i < 1_000; i++) {
    assert.equal(lru.get(-1), -1)
    lru.set(i, i)
    assert.ok(lru.size <= 50)
  }
})
