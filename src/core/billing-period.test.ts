import assert from 'node:assert/strict'
import { test } from 'node:test'
import { billingPeriod } from './billing-period.ts'

const period = (now: string, day: number) => {
  const { startMs, endMs } = billingPeriod(Date.parse(now), day)
  return [startMs, endMs].map((ms) => new Date(ms).toISOString().slice(0, 10))
}

test('a period runs from billing day to billing day, at midnight UTC', () => {
  assert.deepEqual(period('2026-03-14T00:00:00Z', 14), ['2026-03-14', '2026-04-14'])
  assert.deepEqual(period('2026-03-13T23:59:59.999Z', 14), ['2026-02-14', '2026-03-14'])
  assert.deepEqual(period('2026-01-01T00:00:00Z', 15), ['2025-12-15', '2026-01-15'])
})

test('a day that a short month lacks is its last day', () => {
  assert.deepEqual(period('2026-02-10T00:00:00Z', 31), ['2026-01-31', '2026-02-28'])
  assert.deepEqual(period('2026-02-28T00:00:00Z', 31), ['2026-02-28', '2026-03-31'])
  assert.deepEqual(period('2028-02-28T12:00:00Z', 30), ['2028-01-30', '2028-02-29'])
  assert.deepEqual(period('2026-04-30T00:00:00Z', 31), ['2026-04-30', '2026-05-31'])
})

test('periods follow each other without gap or overlap, for every billing day', () => {
  for (let day = 1; day <= 31; day++) {
    let now = Date.UTC(2025, 0, 1)
    for (let i = 0; i < 40; i++) {
      const current = billingPeriod(now, day)
      assert.ok(current.startMs <= now && now < current.endMs)
      assert.deepEqual(billingPeriod(current.endMs - 1, day), current)
      assert.equal(billingPeriod(current.endMs, day).startMs, current.endMs)
      now = current.endMs
    }
  }
})
