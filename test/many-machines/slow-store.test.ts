/** A store that does not answer, or answers late: callers hear so in time, nothing waits for ever, and it ends by itself. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { openAccounts } from '../../src/app/open-accounts.ts'
import { loadConfig } from '../../src/config.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { type Answer, ask } from '../fakes/client.ts'
import { makeKey } from '../fakes/keys.ts'
import { type ChildService, dataFolder, spawnService } from '../fakes/service.ts'
import { type HoldingProxy, startHoldingProxy } from '../postgres/holding-proxy.ts'
import { type PostgresPlace, postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'
import { until } from '../until.ts'

const STATEMENT_SECONDS = 2
/** What the service waits longer than the server's own limit for an answer, and for a connection. */
const GRACE_MS = 2_000
const CONNECTION_MS = 5_000
const MACHINE_MS = 1_500
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
  // Beside the proxy, so that the test itself is not held.
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

/** Either it was answered, or the caller hears when to come again. */
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

async function isWellAgain(limitMs: number): Promise<void> {
  await until(
    'every request is answered',
    async () => (await Promise.all(burst(24))).every(({ status }) => status === 200),
    limitMs,
  )
  assert.equal((await timed('/ready')).status, 200)
}

test('a connection that hangs: 503 with Retry-After in time, and the service goes on when it is back', {
  skip: withoutPostgres,
}, async (t) => {
  assert.deepEqual(assertHonest(await Promise.all(burst(40)), MACHINE_MS * 4), { 200: 40 })
  proxy.hold()
  const limitMs = CONNECTION_MS + STATEMENT_SECONDS * 1_000 + GRACE_MS + MACHINE_MS
  const held = burst(60)
  const health = await timed('/health')
  assert.ok(health.status === 200 && health.tookMs < MACHINE_MS, 'the process itself is well')
  const answers = await Promise.all(held)
  const counts = assertHonest(answers, limitMs)
  assert.ok((counts[503] ?? 0) > 30, JSON.stringify(counts))
  const ready = await timed('/ready')
  assert.equal(ready.status, 503)
  assert.ok(ready.tookMs <= limitMs)
  t.diagnostic(`slowest answer ${Math.round(Math.max(...answers.map(({ tookMs }) => tookMs)))} ms`)
  proxy.letGo()
  const backMs = performance.now()
  await isWellAgain(15_000)
  t.diagnostic(`well again after ${Math.round(performance.now() - backMs)} ms`)
})

test('a full pool: a bounded wait, then 503; nothing collapses', { skip: withoutPostgres }, async (t) => {
  await isWellAgain(5_000)
  const blocker = new Client({ connectionString: place.address.replace(/\?.*/, '') })
  await blocker.connect()
  const schema = new URL(place.address).searchParams.get('schema')
  await blocker.query('BEGIN')
  await blocker.query(
    `LOCK TABLE ${schema}.accounts, ${schema}.keys, ${schema}.budgets IN ACCESS EXCLUSIVE MODE`,
  )
  const waiting = Promise.all(burst(400))
  await wait(STATEMENT_SECONDS * 1_000 + 3_000)
  await blocker.query('ROLLBACK')
  await blocker.end()
  const answers = await waiting
  const limitMs = CONNECTION_MS + STATEMENT_SECONDS * 1_000 + GRACE_MS + MACHINE_MS
  const counts = assertHonest(answers, limitMs)
  t.diagnostic(
    `${JSON.stringify(counts)}, slowest ${Math.round(Math.max(...answers.map(({ tookMs }) => tookMs)))} ms`,
  )
  await isWellAgain(5_000)
})
