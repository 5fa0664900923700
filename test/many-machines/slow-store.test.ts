/** A store that does not answer, or answers late: callers are told in time, nothing waits forever, and all recovers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { openAccounts } from '../../src/app/open-accounts.ts'
import { loadConfig } from '../../src/config/config.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { type Answer, ask } from '../fakes/client.ts'
import { makeKey } from '../fakes/keys.ts'
import { type ChildService, dataFolder, spawnService } from '../fakes/service.ts'
import { type HoldingProxy, startHoldingProxy } from '../postgres/holding-proxy.ts'
import { type PostgresPlace, postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'
import { promisedMs } from '../promised-ms.ts'
import { seededRandom } from '../seeded-random.ts'
import { until } from '../until.ts'

const STATEMENT_SECONDS = 2
/** How much longer than the server's own limit the service waits for an answer, and how long for a connection. */
const GRACE_MS = 2_000
const CONNECTION_MS = 5_000
/** The delay that a shared machine may add. */
const MACHINE_MS = promisedMs(5_000)
const LIMIT_MS = CONNECTION_MS + STATEMENT_SECONDS * 1_000 + GRACE_MS + MACHINE_MS
const ROUNDS = process.env.TAPELINE_SOAK === undefined ? 0 : 20
/** The long size enforces the promise, because tests share their machine. */
const WELL_AGAIN_MS = process.env.TAPELINE_SOAK === undefined ? 60_000 : 15_000
const KEYS = 12

let place: PostgresPlace
let proxy: HoldingProxy
let service: ChildService
const folder = dataFolder()
const keys: string[] = []

before(async () => {
  if (withoutPostgres !== false) return
  place = postgresPlace()
  proxy = await startHoldingProxy(place.address)
  const env = {
    TAPELINE_STORE: `${proxy.address}&pool_size=3&statement_timeout=${STATEMENT_SECONDS}`,
    TAPELINE_SECRET: 'a secret of all processes, of which this is one',
    TAPELINE_ROLES: 'api',
  }
  service = await spawnService(folder.path, { env })
  // Connected without the proxy, so that the test itself is not delayed.
  const { config } = loadConfig({
    ...env,
    TAPELINE_STORE: place.address,
    TAPELINE_DATA: folder.path,
    TAPELINE_PLANS: `${folder.path}/plans.json`,
  })
  const parts = openAccounts(config, systemClock)
  for (let n = 0; n < KEYS; n++) keys.push(await makeKey(parts.accounts, {}))
  await parts.store.close()
})
after(async () => {
  await service?.kill('SIGKILL')
  await proxy?.close()
  await place?.remove()
  folder.remove()
})

interface Timed extends Answer {
  readonly tookMs: number
}

async function timed(path: string, key?: string): Promise<Timed> {
  const startedMs = performance.now()
  const answer = await ask(`${service.url}${path}`, key === undefined ? {} : { key })
  return Object.assign(answer, { tookMs: performance.now() - startedMs })
}

/** Requests of all keys, known or not yet, that need the store in different ways. */
function burst(count: number): Promise<Timed>[] {
  const paths = ['/v1/limits', '/v1/sources', '/v1/candles?symbol=BTC&interval=1m', '/v1/webhooks']
  return Array.from({ length: count }, (_, n) => timed(paths[n % paths.length] ?? '', keys[n % keys.length]))
}

/** Either the request was answered, or the caller is told when to try again. */
function assertHonest(answers: readonly Timed[], limitMs: number): Record<number, number> {
  for (const { status, headers, text, tookMs } of answers) {
    assert.ok(tookMs <= limitMs, `${status} after ${Math.round(tookMs)} ms`)
    if (status === 200) continue
    assert.equal(status, 503, text)
    assert.equal(JSON.parse(text).error, 'environment_unavailable')
    assert.match(headers.get('retry-after') ?? '', /^\d+$/)
  }
  const counts = Map.groupBy(answers, ({ status }) => status)
  return Object.fromEntries([...counts].map(([status, each]) => [status, each.length]))
}

const slowest = (answers: readonly Timed[]) => Math.round(Math.max(...answers.map(({ tookMs }) => tookMs)))

async function isWellAgain(limitMs: number): Promise<void> {
  await until(
    'every request is answered',
    async () => (await Promise.all(burst(24))).every(({ status }) => status === 200),
    limitMs,
  )
  await until('it is ready', async () => (await timed('/ready')).status === 200, limitMs, 100)
}

test('a connection that hangs: 503 with Retry-After in time, and the service goes on when it is back', {
  skip: withoutPostgres,
}, async (t) => {
  assert.deepEqual(assertHonest(await Promise.all(burst(40)), Number.POSITIVE_INFINITY), { 200: 40 })
  proxy.hold()
  const held = burst(60)
  const health = await timed('/health')
  assert.ok(health.status === 200 && health.tookMs < MACHINE_MS, 'the process itself is well')
  const answers = await Promise.all(held)
  const counts = assertHonest(answers, LIMIT_MS)
  assert.ok((counts[503] ?? 0) > 30, JSON.stringify(counts))
  const ready = await timed('/ready')
  assert.equal(ready.status, 503)
  assert.ok(ready.tookMs <= LIMIT_MS)
  t.diagnostic(`slowest answer ${slowest(answers)} ms`)
  proxy.letGo()
  const backMs = performance.now()
  await isWellAgain(WELL_AGAIN_MS)
  t.diagnostic(`well again after ${Math.round(performance.now() - backMs)} ms`)
})

/** From then on everything that reads accounts waits until the returned function is called. */
async function lock(): Promise<() => Promise<void>> {
  const blocker = new Client({ connectionString: place.address.replace(/\?.*/, '') })
  await blocker.connect()
  const schema = new URL(place.address).searchParams.get('schema')
  const tables = ['accounts', 'keys', 'budgets'].map((table) => `${schema}.${table}`)
  await blocker.query('BEGIN')
  await blocker.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`)
  return async () => {
    await blocker.query('ROLLBACK')
    await blocker.end()
  }
}

test('a full pool: a bounded wait, then 503; nothing collapses', { skip: withoutPostgres }, async (t) => {
  await isWellAgain(WELL_AGAIN_MS)
  const unlock = await lock()
  const locked = wait(STATEMENT_SECONDS * 1_000 + 3_000).then(unlock)
  const answers = await Promise.all(burst(400))
  await locked
  const counts = assertHonest(answers, LIMIT_MS)
  assert.ok((counts[503] ?? 0) > 0)
  t.diagnostic(`${JSON.stringify(counts)}, slowest ${slowest(answers)} ms`)
  await isWellAgain(WELL_AGAIN_MS)
})

test(`${ROUNDS} drawn disturbances under load`, {
  skip: withoutPostgres === false && ROUNDS === 0 ? 'only in the long size' : withoutPostgres,
}, async (t) => {
  const random = seededRandom(t)
  const disturbances = {
    async hold(ms: number) {
      proxy.hold()
      await wait(ms)
      proxy.letGo()
    },
    async cut(ms: number) {
      proxy.cut()
      await wait(ms / 10)
      proxy.cut()
    },
    async lock(ms: number) {
      const unlock = await lock()
      await wait(ms)
      await unlock()
    },
  }
  for (let round = 0; round < ROUNDS; round++) {
    const kind = random.pick(Object.keys(disturbances) as (keyof typeof disturbances)[])
    const ms = random.int(50, 8_000)
    const asking = (async () => {
      const answers: Timed[] = []
      for (const endsAt = performance.now() + ms + 1_000; performance.now() < endsAt; )
        answers.push(...(await Promise.all(burst(random.int(10, 100)))))
      return answers
    })()
    await wait(random.int(0, 500))
    await disturbances[kind](ms)
    const answers = await asking
    const counts = assertHonest(answers, LIMIT_MS)
    const backMs = performance.now()
    await isWellAgain(WELL_AGAIN_MS)
    t.diagnostic(
      `${kind} for ${ms} ms: ${JSON.stringify(counts)}, slowest ${slowest(answers)} ms, well after ${Math.round(performance.now() - backMs)} ms`,
    )
  }
})
