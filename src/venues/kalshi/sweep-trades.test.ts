import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endsGap, sweepFromMs } from './sweep-trades.ts'

const LISTED_MS = 1_000_000

test('with a socket only a gap is swept, from its start on', () => {
  const state = { isPolling: false, polledMs: 500_000, listedMs: LISTED_MS }
  assert.equal(sweepFromMs({ ...state, gapFromMs: undefined }), undefined)
  assert.equal(sweepFromMs({ ...state, gapFromMs: 900_000 }), 900_000)
})

test('without a socket a sweep begins at the last list, else at the gap, else two lists back', () => {
  const state = { isPolling: true, listedMs: LISTED_MS }
  assert.equal(sweepFromMs({ ...state, polledMs: 970_000, gapFromMs: 900_000 }), 970_000)
  assert.equal(sweepFromMs({ ...state, polledMs: undefined, gapFromMs: 900_000 }), 900_000)
  assert.equal(sweepFromMs({ ...state, polledMs: undefined, gapFromMs: undefined }), LISTED_MS - 60_000)
})

test('a gap ends with the first list that was requested five seconds after it', () => {
  assert.equal(endsGap(undefined, LISTED_MS), false, 'the socket is still lost')
  assert.equal(endsGap(LISTED_MS - 4_999, LISTED_MS), false)
  assert.equal(endsGap(LISTED_MS - 5_000, LISTED_MS), true)
})
