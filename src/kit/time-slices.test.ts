import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTurns } from '../../test/fakes/count-turns.ts'
import { parseExactInSlices } from './exact-json.ts'
import { nextTurn, Slice } from './time-slices.ts'

test('of many waiting callers one runs in each turn of the event loop, in order', async () => {
  let turn = 0
  let counting = true
  const count = () => {
    turn++
    if (counting) setImmediate(count)
  }
  setImmediate(count)
  const turns: number[] = []
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      await nextTurn()
      turns.push(turn)
    }),
  )
  counting = false
  assert.equal(new Set(turns).size, 5, `turns ${turns}`)
  assert.deepEqual(
    turns,
    [...turns].sort((a, b) => a - b),
  )
})

test('a slice is over after a few milliseconds and starts again in the next turn', async () => {
  const slice = new Slice()
  assert.equal(slice.isOver, false)
  const endsAt = performance.now() + 6
  while (performance.now() < endsAt);
  assert.equal(slice.isOver, true)
  await slice.next()
  assert.equal(slice.isOver, false)
})

test('a long text is parsed in many turns, to the same value', async () => {
  const value = Array.from({ length: 100_000 }, (_, n) => ({ n, text: 'x' }))
  const { turns, result: reading } = await countTurns(() =>
    parseExactInSlices(JSON.stringify(value), { maxDepth: 8, maxChars: 1e8 }),
  )
  assert.deepEqual(reading, { ok: true, value })
  assert.ok(turns > 3, `${turns} turns of the loop`)
})
