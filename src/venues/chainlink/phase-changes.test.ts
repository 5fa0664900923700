/** When the proxy moved to a contract, if the block in which it moved is replaced. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Round, roundIdOf } from './abi.ts'
import { createPhaseChanges } from './phase-changes.ts'

const PROXY = '0xc9'
const round = (phase: bigint, number: bigint): Round => ({
  ...{ roundId: roundIdOf(phase, number), answer: 1n, updatedAt: 1 },
})

test('a proxy that is seen with its old contract in later blocks has gone back, and moves later', () => {
  const phases = createPhaseChanges()
  phases.seen(PROXY, round(7n, 3n), 10_000, 9_000)
  phases.seen(PROXY, round(8n, 1n), 20_000, 19_000)
  phases.seen(PROXY, round(7n, 4n), 25_000, 18_000)
  assert.equal(phases.to(PROXY, 8n)?.movedByMs, 20_000, 'nodes that are behind prove nothing')
  phases.seen(PROXY, round(7n, 5n), 30_000, 29_000)
  assert.equal(phases.to(PROXY, 8n), undefined)
  phases.seen(PROXY, round(8n, 1n), 40_000, 39_000)
  const change = phases.to(PROXY, 8n)
  assert.deepEqual([change?.movedByMs, change?.lastBefore?.roundId], [40_000, roundIdOf(7n, 5n)])
})

test('a proxy may have moved later if an early round of its contract has another block', () => {
  const phases = createPhaseChanges()
  phases.seen(PROXY, round(7n, 3n), 10_000)
  phases.seen(PROXY, round(8n, 1n), 20_000)
  phases.replaced(PROXY, roundIdOf(8n, 9n), 21_000, 50_000)
  phases.replaced(PROXY, roundIdOf(7n, 3n), 9_000, 50_000)
  assert.equal(phases.to(PROXY, 8n)?.movedByMs, 20_000)
  phases.replaced(PROXY, roundIdOf(8n, 1n), 19_000, 50_000)
  assert.equal(phases.to(PROXY, 8n)?.movedByMs, 50_000)
})
