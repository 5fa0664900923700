import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_RETRY_AFTER_MS, RETRY_DELAYS_MS, readRetryAfter, retryDelayMs } from './schedule.ts'

const NOW_MS = Date.parse('2026-03-14T04:00:00.000Z')

test('retries come after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, and then no more', () => {
  const seconds = RETRY_DELAYS_MS.map(
    (_, index) => (retryDelayMs(index + 1, undefined, () => 0.5) ?? 0) / 1000,
  )
  assert.deepEqual(seconds, [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000])
  assert.equal(
    retryDelayMs(8, undefined, () => 0.5),
    undefined,
  )
})

test('the jitter is 20 % to either side', () => {
  assert.equal(
    retryDelayMs(1, undefined, () => 0),
    4_000,
  )
  assert.equal(
    retryDelayMs(1, undefined, () => 1),
    6_000,
  )
})

test('Retry-After delays a retry, up to ten hours, and never brings it forward', () => {
  assert.equal(
    retryDelayMs(1, 60_000, () => 0.5),
    60_000,
  )
  assert.equal(
    retryDelayMs(2, 1_000, () => 0.5),
    300_000,
  )
  assert.equal(
    retryDelayMs(1, 99 * 3_600_000, () => 0.5),
    MAX_RETRY_AFTER_MS,
  )
})

test('the schedule counts from the beginning of an attempt, Retry-After from its answer', () => {
  const tookMs = 12_000
  assert.equal(
    retryDelayMs(2, undefined, () => 0.5, { tookMs }),
    288_000,
  )
  assert.equal(
    retryDelayMs(1, 10_000, () => 0.5, { tookMs }),
    10_000,
  )
  assert.equal(
    retryDelayMs(1, undefined, () => 0.5, { tookMs }),
    0,
  )
})

test('Retry-After is read as seconds and as a date; anything else is ignored', () => {
  const longest = readRetryAfter('99999999999999999999', NOW_MS)
  assert.equal(
    retryDelayMs(1, longest, () => 0.5),
    MAX_RETRY_AFTER_MS,
    'however many digits it has',
  )
  assert.equal(readRetryAfter('120', NOW_MS), 120_000)
  assert.equal(readRetryAfter('Sat, 14 Mar 2026 04:01:00 GMT', NOW_MS), 60_000)
  assert.equal(readRetryAfter('Saturday, 14-Mar-26 04:01:00 GMT', NOW_MS), 60_000)
  assert.equal(readRetryAfter('Sat Mar 14 04:01:00 2026', NOW_MS), 60_000)
  assert.equal(readRetryAfter('Sat, 14 Mar 2026 03:00:00 GMT', NOW_MS), 0)
  for (const odd of [undefined, '', '-5', 'soon', '1e9', 'Saturday 14 March']) {
    assert.equal(readRetryAfter(odd, NOW_MS), undefined)
  }
})
