/**
 * What operators and callers see when recording is in trouble: `/v1/status` and `/ready` change when a venue, a feed or
 * the disk fails, and change back; frames that cannot be read are counted and stored. All of it uses one service, whose
 * disk is really full.
 */
import assert from 'node:assert/strict'
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../fakes/client.ts'
import { canMount, metricOf, type SandboxService, useSandboxService } from '../fakes/sandbox-service.ts'
import type { ChildService } from '../fakes/service.ts'

const skip =
  process.env.TAPELINE_TEST_ENGINE === 'postgres'
    ? 'the rows are not on the disk of the service'
    : canMount()
      ? false
      : 'needs mount namespaces'
const EXCHANGES = ['cexa', 'cexa_futures', 'perpdex']
const WITHIN_MS = 120_000
/** There is no promise how soon, because live recording has priority over the past. */
const FILLED_WITHIN_MS = 420_000
const DAY_MS = 24 * 3_600_000

const sandbox = useSandboxService()
let used: SandboxService
let service: ChildService
let key: string

before(async () => {
  used = await sandbox()
  service = used.service
  key = used.key
  await becomes(
    'every exchange is healthy',
    async () => (await statesOf()).join() === 'healthy,healthy,healthy',
  )
})

test('the status shows as many sources as asked for, and is that of all', async () => {
  const all = (await ask(`${service.url}/v1/status`, { key })).json
  const one = (await ask(`${service.url}/v1/status?limit=1`, { key })).json
  const names = ({ ingestion }: typeof all) => (ingestion as { source: string }[]).map(({ source }) => source)
  assert.deepEqual(names(one), names(all).slice(0, 1))
  assert.equal((await ask(`${service.url}/v1/status?limit=0`, { key })).status, 422)
})

async function statesOf(): Promise<string[]> {
  const { json } = await ask(`${service.url}/v1/status`, { key })
  const rows = json.ingestion as { source: string; status: string }[]
  return EXCHANGES.map((source) => rows.find((row) => row.source === source)?.status ?? 'absent')
}

/** What `/ready` says about the recorders; undefined while nothing is wrong with them. */
async function complaint(): Promise<string | undefined> {
  const { status, json } = await ask(`${service.url}/ready`)
  const parts = json.parts as { name: string; ok: boolean; detail?: string }[]
  assert.equal(status, parts.every(({ ok }) => ok) ? 200 : 503)
  assert.equal(json.ready, status === 200)
  return parts.find(({ name }) => name === 'test recorders')?.detail
}

const complains = async (of: RegExp) => of.test((await complaint()) ?? '')

async function becomes(what: string, isSo: () => Promise<boolean>, withinMs = WITHIN_MS): Promise<void> {
  const endsAt = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > endsAt)
      assert.fail(`not within ${withinMs} ms: ${what}; ${await statesOf()}; ${await complaint()}`)
    await wait(200)
  }
}

async function control(method: string, body?: object): Promise<void> {
  const [, url] = /"control":"(http:[^"]+)"[^\n]*simulated exchanges are up/.exec(service.printed()) ?? []
  const answer = await ask(`${url}/faults`, { method, ...(body ? { body: JSON.stringify(body) } : {}) })
  assert.ok(answer.status < 300, answer.text)
}
const setFault = (fault: object) => control('POST', fault)
const clearFaults = () => control('DELETE')

const isWell = async () => (await statesOf()).every((state) => state === 'healthy') && !(await complaint())

async function until<T>(
  look: () => T | undefined | Promise<T | undefined>,
  what: string,
  withinMs = WITHIN_MS,
): Promise<T> {
  const endMs = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    assert.ok(performance.now() < endMs, what)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

const lines = () =>
  service
    .printed()
    .split('\n')
    // The last one may not be complete yet.
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

const metric = (name: string) => metricOf(used, name)

test('frames that cannot be read are counted, logged and stored; trades continue', async () => {
  const trades = 'tapeline_ingest_total{environment="test",source="cexa",kind="trades"}'
  await until(async () => ((await metric(trades)) ?? 0) > 0 || undefined, 'trades are counted')
  await setFault({ kind: 'malformed', venue: 'spot', channel: 'aggTrade', count: 3 })
  const letters = 'tapeline_dead_letters_total{environment="test",venue="binance-spot",reason="malformed"}'
  await until(async () => ((await metric(letters)) === 3 ? true : undefined), 'three letters are counted')
  const file = join(used.dataInside, 'dead-letters', 'test-binance-spot.ndjson')
  // The file is written a moment after the count.
  const kept = await until(() => {
    const found = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
    return found.length >= 3 ? found.map((line) => JSON.parse(line)) : undefined
  }, 'three letters are in the file')
  assert.equal(kept.length, 3)
  assert.ok(
    kept.every(
      ({ venue, reason, text }) => venue === 'binance-spot' && reason === 'malformed' && text !== '',
    ),
  )
  assert.equal(lines().filter(({ msg }) => msg === 'a message could not be read').length, 1)
  const before = (await metric(trades)) ?? 0
  await until(async () => ((await metric(trades)) ?? 0) > before || undefined, 'trades go on')
  assert.notEqual(
    await metric('tapeline_ingest_total{environment="test",source="cexa",kind="differences"}'),
    undefined,
  )
})

test('the first backfill is reported in log lines where there is no terminal', async () => {
  const line = await until(() => lines().find(({ msg }) => msg === 'filling the past'), 'a line of progress')
  assert.ok(Number(line.percent) >= 10 && Number(line.total) > 30, JSON.stringify(line))
})

test('a venue that cuts every line is down, and healthy again when it lets us back', async () => {
  await setFault({ kind: 'drop', venue: 'spot', durationMs: 600_000 })
  await becomes(
    'spot is down, and the others are not touched',
    async () =>
      (await statesOf()).join() === 'down,healthy,healthy' &&
      (await complains(/^cexa is down \(0 of \d+ channels\)/)),
  )
  await clearFaults()
  await becomes('all is well', isWell)
})

test('a feed that falls silent makes its source stale, and healthy when it sends again', async () => {
  // Candles of a second are missed after 5 s of silence, sooner than any other channel.
  await setFault({ kind: 'mute', venue: 'spot', symbol: 'BTC', channel: 'kline' })
  await becomes(
    'cexa is stale',
    async () =>
      (await statesOf())[0] === 'stale' && (await complains(/^cexa is stale \(\d+ of \d+ channels\)/)),
  )
  await clearFaults()
  await becomes('all is well', isWell)
})

// Filled while the tests above were waiting.
test('the past is filled as many days back as is set, and a request for more is answered with what there is', async () => {
  const fromMs = Date.now() - 3 * DAY_MS
  const path = `/v1/candles?source=cexa&symbol=BTC&interval=1h&start=${new Date(fromMs).toISOString()}`
  const page = async () => (await ask(`${service.url}${path}`, { key })).json
  const rowsOf = async () => (await page()).data as { timestamp: string }[]
  // Whole days of UTC.
  const isFilled = async () => {
    const rows = await rowsOf()
    return rows.length >= 24 && Date.parse(rows[0]?.timestamp ?? '') % DAY_MS === 0
  }
  await becomes('a day of hours is there', isFilled, FILLED_WITHIN_MS)
  const { data, meta } = (await page()) as {
    data: { timestamp: string }[]
    meta: { clamped_reason?: string; effective_start?: string }
  }
  const firstMs = Date.parse(data[0]?.timestamp ?? '')
  assert.ok(firstMs >= fromMs + DAY_MS && firstMs % DAY_MS === 0, `${data[0]?.timestamp}`)
  assert.deepEqual([meta.clamped_reason, meta.effective_start], ['before_earliest_data', data[0]?.timestamp])
})

test('a full disk: nothing is recorded and everybody sees it; with room again it continues', {
  skip,
}, async () => {
  const ballast = join(used.dataInside, 'ballast')
  fillDisk(ballast)
  try {
    await becomes(
      'the store is full',
      async () =>
        (await statesOf()).every((state) => state === 'down') &&
        (await complains(/cexa cannot be written: .*full/)),
    )
  } finally {
    // The files after this one use the same service.
    rmSync(ballast)
  }
  await becomes('all is well', isWell)
  // The simulated nodes write to the same disk; they ended and are started again.
  await becomes('the nodes are back', async () => {
    const { json } = await ask(`${service.url}/v1/status`, { key })
    return (json.nodes as { synced: boolean }[]).every(({ synced }) => synced)
  })
})

function fillDisk(file: string): void {
  const handle = openSync(file, 'w')
  const block = Buffer.alloc(1024 * 1024)
  try {
    for (let size = block.length; size >= 4_096; size /= 2) {
      try {
        for (;;) writeSync(handle, block, 0, size)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  } finally {
    closeSync(handle)
  }
}
