import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTime } from '../../../core/time.ts'
import type { Gap } from '../../../store/coverage.ts'
import { coverageMeta } from './coverage-meta.ts'

const SECOND = 1_000
const NOW = Date.UTC(2026, 5, 10, 12)
const FROM = NOW - 60 * SECOND

/** A page whose last `gapMs` before `toMs` were not observed. */
function metaOf(asked: { gapMs: number; toMs?: number; endMs?: number; others?: Gap[] }) {
  const { gapMs, toMs = NOW, endMs, others = [] } = asked
  const tail: Gap = { source: 'cexa', from: toMs - gapMs, to: toMs, reason: 'not_observed' }
  const coverage = { complete: false, observed: [], gaps: [...others, tail] }
  return coverageMeta(coverage, { from: FROM, to: toMs }, { nowMs: NOW, endMs })
}

test('without an end, or with one in the future, a page covers the time before rows that are not written yet', () => {
  for (const endMs of [undefined, NOW + SECOND]) {
    const { to, complete, gaps } = metaOf({ gapMs: 8 * SECOND, ...(endMs ? { endMs } : {}) })
    assert.deepEqual([to, complete, gaps], [formatTime(NOW - 8 * SECOND), true, []])
  }
  const long = metaOf({ gapMs: 16 * SECOND })
  assert.deepEqual([long.to, long.complete, long.gaps.length], [formatTime(NOW), false, 1])
})

test('a gap before an end in the past is named, however new it is', () => {
  const endMs = NOW - 2 * SECOND
  const meta = metaOf({ gapMs: 3 * SECOND, toMs: endMs, endMs })
  assert.deepEqual([meta.to, meta.complete, meta.gaps.length], [formatTime(endMs), false, 1])
  assert.equal(metaOf({ gapMs: 3 * SECOND, endMs }).complete, false)
  // The candle that contains the end is still open, but the requested time is covered.
  const open = metaOf({ gapMs: SECOND, endMs })
  assert.deepEqual([open.to, open.complete], [formatTime(NOW - SECOND), true])
})

test('gaps of other sources end with the time that the page covers', () => {
  const others: Gap[] = [
    { source: 'perpdex', from: NOW - 40 * SECOND, to: NOW, reason: 'venue_down' },
    { source: 'perpdex', from: NOW - 2 * SECOND, to: NOW, reason: 'venue_down' },
  ]
  const { to, gaps } = metaOf({ gapMs: 5 * SECOND, others })
  assert.deepEqual(
    gaps.map((gap) => [gap.source, gap.from, gap.to]),
    [['perpdex', formatTime(NOW - 40 * SECOND), to]],
  )
})
