/** Credits that several processes spend from one store are exact to the last one. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { dataFolder } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'

const PRICE = 25
/** The number of charges, how many of them the credits cover, and a number that is fully covered. */
const [ASKED, COVERED, LASTING] =
  process.env.TAPELINE_SOAK === undefined ? [600, 150, 450] : [2_000, 500, 1_500]
const SPENDER = join(import.meta.dirname, '..', 'fakes', 'spend-process.ts')

interface SharedStore {
  readonly name: string
  readonly processes: number
  readonly skip: string | false
  create(): { readonly address: string; remove(): Promise<void> }
}

const STORES: readonly SharedStore[] = [
  {
    name: 'one accounts file',
    processes: 2,
    skip: false,
    create() {
      const folder = dataFolder()
      return { address: folder.path, remove: async () => folder.remove() }
    },
  },
  { name: 'PostgreSQL', processes: 3, skip: withoutPostgres, create: postgresPlace },
]

/** Lets processes spend at the same moment; returns how many charges were paid in all, and what the store says. */
async function spendTogether(
  { processes, create }: SharedStore,
  options: { requests: number; budgets: readonly string[] },
) {
  const { address, remove } = create()
  const store = storesIn(address).accounts()
  const children = Array.from({ length: processes }, (_, index) => {
    const requests = Math.floor((options.requests + index) / processes)
    const args = [SPENDER, address, String(requests), String(PRICE), ...options.budgets]
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
    await remove()
  }
}

for (const shared of STORES) {
  const { name, processes, skip } = shared

  test(`${name}: ${ASKED} charges of ${processes} processes against credits for ${COVERED}: exactly so many are paid`, {
    skip,
  }, async () => {
    const done = await spendTogether(shared, { requests: ASKED, budgets: [`a/test=${COVERED * PRICE}`] })
    assert.deepEqual(done, { paid: COVERED, credits: COVERED * PRICE, requests: COVERED })
  })

  test(`${name}: while ${processes} processes share credits that last, nobody is refused`, {
    skip,
  }, async () => {
    const done = await spendTogether(shared, {
      requests: LASTING,
      budgets: [`a/test=${2 * LASTING * PRICE}`],
    })
    assert.deepEqual(done, { paid: LASTING, credits: LASTING * PRICE, requests: LASTING })
  })

  test(`${name}: a cap of a key is exact too, over ${processes} processes`, { skip }, async () => {
    const budgets = [`a/test=${10_000 * PRICE}`, `a/test/k=${40 * PRICE}`]
    const done = await spendTogether(shared, { requests: 200, budgets })
    assert.deepEqual(done, { paid: 40, credits: 40 * PRICE, requests: 40 })
  })
}
