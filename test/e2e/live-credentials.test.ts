/** The live environment with simulated venues on loopback: without credentials it says so and records what it can. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type SandboxPredictions, startSandboxPredictions } from '../../sandbox/predictions/run.ts'
import { type ChildService, cliJson, dataFolder, spawnService } from '../fakes/service.ts'
import { until as untilHolds } from '../until.ts'

interface Source {
  source: string
  status: string
  rows_inserted: number
  notice: string | null
}

/** The number of contracts per event; the long sizes have all of them. */
const FEW_STRIKES = process.env.TAPELINE_SOAK === undefined ? { strikes: 6 } : {}
const PATIENCE_MS = 180_000
let sandbox: SandboxPredictions
const folder = dataFolder()
let key: string
let running: ChildService | undefined

before(async () => {
  sandbox = await startSandboxPredictions({ seed: 5, slotMs: 1_000, ...FEW_STRIKES })
  const account = await cliJson(folder.path, [
    ...['accounts', 'create', '--email', 'a@example.com', '--plan', 'business'],
  ])
  const made = await cliJson(folder.path, [
    ...['keys', 'create', '--account', String(account.id)],
    ...['--environment', 'live', '--name', 'k'],
  ])
  key = String(made.key)
})

afterEach(async () => {
  await running?.kill('SIGTERM')
})

after(async () => {
  await sandbox.close()
  folder.remove()
})

async function openSockets(): Promise<number> {
  const state = await (await fetch(`${sandbox.controlUrl}/state`)).json()
  return (state as { kalshi: { connections: number } }).kalshi.connections
}

/** A service whose live environment records the second venue of prediction markets, played by the sandbox. */
async function startLive(env: Record<string, string>) {
  const origin = (url: string) => new URL(url).origin
  const { restUrl, wsUrl } = sandbox.kalshi
  const hosts = `kalshi.rest=${origin(restUrl)},kalshi.stream=${origin(wsUrl)}`
  const service = await spawnService(folder.path, {
    env: { TAPELINE_TEST: 'off', TAPELINE_LIVE: 'predmkt_b', TAPELINE_VENUE_HOSTS: hosts, ...env },
  })
  running = service
  const get = async <T>(path: string) => {
    const answer = await fetch(`${service.url}${path}`, { headers: { 'X-API-Key': key } })
    return { status: answer.status, body: (await answer.json()) as T }
  }
  const until = async (holds: (source: Source) => boolean, what: string) => {
    for (const endsAt = performance.now() + PATIENCE_MS; ; await wait(200)) {
      const { status, body } = await get<{ ingestion: Source[] }>('/v1/status')
      assert.equal(status, 200)
      const source = body.ingestion.find((one) => one.source === 'predmkt_b')
      if (source !== undefined && holds(source)) return source
      assert.ok(performance.now() < endsAt, `${what}: ${JSON.stringify(source)}\n${service.printed()}`)
    }
  }
  return { service, get, until }
}

test('without credentials: a clear line at the start and in /v1/status, the venue is asked instead, and nothing ends', async () => {
  const { service, get, until } = await startLive({})
  const source = await until(({ rows_inserted }) => rows_inserted > 0, 'rows are asked for')
  assert.match(source.notice ?? '', /kalshi: no key id and no private key given.*polled over REST/)
  assert.match(service.printed(), /no key id and no private key given/)
  assert.equal((await get('/v1/snapshots?source=predmkt_b&symbol=BTC&limit=5')).status, 200)
  assert.equal(await openSockets(), 0)
  assert.equal(service.child.exitCode, null)
})

test('a private key that cannot be read is said the same way, without the key itself', async () => {
  const secret = 'not-a-key-but-still-secret'
  const { service, get, until } = await startLive({
    TAPELINE_KALSHI_KEY_ID: 'some-id',
    TAPELINE_KALSHI_PRIVATE_KEY: secret,
  })
  const source = await until(({ notice }) => notice !== null, 'a notice')
  assert.match(source.notice ?? '', /cannot be read as an RSA key/)
  assert.equal((await get('/health')).status, 200)
  assert.ok(!service.printed().includes(secret))
})

test('with credentials there is nothing to say, and the socket is open', async () => {
  const { keyId, privateKey = '' } = sandbox.kalshi
  const { until } = await startLive({
    TAPELINE_KALSHI_KEY_ID: keyId,
    TAPELINE_KALSHI_PRIVATE_KEY: privateKey.replaceAll('\n', '\\n'),
  })
  const source = await until(({ status, rows_inserted: rows }) => status !== 'down' && rows > 0, 'recording')
  assert.equal(source.notice, null)
  // Rows may have been polled before the socket was open.
  await untilHolds('an open socket', async () => (await openSockets()) > 0)
})
