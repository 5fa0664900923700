import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { encodeSnapshot } from '../../core/rows/snapshot.ts'
import { manualClock } from '../../kit/clock.ts'
import { START, seeded, walk } from '../conformance/engine.ts'
import { drifting } from '../conformance/snapshots.ts'
import type { RowFilters } from '../series.ts'
import { openSqliteEnvironment } from './environment.ts'
import { ENVIRONMENT_MIGRATIONS } from './environment-schema.ts'
import { migrate, schemaVersion } from './migrate.ts'
import { openDatabase } from './open.ts'

const feed = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '5m' } as const
const MINUTE_MS = 60_000

/** A file as the first schema had it: keys in series_rows, minutes in blocks, the newest minute row by row. */
function writeFirstVersion(database: DatabaseSync, rows: ReturnType<typeof drifting>): void {
  migrate(database, 'environment', ENVIRONMENT_MIGRATIONS.slice(0, 1))
  database.exec(
    `INSERT INTO feeds (dataset, source, symbol, interval) VALUES ('snapshots', 'predmkt_a', 'BTC', '5m')`,
  )
  database.exec(`INSERT INTO series_active VALUES (1, ${Math.floor(START / 3_600_000)}, '0xa')`)
  database.exec(
    `INSERT INTO feeds (dataset, source, symbol, interval) VALUES ('snapshots', 'perpdex', 'BTC', '')`,
  )
  database.exec(
    `INSERT INTO series_rows VALUES (2, ${START}, '', 0, '{"x":1}', 1, NULL, NULL, NULL, 1, ${START})`,
  )
  database.exec(
    `INSERT INTO feeds (dataset, source, symbol, interval) VALUES ('trades', 'predmkt_b', 'BTC', '')`,
  )
  for (let i = 0; i < 500; i++)
    database.exec(
      `INSERT INTO series_rows VALUES (3, ${START + i * 3_000}, 'KX-${i % 3}', ${i}, '{"side":"${i % 2 ? 'buy' : 'sell'}","n":${i}}', 1, '${i % 2 ? 'buy' : 'sell'}', NULL, NULL, 1, ${START})`,
    )
  const key = database.prepare(`INSERT INTO series_rows VALUES (1, ?, ?, ?, '', 1, NULL, NULL, 7, 1, ?)`)
  const tail = database.prepare('INSERT INTO books_tail VALUES (1, ?, ?, ?, ?, ?, ?)')
  const block = database.prepare(
    'INSERT INTO books_blocks (feed, instrument, minute, version, data) VALUES (1, ?, ?, 1, ?)',
  )
  const encoded = rows.map((row) => encodeSnapshot(feed, row))
  const newest = Math.max(...encoded.map(({ ts }) => Math.floor(ts / MINUTE_MS)))
  const minutes = Map.groupBy(encoded, ({ ts, instrument }) => `${Math.floor(ts / MINUTE_MS)}/${instrument}`)
  for (const [name, group] of minutes) {
    const [minute, instrument = ''] = name.split('/')
    for (const { ts, seq } of group) key.run(ts, instrument, seq, ts + 1_234)
    if (Number(minute) === newest) {
      for (const { ts, seq, text, books = '' } of group) tail.run(newest, instrument, ts, seq, text, books)
      continue
    }
    let before = ['', '', '', '']
    const lines = group.map(({ ts, seq, text, books = '' }) => {
      const sides = books.split('|')
      const changes = sides.map((side, i) => {
        if (side === before[i]) return ''
        const gone = before[i] === '' ? 0 : (before[i] ?? '').split(';').length
        return `0,${gone},${side}`
      })
      before = sides
      return `${ts % MINUTE_MS}|${seq}|${changes.join('|')}|${text}`
    })
    block.run(instrument, Number(minute), zstdCompressSync(Buffer.from(lines.join('\n'))))
  }
}

test('a file of the first schema keeps every snapshot, byte for byte, and goes on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  try {
    const rows = drifting(seeded(3), ['0xa', '0xb'], 700, 1_000)
    const file = join(folder, 'old.db')
    const old = openDatabase({ file })
    writeFirstVersion(old, rows)
    assert.equal(schemaVersion(old), 1)
    old.close()

    const clock = manualClock(START + 3_600_000)
    const store = await openSqliteEnvironment({ file, clock })
    const fresh = await openSqliteEnvironment({ file: ':memory:', clock })
    await fresh.series.append([{ feed, rows }])
    const range = { from: START, to: START + 3_600_000 }
    for (const order of ['asc', 'desc'] as const) {
      const query = { feeds: [feed], range, order, limit: 99, books: { books: true, diffs: true } } as const
      assert.deepEqual(await walk(store, query), await walk(fresh, query))
    }
    const perp = { ...feed, source: 'perpdex', interval: '' } as const
    assert.deepEqual(await walk(store, { feeds: [perp], range, order: 'asc', limit: 5 }), ['{"x":1}'])
    const prints = { dataset: 'trades', source: 'predmkt_b', symbol: 'BTC', interval: '' } as const
    const numbers = async (filters: RowFilters) =>
      (await walk(store, { feeds: [prints], range, order: 'asc', limit: 70, filters })).map((text) =>
        Number(JSON.parse(text).n),
      )
    const every = (step: number, from: number) =>
      Array.from({ length: 500 }, (_, i) => i).filter((i) => i % step === from)
    assert.deepEqual(await numbers({}), every(1, 0))
    assert.deepEqual(await numbers({ side: 'buy' }), every(2, 1))
    assert.deepEqual(await numbers({ instruments: ['KX-2'] }), every(3, 2))
    assert.equal((await store.series.append([{ feed, rows }])).unchanged, rows.length)
    const [first] = rows
    assert.ok(first)
    const other = { ...first, slug: 'another' }
    assert.equal((await store.series.append([{ feed, rows: [other] }])).corrected, 1)
    const [revision] = await store.series.revisions({ feeds: [feed], range, limit: 5 })
    assert.equal(revision?.recordedAt, START + 1_234)
    await store.close()
    await fresh.close()

    const database = openDatabase({ file })
    assert.equal(schemaVersion(database), ENVIRONMENT_MIGRATIONS.length)
    const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE name LIKE 'books_%'`).all()
    assert.deepEqual(tables, [])
    assert.equal(database.prepare('SELECT count(*) AS n FROM series_rows').get()?.n, 1)
    database.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
