import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../core/time.ts'
import type { Payer } from './charge.ts'
import { ChargeJournal } from './charge-journal.ts'

const PAYER: Payer = { accountId: 'a', environment: 'test', keyId: 'k', budgets: [] }
const BUDGETS = [{ id: 'a/test', periodStartMs: 0, initialLimit: 100 }]
const charge = (id: string, credits = 1) => ({ id, endpoint: 'GET /x', credits, rows: 2 })

const idsIn = (journal: ChargeJournal) => journal.take().map(({ charges }) => charges.map(({ id }) => id))

test('charges of one key for one endpoint are one entry with their sums', () => {
  const journal = new ChargeJournal()
  journal.add(PAYER, charge('r1', 3), 10, BUDGETS)
  journal.add(PAYER, charge('r2', 4), 20, BUDGETS)
  journal.add(PAYER, { ...charge('r3'), endpoint: 'GET /y' }, 30, BUDGETS)
  journal.add({ ...PAYER, keyId: 'other' }, charge('r4'), 40, BUDGETS)
  assert.equal(journal.size, 4)
  assert.equal(journal.oldestMs, 10)
  const [first, ...others] = journal.take()
  assert.deepEqual(first, {
    ...{ id: 'r1', atMs: 10, accountId: 'a', environment: 'test', keyId: 'k', endpoint: 'GET /x' },
    ...{ credits: 7, rows: 4, budgets: BUDGETS },
    charges: [
      { id: 'r1', credits: 3 },
      { id: 'r2', credits: 4 },
    ],
  })
  assert.deepEqual(
    others.map(({ id }) => id),
    ['r3', 'r4'],
  )
  assert.equal(journal.size, 0)
})

test('an entry that may have been written does not grow any more', () => {
  const journal = new ChargeJournal()
  journal.add(PAYER, charge('r1'), 10, BUDGETS)
  const taken = journal.take()
  journal.add(PAYER, charge('r2'), 20, BUDGETS)
  journal.putBack(taken)
  journal.add(PAYER, charge('r3'), 30, BUDGETS)
  assert.equal(journal.size, 3)
  assert.equal(journal.oldestMs, 10)
  assert.deepEqual(idsIn(journal), [['r1'], ['r2', 'r3']])
})

test('a charge that may come again is an entry of its own', () => {
  const journal = new ChargeJournal()
  journal.add(PAYER, { ...charge('d1'), mayRepeat: true }, 10, BUDGETS)
  journal.add(PAYER, { ...charge('d2'), mayRepeat: true }, 10, BUDGETS)
  journal.add(PAYER, charge('r1'), 10, BUDGETS)
  assert.deepEqual(idsIn(journal), [['d1'], ['d2'], ['r1']])
})

test('an entry is of one day and of one period of each budget, and of a bounded number of charges', () => {
  const journal = new ChargeJournal()
  journal.add(PAYER, charge('r1'), DAY_MS - 1, BUDGETS)
  journal.add(PAYER, charge('r2'), DAY_MS, BUDGETS)
  journal.add(PAYER, charge('r3'), DAY_MS, [{ ...BUDGETS[0], periodStartMs: DAY_MS } as (typeof BUDGETS)[0]])
  journal.add(PAYER, charge('r4'), DAY_MS, [])
  assert.deepEqual(idsIn(journal), [['r1'], ['r2'], ['r3'], ['r4']])
  for (let n = 0; n < 1_200; n++) journal.add(PAYER, charge(`r${n}`), 0, BUDGETS)
  assert.deepEqual(
    journal.take().map(({ charges, credits }) => [charges.length, credits]),
    [
      [500, 500],
      [500, 500],
      [200, 200],
    ],
  )
})
