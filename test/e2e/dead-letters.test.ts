/** The whole service while a venue sends what cannot be read: operators see it, and recording goes on. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ChildService, dataFolder, spawnService } from '../fakes/service.ts'

const TOKEN = 'a-token-for-metrics'
const WITHIN_MS = 40_000
const folder = dataFolder()
let service: ChildService
before(async () => {
  service = await spawnService(folder.path, {
    env: { TAPELINE_SANDBOX: 'on', TAPELINE_LOG_LEVEL: 'info', TAPELINE_METRICS_TOKEN: TOKEN },
  })
})
after(async () => {
  await service.kill('SIGTERM')
  folder.remove()
})

async function until<T>(look: () => T | undefined | Promise<T | undefined>, what: string): Promise<T> {
  const endMs = performance.now() + WITHIN_MS
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
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

async function metric(name: string): Promise<number | undefined> {
  const answer = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  const found = (await answer.text()).split('\n').find((line) => line.startsWith(`${name} `))
  return found === undefined ? undefined : Number(found.split(' ').at(-1))
}

test('frames that cannot be read are counted, logged and kept; trades go on', async () => {
  const control = await until(
    () => lines().find(({ msg }) => msg === 'simulated exchanges are up')?.control as string | undefined,
    'the simulated exchanges are up',
  )
  const trades = 'tapeline_ingest_total{environment="test",source="cexa",kind="trades"}'
  await until(async () => ((await metric(trades)) ?? 0) > 0 || undefined, 'trades are counted')
  const fault = { kind: 'malformed', venue: 'spot', channel: 'aggTrade', count: 3 }
  const set = await fetch(`${control}/faults`, { method: 'POST', body: JSON.stringify(fault) })
  assert.ok(set.ok, await set.text())
  const letters = 'tapeline_dead_letters_total{environment="test",venue="binance-spot",reason="malformed"}'
  await until(async () => ((await metric(letters)) === 3 ? true : undefined), 'three letters are counted')
  const file = join(folder.path, 'dead-letters', 'test-binance-spot.ndjson')
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

test('the first backfill is told in log lines where nobody looks at a terminal', async () => {
  const line = await until(() => lines().find(({ msg }) => msg === 'filling the past'), 'a line of progress')
  assert.ok(Number(line.percent) >= 10 && Number(line.total) > 30, JSON.stringify(line))
})
