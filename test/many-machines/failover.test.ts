/**
 * Two processes that record, index and deliver, one of which leads each part: whatever happens to it, the other takes
 * over. No row, event or delivery is lost or duplicated, and only the leader writes.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../fakes/client.ts'
import type { ChildService } from '../fakes/service.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'
import { promisedMs } from '../promised-ms.ts'
import { type SeededRandom, seededRandom } from '../seeded-random.ts'
import { until } from '../until.ts'
import { leaderOf, type Machines, startMachines, WORKER } from './machines.ts'
import { startWitness, type Witness } from './witness.ts'
import { logWrites, type WriteLog } from './write-log.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined
const ROUNDS = SOAK ? 20 : 0
const PARTS = ['record:cexa/live', 'index/live']
/** Longer than a lease, so that another process has taken it by then. */
const PAUSE_MS = SOAK ? 30_000 : 13_000
/**
 * After a clean stop. The long size enforces the promise; on a machine shared with other tests the standby may have to
 * wait for its turn, and the test only shows that it does not wait for the lease to expire.
 */
const HANDED_OVER_MS = SOAK ? 2_000 : 6_000
/** Between two looks at leases or rows. */
const LOOK_MS = 100
const skip = withoutPostgres

let machines: Machines
let workers: ChildService[]
let api: ChildService
let key: string
let witness: Witness
let log: WriteLog
let fromMs = 0

before(
  async () => {
    if (skip !== false) return
    // Triggers log the writes; distributed tables have none.
    const place = postgresPlace({ distribute: false })
    machines = await startMachines(place)
    ;[api, ...workers] = (await Promise.all(['api', WORKER, WORKER].map(machines.start))) as [
      ChildService,
      ...ChildService[],
    ]
    key = await machines.key()
    for (const part of PARTS)
      await until(`${part} is led`, async () => (await leaderOf(machines, part, workers)) !== undefined)
    witness = await startWitness(machines, () => [api.url], { kills: 2 * (ROUNDS + 3) })
    await rowsArrive()
    log = await logWrites(new URL(place.address).searchParams.get('schema') ?? '')
    fromMs = Math.ceil((Date.now() + 2_000) / 1_000) * 1_000
  },
  { timeout: 480_000 },
)
after(async () => {
  await witness?.close()
  await machines?.close()
})

/** Time up to which seconds are observed. */
async function newestMs(): Promise<number> {
  const { json } = await ask(`${api.url}/v1/candles?symbol=BTC&source=cexa&interval=1s&limit=1`, { key })
  const [row] = (json.data ?? []) as { timestamp: string }[]
  return row === undefined ? 0 : Date.parse(row.timestamp)
}

async function areLed(among: readonly ChildService[]): Promise<boolean> {
  const leaders = await Promise.all(PARTS.map((part) => leaderOf(machines, part, among)))
  return leaders.every((leader) => leader !== undefined)
}

/** The process that leads a part, at any moment of its work. */
async function victim(random: SeededRandom): Promise<{ leader: ChildService; rest: ChildService[] }> {
  await wait(random.int(0, 1_500))
  const part = random.pick(PARTS)
  let leader: ChildService | undefined
  const isLed = async () => {
    leader = await leaderOf(machines, part, workers)
    return leader !== undefined
  }
  await until(`${part} is led`, isLed, 60_000, LOOK_MS)
  assert.ok(leader !== undefined)
  return { leader, rest: workers.filter((worker) => worker !== leader) }
}

async function rowsArrive(): Promise<void> {
  const sinceMs = Date.now()
  await until('rows arrive', async () => (await newestMs()) > sinceMs, 240_000, LOOK_MS)
}

async function kill(random: SeededRandom): Promise<string> {
  const { leader, rest } = await victim(random)
  await leader.kill('SIGKILL')
  const killedAt = performance.now()
  await until('the other leads', () => areLed(rest), promisedMs(15_000), LOOK_MS)
  const tookMs = Math.round(performance.now() - killedAt)
  const replaced = machines.start(WORKER)
  await rowsArrive()
  workers = [...rest, await replaced]
  return `killed: led again after ${tookMs} ms, rows after ${Math.round(performance.now() - killedAt)} ms`
}

async function stop(random: SeededRandom): Promise<string> {
  const { leader, rest } = await victim(random)
  await leader.kill('SIGTERM')
  const endedAt = performance.now()
  await until('the other leads', () => areLed(rest), promisedMs(10_000), LOOK_MS)
  const tookMs = Math.round(performance.now() - endedAt)
  assert.ok(tookMs <= HANDED_OVER_MS, `${tookMs} ms`)
  // In the short form this happens last.
  workers = ROUNDS === 0 ? rest : [...rest, await machines.start(WORKER)]
  return `stopped: led again after ${tookMs} ms`
}

async function pause(random: SeededRandom): Promise<string> {
  const { leader, rest } = await victim(random)
  const heard = leader.printed().length
  leader.child.kill('SIGSTOP')
  await wait(PAUSE_MS)
  await until('the other leads', () => areLed(rest), promisedMs(0), LOOK_MS)
  leader.child.kill('SIGCONT')
  await until('it notices', () => leader.printed().slice(heard).includes('does not lead any more'), 60_000)
  await rowsArrive()
  assert.ok(await areLed(rest), 'it did not take them back')
  return `paused for ${PAUSE_MS} ms`
}

test('a leader that was stopped for longer than its lease notices it when it wakes up', { skip }, async (t) =>
  t.diagnostic(await pause(seededRandom(t))),
)

test('kill -9: the other leads within 15 s', { skip }, async (t) => t.diagnostic(await kill(seededRandom(t))))

test('a clean stop: the other leads at once', { skip }, async (t) =>
  t.diagnostic(await stop(seededRandom(t))),
)

test(`${ROUNDS} rounds of leaders that are killed, stopped and paused`, {
  skip: skip === false && ROUNDS === 0 ? 'only in the long size' : skip,
}, async (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < ROUNDS; round++) {
    // Each kind in turn, the hardest most often.
    const act = round % 5 === 4 ? stop : round % 5 === 2 ? pause : kill
    t.diagnostic(await act(random))
  }
})

test('only leaders have written; no row, event or delivery is lost, and none is there twice', {
  skip,
}, async (t) => {
  t.diagnostic(JSON.stringify(await witness.judge({ fromMs })))
  t.diagnostic(JSON.stringify(await log.judge()))
})
