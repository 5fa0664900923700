import assert from 'node:assert/strict'
import { test } from 'node:test'
import { disableReason, FAILING_LIMIT_MS } from './disable.ts'

test('410 disables at once', () => {
  assert.equal(disableReason({ status: 410, atMs: 0 }, null), 'gone')
})

test('five days of failures disable; a quiet subscription and a shorter failure do not', () => {
  const atMs = 1_800_000_000_000
  assert.equal(disableReason({ status: 500, atMs }, atMs - FAILING_LIMIT_MS), 'failing')
  assert.equal(disableReason({ status: null, atMs }, atMs - FAILING_LIMIT_MS + 1), undefined)
  assert.equal(disableReason({ status: 500, atMs }, null), undefined)
})
