import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from './budget.ts'

const START_MS = Date.UTC(2026, 2, 14)
const KEPT = { release: false, surrender: false }

function openBudget() {
  const budget = new Budget({
    ...{ id: 'a/test', accountId: 'a', initialLimit: 1_000, billingDay: 1, nowMs: START_MS },
  })
  /** The store's answer to the request in flight. */
  const grant = (granted: number, used: number, sentAtMs = START_MS) =>
    budget.granted(
      {
        ...{ id: budget.id, periodStartMs: budget.period.startMs, limit: 1_000, used, granted },
        ...{ heldByOthers: 0, wantedByOthers: false },
      },
      sentAtMs,
    )
  return { budget, grant }
}

test('what is spent while the store answers is taken off the lease that it grants', () => {
  const { budget, grant } = openBudget()
  budget.request(0, KEPT)
  grant(100, 0)
  assert.equal(budget.request(0, KEPT).keep, 100)
  budget.spend(60, START_MS)
  grant(100, 0)
  assert.deepEqual([budget.canSpend(41, START_MS), budget.canSpend(40, START_MS)], [false, true])
  assert.equal(budget.used, 60)
})

test('a lease is used for two seconds after it was requested, and no longer', () => {
  const { budget, grant } = openBudget()
  budget.request(0, KEPT)
  grant(100, 0)
  assert.equal(budget.canSpend(1, START_MS + 1_999), true)
  assert.equal(budget.canSpend(1, START_MS + 2_000), false)
})

test('a balance that is read while charges are on their way does not count them twice', () => {
  const { budget, grant } = openBudget()
  budget.request(0, KEPT)
  grant(100, 0)
  budget.spend(100, START_MS)
  budget.request(0, KEPT)
  budget.read({ limit: 1_000, used: 100 }, START_MS + 50)
  assert.equal(budget.used, 100)
  grant(0, 100, START_MS + 60)
  assert.equal(budget.used, 100)
  budget.read({ limit: 1_000, used: 40 }, START_MS + 50)
  assert.equal(budget.used, 100, 'what was read before the settlement is older than it')
})

test('the part of a process that may go on without the store is reduced by what it has not written', () => {
  const { budget, grant } = openBudget()
  budget.request(0, KEPT)
  grant(300, 0)
  budget.spend(300, START_MS)
  budget.takePart({ limit: 1_000, used: 0 }, { processes: 2, sentAtMs: START_MS })
  assert.deepEqual([budget.canSpend(201, START_MS), budget.canSpend(200, START_MS)], [false, true])
})

test('the answer of a settlement of the period before changes nothing in the new one', () => {
  const { budget, grant } = openBudget()
  budget.request(0, KEPT)
  const { startMs, endMs } = budget.period
  budget.roll(endMs)
  budget.granted(
    {
      ...{ id: budget.id, periodStartMs: startMs, limit: 1_000, used: 990, granted: 10 },
      ...{ heldByOthers: 0, wantedByOthers: false },
    },
    endMs,
  )
  assert.deepEqual([budget.used, budget.leased, budget.remaining], [0, false, 1_000])
  budget.request(0, KEPT)
  grant(50, 5, endMs)
  assert.deepEqual([budget.used, budget.canSpend(50, endMs)], [5, true])
})
