import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Gap, GapReason } from '../store/coverage.ts'
import { stripOf } from './dashboard-status.ts'

const HALF_HOUR = 1_800_000
const FROM = Date.UTC(2026, 5, 10)

/** A gap from one half hour of the strip to another, both counted from its beginning. */
const gap = (from: number, to: number, reason: GapReason = 'not_observed'): Gap => ({
  from: FROM + from * HALF_HOUR,
  to: FROM + to * HALF_HOUR,
  source: 'cexa',
  reason,
})
const strip = (...gaps: Gap[]) => stripOf({ gaps, observed: [], complete: gaps.length === 0 }, FROM)

test('a day without gaps is 48 half hours that were observed in full', () => {
  assert.deepEqual(strip(), new Array(48).fill(1))
})

test('a gap lowers the share of exactly the half hours it lies in', () => {
  const parts = strip(gap(10.25, 12.5), gap(20, 20.05, 'venue_down'))
  const changed = parts.flatMap((share, index) => (share === 1 ? [] : [[index, share]]))
  assert.deepEqual(changed, [
    [10, 0.25],
    [11, 0],
    [12, 0.5],
    [20, 0.95],
  ])
})

test('gaps of several feeds that overlap are counted once', () => {
  assert.equal(strip(gap(3, 3.4), gap(3.2, 3.5), gap(3.3, 3.35))[3], 0.5)
})

test('what lies before the first record, or is not provided, is no hole', () => {
  const parts = strip(gap(0, 5.5, 'before_start'), gap(7, 8, 'not_provided'))
  assert.deepEqual(parts.slice(0, 9), [null, null, null, null, null, 1, 1, null, 1])
})
