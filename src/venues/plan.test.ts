import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRetention } from '../core/retention.ts'
import { VENUES } from './list.ts'
import { MAX_FIRST_FILL_DAYS, withinDays } from './plan.ts'

const DAY_MS = 86_400_000

test('a first backfill of fewer days reaches back so far in every step, and is otherwise the same', () => {
  for (const { plan } of Object.values(VENUES)) {
    assert.equal(withinDays(plan, MAX_FIRST_FILL_DAYS), plan)
    const short = withinDays(plan, 2)
    if (plan.kind !== 'exchange' || short.kind !== 'exchange') {
      assert.equal(short, plan)
      continue
    }
    assert.ok(plan.backfill.some(({ backMs }) => backMs > 2 * DAY_MS))
    for (const [index, step] of short.backfill.entries())
      assert.deepEqual(
        { ...step, backMs: 0, shortened: step.backMs <= 2 * DAY_MS },
        { ...plan.backfill[index], backMs: 0, shortened: true },
      )
  }
})

test('what retention would delete again is not requested', () => {
  const { plan } = VENUES.hyperliquid
  assert.equal(plan.kind, 'exchange')
  const rules = parseRetention('candles.1m=10d,*=365d')
  assert.ok(!('fault' in rules))
  const short = withinDays(plan, MAX_FIRST_FILL_DAYS, rules)
  for (const [index, step] of short.backfill.entries()) {
    const before = plan.backfill[index]?.backMs ?? 0
    const isShorter = step.kind === 'candles' && [step.interval, ...step.rollUp].includes('1m')
    assert.equal(step.backMs, isShorter ? Math.min(before, 9 * DAY_MS) : before, step.kind)
  }
  assert.notDeepEqual(short, plan)
})
