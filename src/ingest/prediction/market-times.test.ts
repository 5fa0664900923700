/** When a market is traded according to its window, and whether rows of it may already be stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kalshiPlan } from '../../venues/kalshi/plan.ts'
import { polymarketPlan } from '../../venues/polymarket/plan.ts'
import { firstTradeMs, followedRange, isListedWithAll, isRunning, mayHaveRows } from './market-times.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.parse('2026-11-15T12:00:00Z')
const SHORT = { startMs: START_MS, endMs: START_MS + 300_000 }
const LONG = { startMs: START_MS, endMs: START_MS + HOUR_MS }

test('a long market with tokens is followed from one length before it begins, a short one and a contract are not', () => {
  const { beforeMs, afterMs } = polymarketPlan.followed
  assert.deepEqual(followedRange(polymarketPlan, SHORT), {
    fromMs: START_MS - beforeMs,
    toMs: SHORT.endMs + afterMs,
  })
  assert.equal(followedRange(polymarketPlan, LONG).fromMs, START_MS - HOUR_MS - beforeMs)
  assert.equal(followedRange(kalshiPlan, LONG).fromMs, START_MS - kalshiPlan.followed.beforeMs)
})

test('rows may be stored of a market that was traded before this run, or that has ended', () => {
  const tradedMs = firstTradeMs(polymarketPlan, SHORT)
  const met = (startedMs: number, nowMs: number) => mayHaveRows(polymarketPlan, SHORT, { startedMs, nowMs })
  assert.equal(met(tradedMs, START_MS), false)
  assert.equal(met(tradedMs + 1, START_MS), true)
  assert.equal(met(tradedMs, SHORT.endMs), false)
  assert.equal(met(tradedMs, SHORT.endMs + 1), true)
})

test('a token market of tomorrow does not show that all before it are known; a contract does', () => {
  const tomorrow = { startMs: START_MS + 24 * HOUR_MS, endMs: START_MS + 25 * HOUR_MS }
  assert.equal(isListedWithAll(polymarketPlan, tomorrow, START_MS), false)
  assert.equal(isListedWithAll(polymarketPlan, LONG, START_MS), true)
  assert.equal(isListedWithAll(kalshiPlan, tomorrow, START_MS), true)
})

test('a market runs from its start, inclusive, to its end, exclusive', () => {
  assert.deepEqual(
    [START_MS - 1, START_MS, SHORT.endMs - 1, SHORT.endMs].map((timeMs) => isRunning(SHORT, timeMs)),
    [false, true, true, false],
  )
  assert.equal(isRunning(SHORT, START_MS - 60_000, 60_000), true)
})
