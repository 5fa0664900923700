/**
 * `tapeline store copy` as a process that is killed repeatedly: it continues where it stopped and ends with equal
 * hashes. The long form copies five million rows and is killed ten times.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Feed } from '../../src/core/feed.ts'
import type { CandleInput } from '../../src/core/rows/candle.ts'
import { SYMBOLS } from '../../src/core/symbol.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { observed } from '../../src/store/coverage.ts'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { cli, dataFolder } from '../fakes/service.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'
import { type SeededRandom, seededRandom } from '../seeded-random.ts'
import { START_MS } from './drawn-data.ts'
import { fillStores } from './filled-store.ts'

const isLong = process.env.TAPELINE_SOAK !== undefined
const ROWS = isLong ? 5_000_000 : 10_000
const KILLS = isLong ? 10 : 1
const FEEDS = 4
const MAX_SHARE = 0.95
/** From here on too little may be left to do for a delay. */
const LATE_SHARE = 0.4
const MAX_DELAY_MS = 30
const ROWS_PER_WRITE = 2_500
const SECRET = 'a secret of more than thirty-two characters'
const PROCESS = join(import.meta.dirname, 'copy-process.ts')

/** Rows of several days and feeds; what they are does not matter, only that every one is there. */
async function fillRows(folder: string, count: number): Promise<void> {
  const address = { ...parseStoreAddress(folder), sync: 'off' as const }
  const store = await openStores(address, systemClock).environment('test')
  const symbols = SYMBOLS.slice(0, FEEDS)
  for (let done = 0; done < count; done += ROWS_PER_WRITE * symbols.length) {
    const first = START_MS + (done / symbols.length) * 1_000
    const rows = symbols.map((symbol) => {
      const feed: Feed<'candles'> = { dataset: 'candles', source: 'cexa', symbol, interval: '1s' }
      const candles = Array.from(
        { length: ROWS_PER_WRITE },
        (_, i): CandleInput => ({
          ...{ time: first + i * 1_000, open: 100, high: 110, low: 90, close: 100 + (i % 9) },
          ...{ volume: i, closed: true },
        }),
      )
      return { feed, rows: candles }
    })
    const to = first + ROWS_PER_WRITE * 1_000
    await store.write({ rows, coverage: rows.map(({ feed }) => observed(feed, first, to)) })
  }
  await store.close()
}

interface KillPoint {
  /** Of all rows to copy and to compare. */
  readonly share: number
  readonly delayMs: number
}

/** Whether it was killed. */
async function killAt({ share, delayMs }: KillPoint, from: string, to: string): Promise<boolean> {
  const child = spawn(process.execPath, [PROCESS, String(share), String(delayMs), from, to], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [, signal] = await once(child, 'exit')
  return signal === 'SIGKILL'
}

function drawPoint(random: SeededRandom): KillPoint {
  const share = random() * MAX_SHARE
  return { share, delayMs: share < LATE_SHARE ? random.int(0, MAX_DELAY_MS) : 0 }
}

/** Killed at drawn moments of its work; then it runs to its end. */
async function copyWithKills(
  t: TestContext,
  random: SeededRandom,
  { from, to }: { from: string; to: string },
) {
  const points = Array.from({ length: KILLS }, () => drawPoint(random)).sort((a, b) => a.share - b.share)
  t.diagnostic(
    `killed at ${points.map(({ share, delayMs }) => `${share.toFixed(3)} + ${delayMs} ms`).join(', ')}`,
  )
  for (const point of points)
    assert.equal(await killAt(point, from, to), true, `killed at ${JSON.stringify(point)}`)
  const args = ['store', 'copy', '--from', from, '--to', to, '--json']
  const startedMs = performance.now()
  const { code, stdout, stderr } = await cli(tmpdir(), args, { TAPELINE_SECRET: SECRET })
  assert.equal(code, 0, stderr)
  t.diagnostic(`${stdout.trim()} in ${Math.round(performance.now() - startedMs)} ms`)
  return JSON.parse(stdout) as { rows: number; parts: number; result: string }
}

test(`a copy of ${ROWS} rows that is killed ${KILLS} times goes on where it stopped, in both directions`, {
  skip: withoutPostgres,
}, async (t) => {
  const random = seededRandom(t)
  const clock = manualClock(START_MS)
  const [folder, back] = [dataFolder(), dataFolder()]
  const place = postgresPlace()
  try {
    const fast = { ...parseStoreAddress(folder.path), sync: 'off' as const }
    await fillStores(openStores(fast, clock), random, clock)
    await fillRows(folder.path, ROWS)
    const keys = ['webhook.key', 'cursor.key'].map((name) => [name, randomBytes(32)] as const)
    for (const [name, bytes] of keys) writeFileSync(join(folder.path, name), bytes)

    const there = await copyWithKills(t, random, { from: `sqlite:${folder.path}`, to: place.address })
    assert.equal(there.result, 'the same in both')
    assert.ok(there.rows > ROWS)
    const again = await copyWithKills(t, random, { from: place.address, to: `sqlite:${back.path}` })
    assert.deepEqual([again.rows, again.parts], [there.rows, there.parts])
    for (const [name, bytes] of keys) assert.deepEqual(readFileSync(join(back.path, name)), bytes)
    const refused = await cli(folder.path, ['store', 'copy', '--from', folder.path, '--to', place.address], {
      TAPELINE_SECRET: SECRET,
    })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /is not empty \(shared\/accounts/)
  } finally {
    await place.remove()
    folder.remove()
    back.remove()
  }
})
