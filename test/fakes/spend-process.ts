/**
 * A process that spends credits beside others: `spend-process.ts <store> <requests> <price> <budget>=<limit>…`
 * Writes `ready`, begins at the first line of its input, and prints how many charges were paid.
 */
import { once } from 'node:events'
import { Ledger } from '../../src/accounts/ledger.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createLogger } from '../../src/kit/log.ts'
import { storesIn } from './stores.ts'

const [address = '', requests = '', price = '', ...specs] = process.argv.slice(2)
const store = storesIn(address).accounts()
const ledger = new Ledger({
  store,
  holder: `process ${process.pid}`,
  clock: systemClock,
  log: createLogger({ level: 'silent' }),
})
const unwatch = await store.watch({
  onAccounts: (ids) => ledger.reload(ids),
  onWanted: () => ledger.yieldLeases(),
})
const budgets = specs.map((spec) => {
  const [id = '', limit = ''] = spec.split('=')
  return ledger.open({ id, accountId: 'a', initialLimit: Number(limit), billingDay: 1 })
})
const payer = { accountId: 'a', environment: 'test' as const, keyId: 'k', budgets }

process.stdout.write('ready\n')
await once(process.stdin, 'data')
const paid = await Promise.all(
  Array.from({ length: Number(requests) }, async (_, index) => {
    await new Promise((resolve) => setTimeout(resolve, index % 200))
    const charge = { id: `${process.pid}-${index}`, endpoint: 'GET /x', credits: Number(price), rows: 0 }
    return ledger.charge(payer, charge)
  }),
)
process.stdout.write(`${paid.filter(Boolean).length}\n`)
await ledger.close()
await unwatch()
await store.close()
process.exit(0)
