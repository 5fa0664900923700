import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { StoreUnavailableError, WritesRefusedError } from '../core/store-unavailable.ts'
import { Budget } from './budget.ts'
import { STORE_PATIENCE_MS } from './store-patience.ts'
import { WaitingCharges } from './waiting-charges.ts'

const START_MS = Date.UTC(2026, 2, 14)

test('a charge whose caller was answered while the balance was read is not made afterwards', async () => {
  const clock = manualClock(START_MS)
  const balance = Promise.withResolvers<{ limit: number; used: number }>()
  const spent: string[] = []
  const waiting = new WaitingCharges({
    ...{ store: { budget: () => balance.promise }, clock, processes: () => 1 },
    spend: (_payer, { id }) => {
      spent.push(id)
      return true
    },
  })
  const spec = { id: 'a/test', accountId: 'a', initialLimit: 1_000, billingDay: 1, nowMs: START_MS }
  const payer = { accountId: 'a', environment: 'test' as const, keyId: 'k', budgets: [new Budget(spec)] }
  const refused = assert.rejects(
    waiting.add(payer, { id: 'late', endpoint: 'GET /x', credits: 1, rows: 0 }),
    StoreUnavailableError,
  )
  const failed = waiting.fail(new WritesRefusedError('full'))
  clock.advance(STORE_PATIENCE_MS)
  await refused
  balance.resolve({ limit: 1_000, used: 0 })
  await failed
  assert.deepEqual(spent, [])
})
