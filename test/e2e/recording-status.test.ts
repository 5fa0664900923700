/**
 * What operators and callers see of a recording in trouble: `/v1/status` and `/ready` change when a venue, a feed or
 * the disk stops, and change back. The disk is a small one of the service's own (a mount namespace), really full.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../fakes/client.ts'
import { type ChildService, dataFolder, printedKey, spawnService } from '../fakes/service.ts'

const DISK = 'mount -t tmpfs -o size=768m tmpfs "$TAPELINE_DATA" && exec "$@"'
const OWN_DISK = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c']
const canMount = spawnSync(OWN_DISK[0] ?? '', [
  ...OWN_DISK.slice(1),
  'd=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && umount "$d"; s=$?; rmdir "$d"; exit $s',
]).status
const skip = canMount === 0 ? false : 'needs mount namespaces'
const EXCHANGES = ['cexa', 'cexa_futures', 'perpdex']
const WITHIN_MS = 45_000
const DAY_MS = 24 * 3_600_000

let service: ChildService
let key: string
const folder = dataFolder()
const data = join(folder.path, 'data')

before(async () => {
  if (skip !== false) return
  mkdirSync(data)
  service = await spawnService(folder.path, {
    env: { TAPELINE_DATA: data, TAPELINE_SANDBOX: 'on', TAPELINE_LOG_LEVEL: 'info' },
    wrap: [...OWN_DISK, DISK, 'sh'],
  })
  key = await printedKey(service)
  await becomes(
    'every exchange is healthy',
    async () => (await statesOf()).join() === 'healthy,healthy,healthy',
  )
})

after(async () => {
  await service?.kill('SIGTERM')
  folder.remove()
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

async function becomes(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + WITHIN_MS
  while (!(await isSo())) {
    if (performance.now() > endsAt)
      assert.fail(`not within ${WITHIN_MS} ms: ${what}; ${await statesOf()}; ${await complaint()}`)
    await wait(200)
  }
}

async function setFault(fault: object): Promise<void> {
  const [, control] = /"control":"(http:[^"]+)"[^\n]*simulated exchanges are up/.exec(service.printed()) ?? []
  const answer = await ask(`${control}/faults`, { method: 'POST', body: JSON.stringify(fault) })
  assert.equal(answer.status, 201, answer.text)
}

const isWell = async () => (await statesOf()).every((state) => state === 'healthy') && !(await complaint())

test('the past is filled as many days back as is set, and who asks for more is told', {
  skip,
}, async () => {
  const fromMs = Date.now() - 3 * DAY_MS
  const path = `/v1/candles?source=cexa&symbol=BTC&interval=1h&start=${new Date(fromMs).toISOString()}`
  const page = async () => (await ask(`${service.url}${path}`, { key })).json
  const rowsOf = async () => (await page()).data as { timestamp: string }[]
  await becomes('a day of hours is there', async () => (await rowsOf()).length >= 24)
  const { data, meta } = (await page()) as {
    data: { timestamp: string }[]
    meta: { clamped_reason?: string; effective_start?: string }
  }
  const firstMs = Date.parse(data[0]?.timestamp ?? '')
  // Whole days of UTC.
  assert.ok(firstMs >= fromMs + DAY_MS && firstMs % DAY_MS === 0, `${data[0]?.timestamp}`)
  assert.deepEqual([meta.clamped_reason, meta.effective_start], ['before_earliest_data', data[0]?.timestamp])
})

test('a venue that cuts every line is down, and healthy again when it lets us back', { skip }, async () => {
  await setFault({ kind: 'drop', venue: 'spot', durationMs: 6_000 })
  await becomes('spot is down', async () => (await statesOf())[0] === 'down')
  assert.match((await complaint()) ?? '', /^cexa is down \(0 of \d+ channels\)/)
  assert.deepEqual((await statesOf()).slice(1), ['healthy', 'healthy'], 'the others are not touched')
  await becomes('all is well', isWell)
})

test('a feed that falls silent makes its source stale, and healthy when it speaks again', {
  skip,
}, async () => {
  await setFault({ kind: 'mute', venue: 'perp', symbol: 'BTC', channel: 'l2Book', durationMs: 30_000 })
  await becomes('perpdex is stale', async () => (await statesOf())[2] === 'stale')
  assert.match((await complaint()) ?? '', /^perpdex is stale \(\d+ of \d+ channels\)/)
  await becomes('all is well', isWell)
})

test('a full disk: nothing is recorded and everybody is told; with room again it goes on', {
  skip,
}, async () => {
  const ballast = join(`/proc/${service.pid}/root`, data, 'ballast')
  fillDisk(ballast)
  await becomes('the store is full', async () => (await statesOf()).every((state) => state === 'down'))
  assert.match((await complaint()) ?? '', /cexa cannot be written: .*full/)
  rmSync(ballast)
  await becomes('all is well', isWell)
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
