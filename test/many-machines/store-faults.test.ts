/**
 * The server of the store fails under load: it refuses writes, is killed and comes back, is killed and its synchronous
 * standby takes over. Nothing that was acknowledged is lost, and the service goes on by itself.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../fakes/client.ts'
import type { ChildService } from '../fakes/service.ts'
import { type Cluster, startCluster, withoutPrograms } from '../postgres/cluster.ts'
import { seededRandom } from '../seeded-random.ts'
import { until } from '../until.ts'
import { type Machines, startMachines, WORKER } from './machines.ts'
import { startWitness, type Witness } from './witness.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined
const ROUNDS = SOAK ? 10 : 1
/** From the moment at which a server is there again. */
const RESUMES_MS = 15_000
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
    primary = await startCluster()
    standby = await startCluster({ from: primary })
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await primary.query('SELECT pg_reload_conf()')
    await until('the standby is synchronous', async () => {
      const rows = await primary.query(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
      return rows.length === 1
    })
    const address = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`
    machines = await startMachines({ address, remove: async () => {} })
    ;[api] = await Promise.all([machines.start('api'), machines.start(WORKER)])
    witness = await startWitness(machines, () => [api.url], { mayJump: true })
    await until('rows arrive', async () => (await newestMs()) > Date.now() - 5_000, 60_000)
    fromMs = Math.ceil((Date.now() + 2_000) / 1_000) * 1_000
  },
  { timeout: 180_000 },
)
after(async () => {
  await witness?.close()
  await machines?.close()
  await standby?.stop()
  await primary?.stop()
})

/** Time up to which seconds are stored. */
async function newestMs(): Promise<number> {
  const store = await machines.stores.environment('live')
  try {
    const feed = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1s' } as const
    const page = await store.series.page({
      feeds: [feed],
      range: { from: 0, to: Number.MAX_SAFE_INTEGER },
      ...{ order: 'desc', limit: 1, separator: '\n' },
    })
    return page.text === '' ? 0 : Date.parse((JSON.parse(page.text) as { timestamp: string }).timestamp)
  } finally {
    await store.close()
  }
}

const readiness = async () => {
  const { status, json } = await ask(`${api.url}/ready`)
  return { status, text: JSON.stringify(json) }
}

/** Requests are paid for, rows are written, and the parts say that they are well. */
async function resumes(sinceMs: number): Promise<number> {
  const wallMs = Date.now()
  await until('rows are written again', async () => (await newestMs().catch(() => 0)) > wallMs, RESUMES_MS)
  await until('it is ready', async () => (await readiness()).status === 200, RESUMES_MS)
  return Math.round(performance.now() - sinceMs)
}

test('a server that is killed and started again', { skip }, async (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < ROUNDS; round++) {
    await wait(random.int(0, 1_500))
    const awayMs = random.int(100, SOAK ? 12_000 : 2_000)
    await primary.crash()
    await wait(awayMs)
    assert.equal((await ask(`${api.url}/health`)).status, 200)
    await primary.restart()
    const tookMs = await resumes(performance.now())
    t.diagnostic(`away for ${awayMs} ms, well again after ${tookMs} ms`)
  }
})

test('a server that is killed, and its standby takes over', { skip }, async (t) => {
  const random = seededRandom(t)
  await wait(random.int(0, 1_500))
  await primary.crash()
  await wait(random.int(0, 2_000))
  await standby.query('SELECT pg_promote()')
  const tookMs = await resumes(performance.now())
  t.diagnostic(`well again after ${tookMs} ms`)
})

test('nothing that was acknowledged is lost or there twice', { skip }, async (t) => {
  t.diagnostic(JSON.stringify(await witness.judge({ fromMs })))
  t.diagnostic(`longest time without an answer: ${Math.round(witness.takeLongestOutageMs())} ms`)
  t.diagnostic(JSON.stringify([...witness.statuses]))
})
