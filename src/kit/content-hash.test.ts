import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentHash } from './content-hash.ts'

const LENGTHS = [0, 1, 31, 32, 4_096, 21_845, 21_846, 65_536, 65_537, 200_000]

test('text, its bytes and its bytes in parts have one hash, whatever their length', () => {
  for (const length of LENGTHS) {
    const text = 'prix: 1,25 € — '.repeat(Math.ceil(length / 15)).slice(0, length)
    const bytes = Buffer.from(text)
    const hash = contentHash(text)
    assert.match(hash, /^[0-9a-f]{32}$/)
    assert.equal(contentHash(bytes), hash, `${length} characters`)
    const middle = Math.floor(bytes.length / 3)
    assert.equal(contentHash([bytes.subarray(0, middle), bytes.subarray(middle)]), hash)
  }
})

test('one changed bit anywhere gives another hash', () => {
  const seen = new Set<string>()
  const bytes = Buffer.alloc(70_000, 'a row of a page,')
  seen.add(contentHash(bytes))
  let changes = 0
  for (let at = 0; at < bytes.length; at += 997) {
    for (const bit of [0, 5]) {
      bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
      seen.add(contentHash(bytes))
      bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
      changes += 1
    }
  }
  assert.equal(seen.size, changes + 1)
})

test('it is the published hash, with two seeds', () => {
  // XXH64 of the empty input, from its specification.
  assert.equal(contentHash('').slice(0, 16), 'ef46db3751d8e999')
})
