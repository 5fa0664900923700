/** Two processes that record and index, one of which leads: whatever happens to it, the other goes on. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../fakes/client.ts'
import type { ChildService } from '../fakes/service.ts'
import { withoutPostgres } from '../postgres/test-postgres.ts'
import { until } from '../until.ts'
import { leaderOf, type Machines, startMachines, WORKER } from './machines.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined
const RECORDS = 'record:cexa/live'
const PARTS = [RECORDS, 'index/live']
const PAUSE_MS = SOAK ? 30_000 : 13_000

let machines: Machines
let workers: ChildService[]
let api: ChildService
let key: string

before(
  async () => {
    if (withoutPostgres !== false) return
    machines = await startMachines()
    api = await machines.start('api')
    workers = await Promise.all([WORKER, WORKER].map(machines.start))
    key = await machines.key()
    for (const part of PARTS)
      await until(`${part} is led`, async () => (await leaderOf(machines, part, workers)) !== undefined)
    await until('rows arrive', async () => (await newestMs()) > Date.now() - 10_000, 60_000)
  },
  { timeout: 180_000 },
)
after(() => machines?.close())

/** Time up to which seconds are observed. */
async function newestMs(): Promise<number> {
  const { json } = await ask(`${api.url}/v1/candles?symbol=BTC&source=cexa&interval=1s&limit=1`, { key })
  const [row] = (json.data ?? []) as { timestamp: string }[]
  return row === undefined ? 0 : Date.parse(row.timestamp)
}

async function leaders(among: readonly ChildService[]): Promise<(ChildService | undefined)[]> {
  return Promise.all(PARTS.map((part) => leaderOf(machines, part, among)))
}

/** Rows go on to arrive, and the minutes since then become complete. */
async function isWhole(fromMs: number): Promise<void> {
  const toMs = Date.now()
  await until('rows arrive again', async () => (await newestMs()) > toMs, 60_000)
  const start = new Date(Math.floor(fromMs / 60_000) * 60_000).toISOString()
  const end = new Date(Math.floor(toMs / 60_000) * 60_000).toISOString()
  if (start === end) return
  const path = `/v1/candles?symbol=BTC&source=cexa&interval=1m&start=${start}&end=${end}`
  await until(
    'the minutes are repaired',
    async () => {
      const { json } = await ask(`${api.url}${path}`, { key })
      return Object(Object(json.meta).coverage).complete === true
    },
    90_000,
  )
}

test('kill -9: the other leads within 15 s, and what was missed is repaired', {
  skip: withoutPostgres,
}, async () => {
  const fromMs = Date.now()
  const [leader] = await leaders(workers)
  assert.ok(leader !== undefined)
  await leader.kill('SIGKILL')
  const killedAt = performance.now()
  const rest = workers.filter((worker) => worker !== leader)
  await until(
    'the other leads',
    async () => (await leaders(rest)).every((each) => each !== undefined),
    15_000,
  )
  assert.ok(performance.now() - killedAt <= 15_000)
  await isWhole(fromMs)
  workers = [...rest, await machines.start(WORKER)]
})

test('a clean stop: the other leads within 2 s of its end', { skip: withoutPostgres }, async () => {
  const [leader] = await leaders(workers)
  assert.ok(leader !== undefined)
  const rest = workers.filter((worker) => worker !== leader)
  await leader.kill('SIGTERM')
  const endedAt = performance.now()
  await until(
    'the other leads',
    async () => (await leaders(rest)).every((each) => each !== undefined),
    10_000,
  )
  assert.ok(performance.now() - endedAt <= 2_000, `${performance.now() - endedAt} ms`)
  workers = [...rest, await machines.start(WORKER)]
})

test('a leader that was stopped and wakes up writes nothing more', { skip: withoutPostgres }, async () => {
  const fromMs = Date.now()
  const [leader] = await leaders(workers)
  assert.ok(leader !== undefined)
  const rest = workers.filter((worker) => worker !== leader)
  leader.child.kill('SIGSTOP')
  await wait(PAUSE_MS)
  assert.ok((await leaders(rest)).every((each) => each !== undefined))
  leader.child.kill('SIGCONT')
  await until('it notices', () => leader.printed().includes('does not lead any more'), 15_000)
  await isWhole(fromMs)
  assert.ok(
    (await leaders(rest)).every((each) => each !== undefined),
    'it did not take them back',
  )
})
