import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUILT_IN_PLANS, type Plan } from '../core/plan.ts'
import { DAY_MS } from '../core/time.ts'
import { admitRange } from './plan-gates.ts'

const NOW_MS = Date.UTC(2026, 2, 14)
const [plan] = BUILT_IN_PLANS as readonly [Plan]
const context = { plan, plans: BUILT_IN_PLANS, nowMs: NOW_MS, upgradeUrl: 'https://example.com' }
const startMs = NOW_MS - 7 * DAY_MS
const clamping = { of: 'candles', whenOlder: 'clamp', refusal: 'tier_restricted' } as const
const refusing = { of: 'candles', whenOlder: 'refuse', refusal: 'tier_restricted' } as const

test('a start a moment before the window is served, and an hour before it where a walk goes on', () => {
  for (const [after, graceMs] of [
    [undefined, 60_000],
    ['cursor', 3_600_000],
  ] as const) {
    const inTime = { start: startMs - graceMs, after }
    assert.deepEqual(
      [clamping, refusing].map((history) => admitRange(history, inTime, context).fromMs),
      [startMs - graceMs, startMs - graceMs],
    )
    const tooOld = { start: startMs - graceMs - 1, after }
    const clamped = admitRange(clamping, tooOld, context)
    assert.deepEqual([clamped.fromMs, clamped.clamp?.originalStartMs], [startMs, tooOld.start])
    assert.throws(() => admitRange(refusing, { ...tooOld, end: startMs + DAY_MS }, context), {
      kind: 'tier_restricted',
    })
  }
})
