import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOracleUpdates } from './order-updates.ts'

const update = (round: number, updatedMs: number) => ({
  roundId: BigInt(round),
  updatedMs,
  price: `${round}`,
})
const numbers = (updates: readonly { roundId: bigint }[]) => updates.map(({ roundId }) => Number(roundId))

test('updates come out in their order, each once, whatever order they came in', () => {
  const kept = createOracleUpdates()
  for (const [round, atMs] of [
    [5, 500],
    [2, 200],
    [4, 300],
    [3, 300],
    [1, 100],
  ] as const)
    assert.equal(kept.add(update(round, atMs)), true)
  assert.equal(kept.add(update(3, 300)), false)
  assert.deepEqual(numbers(kept.around(0, 1_000)), [1, 2, 3, 4, 5])
  assert.deepEqual(numbers(kept.around(300, 500)), [2, 3, 4], 'and the one in force before')
  assert.deepEqual([kept.size, kept.newestMs], [5, 500])
})

test('what is forgotten may come again; what is dropped is named', () => {
  const kept = createOracleUpdates()
  for (let round = 1; round <= 6; round++) kept.add(update(round, round * 100))
  kept.forgetBefore(300)
  assert.deepEqual(numbers(kept.around(0, 1_000)), [3, 4, 5, 6])
  assert.equal(kept.add(update(2, 200)), true)
  assert.deepEqual(kept.dropOldest(3), { fromMs: 200, toMs: 500 })
  assert.deepEqual(numbers(kept.around(0, 1_000)), [5, 6])
  assert.equal(kept.dropOldest(2), undefined, 'the last ones stay')
})
