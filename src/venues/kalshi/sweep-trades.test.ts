import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endsGap, isCurrent, sweepFromMs } from './sweep-trades.ts'

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

test('a volume is current in the list itself, after the close, and five seconds after the planned end', () => {
  const contract = (receivedMs: number, status: 'open' | 'closed') => ({
    receivedMs,
    market: {
      ...({ marketId: 'KXBTC15M-X', source: 'predmkt_b', symbol: 'BTC', active: true } as const),
      status,
      endTime: LISTED_MS - 10_000,
    },
  })
  assert.equal(isCurrent(contract(LISTED_MS, 'open'), LISTED_MS), true)
  assert.equal(isCurrent(contract(LISTED_MS - 30_000, 'open'), LISTED_MS), false, 'of the list before')
  assert.equal(isCurrent(contract(LISTED_MS - 30_000, 'closed'), LISTED_MS), true)
  assert.equal(isCurrent(contract(LISTED_MS - 5_001, 'open'), LISTED_MS), false)
  assert.equal(isCurrent(contract(LISTED_MS - 5_000, 'open'), LISTED_MS), true)
})
