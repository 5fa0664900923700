import assert from 'node:assert/strict'
import { test } from 'node:test'
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
