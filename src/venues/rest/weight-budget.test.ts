import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { Clock } from '../../kit/clock.ts'
import { createWeightBudget } from './weight-budget.ts'

const MINUTE = 1_800_000_000_000
const never = new AbortController().signal

/** Sleeping advances the time. */
function budgetAt(startMs: number, windowMs = 60_000) {
  let nowMs = startMs
  const slept: number[] = []
  const clock: Clock = {
    now: () => nowMs,
    async sleep(ms) {
      slept.push(ms)
      nowMs += ms
    },
  }
  return {
    budget: createWeightBudget({ budget: { limit: 100, windowMs }, clock }),
    slept,
    to: (timeMs: number) => {
      nowMs = timeMs
    },
  }
}

test('what is under way when a window ends counts in the next one too', async () => {
  const { budget, slept, to } = budgetAt(MINUTE - 5_000)
  await budget.take(80, never)
  to(MINUTE + 2_000)
  assert.equal(budget.used(), 80)
  budget.settle(80)
  await budget.take(20, never)
  assert.deepEqual(slept, [59_000], 'there was room for 10 only')
})

test('what was answered around the border counts on both sides, what was answered before it does not', async () => {
  for (const [answeredMs, used] of [
    [MINUTE - 3_000, 0],
    [MINUTE - 500, 80],
    [MINUTE + 500, 80],
  ] as const) {
    const { budget, to } = budgetAt(MINUTE - 5_000)
    await budget.take(80, never)
    to(answeredMs)
    budget.settle(80)
    to(MINUTE + 1_500)
    assert.equal(budget.used(), used)
    to(MINUTE + 61_500)
    assert.equal(budget.used(), 0)
  }
})

test('a window of a second keeps nearly all of its room', async () => {
  const { budget, slept, to } = budgetAt(MINUTE + 200, 1_000)
  for (let second = 0; second < 5; second++) {
    to(MINUTE + second * 1_000 + 200)
    await budget.take(85, never)
    budget.settle(85)
  }
  assert.deepEqual(slept, [])
})

test('while the live side waits for room, the backfill takes none, even of a new window', async () => {
  const clock = manualClock(MINUTE + 5_000)
  const budget = createWeightBudget({ budget: { limit: 100, windowMs: 60_000 }, clock })
  const order: string[] = []
  const take = (name: string, weight: number, share?: number) =>
    budget.take(weight, never, share).then(() => order.push(name))
  await take('first', 85)
  budget.settle(85)
  const all = [take('past', 70, 0.85), take('live', 80)]
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  await turn()
  clock.set(MINUTE + 61_001)
  await turn()
  assert.deepEqual(order, ['first', 'live'])
  budget.settle(80)
  for (let i = 0; i < 40; i++) {
    clock.advance(3_000)
    await turn()
  }
  await Promise.all(all)
  assert.deepEqual(order, ['first', 'live', 'past'])
})
