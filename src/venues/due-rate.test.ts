import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FUNDING_LATE_MS, ratesKnownTo } from './due-rate.ts'
import type { FundingObservation } from './observation.ts'
import { VenueError } from './rest/rest-client.ts'

const HOUR_MS = 3_600_000

const rate = (fundingTimeMs: number, receivedMs: number) =>
  ({
    kind: 'funding',
    fundingTimeMs,
    receivedMs,
    nextFundingTimeMs: fundingTimeMs + HOUR_MS,
  }) as FundingObservation

test('rates are known up to one that is due, until it can no longer come', () => {
  const knownTo = (receivedMs: number) => ratesKnownTo([rate(0, receivedMs), rate(HOUR_MS, receivedMs)])
  const dueMs = 2 * HOUR_MS
  assert.equal(knownTo(dueMs - 1), undefined, 'up to the answer')
  assert.equal(knownTo(dueMs), dueMs)
  assert.equal(knownTo(dueMs + FUNDING_LATE_MS - 1), dueMs)
  assert.equal(knownTo(dueMs + FUNDING_LATE_MS), undefined, 'there is none')
})

test('an answer without any rate proves nothing', () => {
  assert.throws(() => ratesKnownTo([]), VenueError)
})
