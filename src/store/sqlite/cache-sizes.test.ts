import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allCacheBytes, DEFAULT_CACHE_MB } from './cache-sizes.ts'

test('all caches of an environment together take no more than the memory for caches, and nearly all of it', () => {
  for (const cacheMb of [16, 100, DEFAULT_CACHE_MB, 65_536]) {
    const share = allCacheBytes(cacheMb) / (cacheMb * 1024 * 1024)
    assert.ok(share > 0.95 && share <= 1, `${share} of ${cacheMb} MB`)
  }
})
