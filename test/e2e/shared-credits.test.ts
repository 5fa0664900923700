/** Credits that several processes spend from one accounts file: exact to the last one. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { dataFolder } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'

const PRICE = 25
const SPENDER = join(import.meta.dirname, '..', 'fakes', 'spend-process.ts')

/** Two processes spend at the same moment; how many charges each of them got paid, and what the store says. */
async function spendTogether(options: { requests: number; budgets: readonly string[] }) {
  const folder = dataFolder()
  const store = storesIn(folder.path).accounts()
  const children = [0, 1].map(() => {
    const args = [SPENDER, folder.path, String(options.requests), String(PRICE), ...options.budgets]
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
  })
  try {
    for (const { lines } of children) assert.equal((await lines.next()).value, 'ready')
    const ended = children.map(({ child }) => once(child, 'exit'))
    for (const { child } of children) child.stdin.write('go\n')
    const paid = await Promise.all(children.map(async ({ lines }) => Number((await lines.next()).value)))
    await Promise.all(ended)
    const rows = await store.usage({ accountId: 'a', fromMs: 0, toMs: Date.now() + 1e9 })
    return {
      paid: paid.reduce((sum, count) => sum + count, 0),
      credits: rows.reduce((sum, row) => sum + row.credits, 0),
      requests: rows.reduce((sum, row) => sum + row.requests, 0),
    }
  } finally {
    for (const { child } of children) child.kill('SIGKILL')
    await store.close()
    folder.remove()
  }
}

test('2,000 charges of two processes against credits for 500: exactly 500 are paid', async () => {
  const done = await spendTogether({ requests: 1_000, budgets: [`a/test=${500 * PRICE}`] })
  assert.deepEqual(done, { paid: 500, credits: 500 * PRICE, requests: 500 })
})

test('while two processes share credits that last, nobody is refused', async () => {
  const done = await spendTogether({ requests: 750, budgets: [`a/test=${3_000 * PRICE}`] })
  assert.deepEqual(done, { paid: 1_500, credits: 1_500 * PRICE, requests: 1_500 })
})

test('a cap of a key is exact too, over two processes', async () => {
  const budgets = [`a/test=${10_000 * PRICE}`, `a/test/k=${40 * PRICE}`]
  const done = await spendTogether({ requests: 100, budgets })
  assert.deepEqual(done, { paid: 40, credits: 40 * PRICE, requests: 40 })
})
