import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { formatKey, readKey } from './key-format.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const keys = Array.from({ length: 5 }, () => formatKey('test', randomBytes))

test('a key has its prefix, 32 characters and a checksum of 6, and is read again', () => {
  assert.match(formatKey('live', randomBytes), /^svc_live_[0-9A-Za-z]{38}$/)
  assert.deepEqual(readKey(formatKey('live', randomBytes)), { ok: true, environment: 'live' })
  for (const key of keys) assert.deepEqual(readKey(key), { ok: true, environment: 'test' })
})

test('every single wrong character is found', () => {
  for (const key of keys) {
    for (let i = 'svc_test_'.length; i < key.length; i++) {
      for (const letter of BASE62) {
        if (letter === key[i]) continue
        assert.equal(readKey(key.slice(0, i) + letter + key.slice(i + 1)).ok, false)
      }
    }
  }
})

test('every swap of neighbours is found, and a key of the other environment', () => {
  for (const key of keys) {
    for (let i = 'svc_test_'.length; i + 1 < key.length; i++) {
      if (key[i] === key[i + 1]) continue
      assert.equal(readKey(key.slice(0, i) + key[i + 1] + key[i] + key.slice(i + 2)).ok, false)
    }
    assert.equal(readKey(key.replace('test', 'live')).ok, false)
  }
})

test('every character is equally likely', () => {
  const counts = new Map<string, number>()
  for (let i = 0; i < 2_000; i++) {
    for (const letter of formatKey('test', randomBytes).slice(9, 41)) {
      counts.set(letter, (counts.get(letter) ?? 0) + 1)
    }
  }
  const expected = (2_000 * 32) / 62
  for (const letter of BASE62) {
    assert.ok(Math.abs((counts.get(letter) ?? 0) - expected) < expected * 0.2, letter)
  }
})
