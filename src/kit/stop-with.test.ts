import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { stopWith } from './stop-with.ts'

test('is aborted with its parent, for the same reason', () => {
  const parent = new AbortController()
  const own = stopWith(parent.signal)
  assert.equal(own.signal.aborted, false)
  parent.abort(new Error('over'))
  assert.equal(own.signal.aborted, true)
  assert.equal(own.signal.reason, parent.signal.reason)
})

test('is aborted at once if its parent is', () => {
  const parent = AbortSignal.abort('before')
  assert.equal(stopWith(parent).signal.reason, 'before')
})

test('ends alone, and then no longer listens to its parent', () => {
  const parent = new AbortController()
  const own = stopWith(parent.signal)
  own.abort()
  assert.equal(parent.signal.aborted, false)
  assert.equal(getEventListeners(parent.signal, 'abort').length, 0)
})
