/** Metering is exact under concurrency and across a kill; over two processes: `shared-credits.test.ts`. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type AccountsParts, openAccounts } from '../../src/app/open-accounts.ts'
import { loadConfig } from '../../src/config/config.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { burst } from '../fakes/burst.ts'
import { ask } from '../fakes/client.ts'
import { makeAccount, makeKey } from '../fakes/keys.ts'
import { type ChildService, dataFolder, spawnService } from '../fakes/service.ts'
import { storeEnv } from '../fakes/stores.ts'
import { promisedMs } from '../promised-ms.ts'
import { until } from '../until.ts'

const PRICE = 25
/** The charges that a kill may lose; on a shared machine they may be written late. */
const LOST_MS = process.env.TAPELINE_SOAK === undefined ? 3_000 : 250
/** A pause between calls in the short form, so that the load lasts longer and leaves processor time to others. */
const PAUSE_MS = process.env.TAPELINE_SOAK === undefined ? 100 : 0
const folder = dataFolder()
let first: ChildService
let parts: AccountsParts
before(async () => {
  first = await spawnService(folder.path)
  const { config } = loadConfig({
    ...storeEnv(folder.path),
    TAPELINE_PLANS: join(folder.path, 'plans.json'),
  })
  parts = openAccounts(config, systemClock)
})
after(async () => {
  await first.kill('SIGKILL')
  await parts.store.close()
  folder.remove()
})

async function payer(credits: number): Promise<{ id: string; key: string }> {
  const id = await makeAccount(parts.accounts, 'wide')
  await parts.accounts.setCredits(id, credits)
  return { id, key: await makeKey(parts.accounts, { accountId: id }) }
}

/** The usage as printed by the command line. */
async function usedBy(id: string) {
  const { used, remaining } = await parts.accounts.balance(await parts.accounts.get(id), 'test')
  const rows = await parts.accounts.usage(id, Date.now() - 1e8, Date.now())
  const sum = (field: 'credits' | 'requests') => rows.reduce((total, row) => total + row[field], 0)
  return { used, remaining, usage: sum('credits'), requests: sum('requests') }
}

test('2,000 parallel requests against a balance for 500 give exactly 500 successes', async () => {
  const { id, key } = await payer(500 * PRICE)
  const url = `${first.url}/v1/sources`
  const { statuses, broken } = await burst({ urls: [url], key, count: 2_000, connections: 250 })
  assert.deepEqual(Object.fromEntries(statuses), { 200: 500, 402: 1_500 })
  assert.equal(broken, 0)
  await until('every charge is written', async () => (await usedBy(id)).used >= 12_500)
  assert.deepEqual(await usedBy(id), { used: 12_500, remaining: 0, usage: 12_500, requests: 500 })
})

test('credits set from outside count within one second', async () => {
  const { id, key } = await payer(0)
  assert.equal((await ask(`${first.url}/v1/sources`, { key })).status, 402)
  await parts.accounts.setCredits(id, 1_000_000)
  const paid = async () => {
    const { status, headers } = await ask(`${first.url}/v1/sources`, { key })
    return status === 402 ? undefined : headers.get('x-credits-remaining')
  }
  let left: string | null | undefined
  const isPaid = async () => {
    left = await paid()
    return left !== undefined
  }
  await until('the new credits', isPaid, promisedMs(1_000), 25)
  assert.equal(left, String(1_000_000 - PRICE))
  await parts.accounts.setCredits(id, 0)
  await until('no credits', async () => !(await isPaid()), promisedMs(1_000), 25)
})

test('a kill during load loses at most the last 250 ms of charges and doubles none', async () => {
  const { id, key } = await payer(1_000_000 * PRICE)
  const answers: number[] = []
  let killedAt = Number.POSITIVE_INFINITY
  const caller = async () => {
    while (performance.now() < killedAt) {
      const { statuses } = await burst({ urls: [`${first.url}/v1/sources`], key, count: 10, connections: 1 })
      const now = performance.now()
      for (let i = 0; i < (statuses.get(200) ?? 0); i++) answers.push(now)
      if (PAUSE_MS > 0) await delay(PAUSE_MS)
    }
  }
  const load = Promise.all(Array.from({ length: 16 }, caller))
  const before = (ms: number) => answers.filter((at) => at <= ms - LOST_MS).length
  await until('load', () => before(performance.now()) > 100)
  killedAt = performance.now()
  await first.kill('SIGKILL')
  await load
  const early = before(killedAt)
  const { used, usage, requests } = await usedBy(id)
  assert.equal(used, usage, 'the credits used equal the sum of the usage rows')
  assert.equal(used, requests * PRICE, 'no charge is doubled')
  assert.ok(
    requests >= early,
    `${requests} charges are kept of ${early} that were answered ${LOST_MS} ms before`,
  )
  // A request may be charged although its answer was lost with the process, but never more than were in flight.
  assert.ok(requests <= answers.length + 16, `${requests} charges for ${answers.length} answers`)
  first = await spawnService(folder.path)
  const again = await ask(`${first.url}/v1/sources`, { key })
  assert.equal(again.status, 200)
  assert.equal(Number(again.headers.get('x-credits-remaining')), 1_000_000 * PRICE - used - PRICE)
  assert.doesNotMatch(first.printed(), /shown this once/, 'the demo key is not printed again')
})
