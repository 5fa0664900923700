import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { candle, candleFeed, START, walk } from '../conformance/engine.ts'
import { openSqliteEnvironment } from './environment.ts'
import { APPLICATION_ID, NewerDatabaseError } from './migrate.ts'
import { openDatabase } from './open.ts'

test('sqlite: an in-memory environment serves what was written', async () => {
  const store = await openSqliteEnvironment({ file: ':memory:', clock: manualClock(START) })
  const feed = candleFeed('cexa')
  await store.write({ rows: [{ feed, rows: [candle(0), candle(1)] }] })
  const range = { from: START, to: START + 86_400_000 }
  assert.equal((await walk(store, { feeds: [feed], range, order: 'asc', limit: 1 })).length, 2)
  await store.close()
})

test('sqlite: two processes may write to one file, and see each other’s changes despite their caches', async () => {
  const clock = manualClock(START)
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  const file = join(folder, 'environment.db')
  const [a, b] = [await openSqliteEnvironment({ file, clock }), await openSqliteEnvironment({ file, clock })]
  const feed = candleFeed('cexa')
  await a.write({ rows: [{ feed, rows: [candle(0)] }] })
  await b.write({ finalize: [{ feed: feed, before: START + 600_000 }] })
  const [before] = await a.series.finality([feed])
  await a.write({ rows: [{ feed, rows: [candle(1)] }] })
  const [after] = await b.series.finality([feed])
  assert.notEqual(after?.epoch, before?.epoch)
  assert.equal((await b.write({ rows: [{ feed, rows: [candle(0), candle(1)] }] })).unchanged, 2)
  await Promise.all([a.close(), b.close()])
  rmSync(folder, { recursive: true })
})

test('sqlite: a file of a newer release is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  const file = join(folder, 'environment.db')
  const database = openDatabase({ file })
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 999`)
  database.close()
  await assert.rejects(openSqliteEnvironment({ file, clock: manualClock(START) }), NewerDatabaseError)
  rmSync(folder, { recursive: true })
})
