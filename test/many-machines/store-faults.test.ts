/**
 * The server of the store fails under load: it refuses writes, is killed and comes back, is killed and its synchronous
 * standby takes over. Nothing that was acknowledged is lost, and the service recovers automatically.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { ask } from '../fakes/client.ts'
import type { ChildService } from '../fakes/service.ts'
import { type Cluster, withoutPrograms } from '../postgres/cluster.ts'
import { startSynchronousPair } from '../postgres/synchronous-pair.ts'
import { seededRandom } from '../seeded-random.ts'
import { until } from '../until.ts'
import { type Machines, startMachines, WORKER } from './machines.ts'
import { startWitness, type Witness } from './witness.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined

const ROUNDS = SOAK ? 10 : 1
/**
 * How soon callers are answered after a server is back. The long size enforces the promise; on a machine shared with
 * other tests the server itself has to wait for its turn.
 */
const RESUMES_MS = SOAK ? 15_000 : 90_000
/** Rows follow within seconds on an idle machine; tests share theirs. */
const RECORDS_MS = 180_000
/** Between two looks. */
const LOOK_MS = 100
const skip = withoutPrograms

let primary: Cluster
let standby: Cluster
let machines: Machines
let witness: Witness
let api: ChildService
let fromMs = 0

before(
  async () => {
    if (skip !== false) return
    ;({ primary, standby } = await startSynchronousPair())
    const address = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`
    machines = await startMachines({ address, remove: async () => {} })
    ;[api] = await Promise.all([machines.start('api'), machines.start(WORKER)])
    witness = await startWitness(machines, () => [api.url], { mayJump: true })
    const beganMs = Date.now()
    // If every connection is busy, the rows count as not written yet.
    const hasRows = async () => (await newestMs().catch(() => 0)) > beganMs
    await until('rows arrive', hasRows, 240_000, LOOK_MS)
    fromMs = Math.ceil((Date.now() + 2_000) / 1_000) * 1_000
  },
  { timeout: 480_000 },
)
after(async () => {
  await looked?.close()
  await witness?.close()
  await machines?.close()
  await standby?.stop()
  await primary?.stop()
})

/** Kept open between two looks, because opening it costs more than looking. */
let looked: EnvironmentStore | undefined

/** Time up to which seconds are stored. */
async function newestMs(): Promise<number> {
  looked ??= await machines.stores.environment('live')
  const store = looked
  try {
    const feed = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1s' } as const
    const page = await store.series.page({
      feeds: [feed],
      range: { from: 0, to: Number.MAX_SAFE_INTEGER },
      ...{ order: 'desc', limit: 1, separator: '\n' },
    })
    return page.text === '' ? 0 : Date.parse((JSON.parse(page.text) as { timestamp: string }).timestamp)
  } catch (error) {
    // The next look opens it again, like a process that is started then.
    if (looked === store) looked = undefined
    await store.close()
    throw error
  }
}

const readiness = async () => {
  const { status, json } = await ask(`${api.url}/ready`)
  return { status, text: JSON.stringify(json) }
}

/** Waits until requests are charged, then rows are written, and all parts report that they are well. */
async function resumes(): Promise<string> {
  const [startedMs, wallMs, paid] = [performance.now(), Date.now(), witness.paid]
  const took = () => `${Math.round(performance.now() - startedMs)} ms`
  await until('callers are answered', () => witness.paid > paid, RESUMES_MS)
  const answered = took()
  await until(
    'rows are written again',
    async () => (await newestMs().catch(() => 0)) > wallMs,
    RECORDS_MS,
    LOOK_MS,
  )
  const recorded = took()
  await until('it is ready', async () => (await readiness()).status === 200, RECORDS_MS, LOOK_MS)
  return `answers after ${answered}, new rows after ${recorded}, ready after ${took()}`
}

test('a server that refuses writes: reads go on and are paid for, writes are refused, and /ready says so', {
  skip,
}, async (t) => {
  const random = seededRandom(t)
  const key = await machines.key({ credits: 1_000_000 })
  const candles = '/v1/candles?symbol=BTC&source=cexa&interval=1s&limit=5'
  await wait(random.int(0, 500))
  await primary.query('ALTER SYSTEM SET default_transaction_read_only = on')
  await primary.query('SELECT pg_reload_conf()')
  await until(
    '/ready says so',
    async () => {
      const { status, text } = await readiness()
      return status === 503 && text.includes('accepts no writes')
    },
    60_000,
  )
  const paidBefore = witness.paid
  // A key that nobody has used before, and credits that no process holds.
  let page = await ask(`${api.url}${candles}`, { key })
  await until(
    'the page is read',
    async () => {
      // On a shared machine the first answer may take too long: that is reported, and nothing is charged.
      if (page.status === 503) page = await ask(`${api.url}${candles}`, { key })
      return page.status !== 503
    },
    60_000,
    LOOK_MS,
  )
  assert.equal(page.status, 200, page.text)
  const charged = Number(page.headers.get('x-credits-charged'))
  assert.ok(charged > 0)
  const { json } = await ask(`${api.url}/v1/limits`, { key })
  assert.equal((json.credits as { used: number }).used, charged)
  const refused = await ask(`${api.url}/v1/webhooks`, {
    ...{ method: 'POST', key, headers: { 'Content-Type': 'application/json' } },
    body: JSON.stringify({ url: 'http://127.0.0.1:65000/', kinds: ['block_added'] }),
  })
  assert.equal(refused.status, 503, refused.text)
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
  await wait(random.int(1_000, SOAK ? 20_000 : 3_000))
  await until('requests are answered meanwhile', () => witness.paid > paidBefore + 5, 60_000)
  await primary.query('ALTER SYSTEM RESET default_transaction_read_only')
  await primary.query('SELECT pg_reload_conf()')
  t.diagnostic(await resumes())
  const account = (await machines.accounts.accounts.listKeys()).find(({ hint }) =>
    key.endsWith(hint),
  )?.accountId
  const charges = async () => {
    const { accounts } = machines.accounts
    return (await accounts.balance(await accounts.get(account ?? ''), 'live')).used
  }
  // Written when the store accepts it, which may be after other requests are answered.
  await until('what was read meanwhile is charged', async () => (await charges()) >= charged, 60_000, LOOK_MS)
  assert.equal(await charges(), charged, 'once')
})

test('a server that is killed and started again', { skip }, async (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < ROUNDS; round++) {
    await wait(random.int(0, 1_500))
    const awayMs = random.int(100, SOAK ? 12_000 : 2_000)
    await primary.crash()
    await wait(awayMs)
    assert.equal((await ask(`${api.url}/health`)).status, 200)
    await primary.restart()
    t.diagnostic(`away for ${awayMs} ms: ${await resumes()}`)
  }
})

test('a server that is killed, and its standby takes over', { skip }, async (t) => {
  const random = seededRandom(t)
  await wait(random.int(0, 1_500))
  await primary.crash()
  await wait(random.int(0, 2_000))
  await standby.query('SELECT pg_promote()')
  t.diagnostic(await resumes())
})

test('nothing that was acknowledged is lost or there twice', { skip }, async (t) => {
  t.diagnostic(JSON.stringify(await witness.judge({ fromMs })))
  t.diagnostic(`longest time without an answer: ${Math.round(witness.longestOutageMs)} ms`)
  t.diagnostic(JSON.stringify([...witness.statuses]))
})
