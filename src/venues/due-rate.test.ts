import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FUNDING_LATE_MS, ratesKnownTo } from './due-rate.ts'
import type { FundingObservation } from './observation.ts'
import { VenueError } from './rest/rest-client.ts'

const HOUR_MS = 3_600_000

const rate = (fundingTimeMs: number, receivedMs: number, periodMs = HOUR_MS) =>
  ({
    kind: 'funding',
    fundingTimeMs,
    receivedMs,
    nextFundingTimeMs: fundingTimeMs + periodMs,
  }) as FundingObservation

test('rates are known up to one that is due, until it can no longer come', () => {
  const knownTo = (receivedMs: number) => ratesKnownTo([rate(0, receivedMs), rate(HOUR_MS, receivedMs)])
  const dueMs = 2 * HOUR_MS
  assert.equal(knownTo(dueMs - 1), undefined, 'up to the answer')
  assert.equal(knownTo(dueMs), dueMs)
  assert.equal(knownTo(dueMs + FUNDING_LATE_MS - 1), dueMs)
  assert.equal(knownTo(dueMs + FUNDING_LATE_MS), undefined, 'there is none')
})

test('at the beginning of an hour a rate may be settled and not published, whatever the period was', () => {
  const knownTo = (receivedMs: number) => ratesKnownTo([rate(0, receivedMs, 8 * HOUR_MS)])
  const hourMs = 4 * HOUR_MS
  assert.equal(knownTo(hourMs - 1), undefined)
  assert.deepEqual([knownTo(hourMs), knownTo(hourMs + 59_999)], [hourMs, hourMs])
  assert.equal(knownTo(hourMs + 60_000), undefined)
  assert.equal(knownTo(5_000), undefined, 'its rate is there')
})

test('an answer without any rate proves nothing', () => {
  assert.throws(() => ratesKnownTo([]), VenueError)
})
