/**
 * Processes that pack rows, delete rows before a border and give back free pages are killed at random moments. Every
 * retained row must exist once and unchanged, and no row may lie within the time range of a block.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { seededRandom } from '../../../test/seeded-random.ts'
import type { Feed } from '../../core/feed.ts'
import { systemClock } from '../../kit/clock.ts'
import { candle, candleFeed, START } from '../conformance/engine.ts'
import type { EnvironmentStore } from '../environment.ts'
import { openSqliteEnvironment } from './environment.ts'

const KILLS = process.env.TAPELINE_SOAK === undefined ? 2 : 60
const ROWS = process.env.TAPELINE_SOAK === undefined ? 3_000 : 20_000
/** Rows before this time are deleted during the test. */
const BORDER = START + 1_000 * 1_000
const END = START + ROWS * 1_000
const MAX_STEPS = 12
const MAX_DELAY_MS = 15

const CANDLES = candleFeed('cexa', '1s')
const BOOKS: Feed<'snapshots'> = { dataset: 'snapshots', source: 'perpdex', symbol: 'BTC', interval: '' }

const module = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)).href)
/** Ends itself by SIGKILL after a number of steps, or a little later, then usually inside a transaction. */
const SCRIPT = `
  import { openSqliteEnvironment } from ${module('environment.ts')}
  import { systemClock } from ${module('../../kit/clock.ts')}
  const [file, steps, delayMs] = process.argv.slice(1)
  const clock = { ...systemClock, now: () => ${END} }
  const store = await openSqliteEnvironment({ file, clock })
  const kill = () => process.kill(process.pid, 'SIGKILL')
  let done = 0
  const betweenSteps = async () => {
    if (++done === Number(steps)) delayMs === '0' ? kill() : setTimeout(kill, Number(delayMs))
    return true
  }
  await store.series.retain({}, ${END - BORDER}, { betweenSteps })
  await store.compact(0, { betweenSteps, withUnfinal: true })
  await store.giveBackRoom({ betweenSteps })
  process.exit(0)
`

/** Whether the process was killed before it ended. */
async function runKilled(file: string, steps: number, delayMs: number): Promise<boolean> {
  const args = ['--input-type=module', '-e', SCRIPT, '--', file, String(steps), String(delayMs)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code, signal] = await once(child, 'exit')
  assert.ok(code === 0 || signal === 'SIGKILL', `${code} ${signal}`)
  return signal === 'SIGKILL'
}

async function hashesOf(store: EnvironmentStore): Promise<string[]> {
  const hashes: string[] = []
  for (const feed of [CANDLES, BOOKS]) {
    const range = { from: BORDER, to: END }
    const { text, count } = await store.series.page({
      ...{ feeds: [feed], range, order: 'asc', limit: ROWS, separator: ',\n' },
    })
    hashes.push(`${feed.dataset}: ${count} ${hash('sha256', text)}`)
  }
  return hashes
}

/** Reads the tables directly. */
function check(file: string): { packed: number; plain: number } {
  const database = new DatabaseSync(file, { readOnly: true })
  const one = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0])
  try {
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    assert.equal(
      one(
        `SELECT count(*) FROM packed_rows p JOIN series_rows s ON s.feed = p.feed AND s.ts BETWEEN p.first_ts AND p.last_ts`,
      ),
      0,
      'a row lies inside of a block',
    )
    const plain = one('SELECT count(*) FROM series_rows')
    assert.equal(one('SELECT sum(rows) FROM feeds'), plain, 'rows are counted as they are')
    return { packed: one('SELECT coalesce(sum(rows), 0) FROM packed_rows'), plain }
  } finally {
    database.close()
  }
}

test(`sqlite: packing, retention and giving back room killed ${KILLS} times lose no row, and leave none twice`, async (t) => {
  const random = seededRandom(t)
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  const file = join(folder, 'live.db')
  t.after(() => rmSync(folder, { recursive: true }))
  const open = () => openSqliteEnvironment({ file, clock: systemClock })
  const first = await open()
  const times = Array.from({ length: ROWS }, (_, i) => START + i * 1_000)
  const level = (i: number, far: number): [string, string] => [String(100 + far), String(1 + (i % 17))]
  await first.write({
    rows: [{ feed: CANDLES, rows: times.map((time, i) => candle(0, { time, volume: String(i % 977) })) }],
  })
  await first.write({
    rows: [
      {
        feed: BOOKS,
        rows: times.map((time, i) => ({ time, book: { bids: [level(i, -1)], asks: [level(i, 1)] } })),
      },
    ],
  })
  const before = await hashesOf(first)
  await first.close()

  let killed = 0
  for (let i = 0; i < KILLS; i++) {
    // The first process has all the work still to do.
    const [steps, delayMs] = i === 0 ? [2, 0] : [random.int(1, MAX_STEPS), random.int(0, MAX_DELAY_MS)]
    if (await runKilled(file, steps, delayMs)) killed++
    const { packed, plain } = check(file)
    t.diagnostic(`${packed} rows in blocks, ${plain} outside`)
    const store = await open()
    assert.deepEqual(await hashesOf(store), before)
    // A row that arrives again unpacks its block.
    const feed = CANDLES
    await store.write({
      rows: [{ feed, rows: [candle(0, { time: BORDER + i * 1_000, volume: String((1_000 + i) % 977) })] }],
    })
    await store.close()
  }
  assert.ok(killed > 0, 'no process was killed before it had ended')
  await runKilled(file, 0, 0)
  assert.ok(check(file).packed > ROWS, 'packed in the end')
  const last = await open()
  assert.deepEqual(await hashesOf(last), before)
  await last.close()
})
