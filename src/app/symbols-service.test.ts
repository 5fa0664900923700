import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { SYMBOLS } from '../core/symbol.ts'
import { symbolsService } from './symbols-service.ts'

const FIRST_MS = Date.UTC(2026, 2, 1)

test('until the store has been read once, all callers wait for one reading; one that failed is repeated', async () => {
  const clock = manualClock(FIRST_MS + 1_000)
  let asked = 0
  let isAway = true
  const symbols = symbolsService(
    {
      async earliest() {
        asked++
        if (isAway) throw new Error('the store is away')
        return FIRST_MS
      },
    },
    clock,
  )
  const failed = await Promise.allSettled([symbols(), symbols()])
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(asked, 1)
  isAway = false
  const [one, other] = await Promise.all([symbols(), symbols()])
  assert.match(JSON.stringify(one), /2026-03-01T00:00:00/)
  assert.equal(other, one)
  assert.equal(asked, 1 + SYMBOLS.length)
  assert.equal(symbols(), one, 'known for a while')
  clock.advance(2_000)
  assert.equal(await symbols(), one)
  assert.equal(asked, 1 + 2 * SYMBOLS.length)
})
