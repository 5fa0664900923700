import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { Feed } from '../../core/feed.ts'
import { candle, candleFeed, START, seeded } from '../conformance/engine.ts'
import { drifting } from '../conformance/snapshots.ts'
import { openStores, parseStoreAddress } from '../open-stores.ts'
import { measureFolder } from './disk-use.ts'
import { COUNT_FEEDS, COUNT_GROUPS } from './environment-schema.ts'
import { openDatabase } from './open.ts'

const SNAPSHOTS: Feed<'snapshots'> = {
  dataset: 'snapshots',
  source: 'predmkt_a',
  symbol: 'BTC',
  interval: '5m',
}

/** The counters that every write updates, and the result of counting everything. */
function countsIn(file: string) {
  const database = openDatabase({ file })
  try {
    const read = () => ({
      feeds: database.prepare('SELECT dataset, interval, rows, bytes FROM feeds ORDER BY id').all(),
      groups: database.prepare('SELECT id, bytes FROM book_groups ORDER BY id').all(),
    })
    const counted = read()
    database.exec('BEGIN')
    database.exec(COUNT_FEEDS)
    database.exec(COUNT_GROUPS)
    const real = read()
    database.exec('ROLLBACK')
    return { counted, real }
  } finally {
    database.close()
  }
}

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-disk-'))
  try {
    await run(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('rows and bytes are counted with every write: inserted, repeated, corrected, folded, deleted', () =>
  inFolder(async (folder) => {
    const clock = manualClock(START)
    const random = seeded(7)
    const store = await openStores(parseStoreAddress(folder), clock).environment('test')
    const minutes = Array.from({ length: 700 }, (_, minute) => candle(minute))
    const snapshots = drifting(random, ['KX-1', 'KX-2'], 900)
    for (let turn = 0; turn < 12; turn++) {
      const from = random.below(600)
      await store.write({
        rows: [
          { feed: candleFeed('cexa'), rows: minutes.slice(from, from + random.below(100)) },
          { feed: SNAPSHOTS, rows: random.shuffle(snapshots).slice(0, 200) },
        ],
      })
    }
    const same = { open: '100', volume: '7' }
    await store.write({
      rows: [{ feed: candleFeed('cexa'), rows: minutes.slice(0, 50).map((row) => ({ ...row, ...same })) }],
    })
    clock.set(START + 300 * 60_000)
    await store.series.retain({ dataset: 'candles' }, 60 * 60_000)
    clock.set(START + 200_000)
    await store.series.retain({ dataset: 'snapshots' }, 1_000)
    await store.close()
    const { counted, real } = countsIn(join(folder, 'test.db'))
    const rowsOf = ({ feeds }: typeof counted) => feeds.map(({ dataset, rows }) => ({ dataset, rows }))
    assert.deepEqual(rowsOf(counted), rowsOf(real))
    assert.deepEqual(counted.groups, real.groups)
    const [own, all] = [counted.feeds[0]?.bytes, real.feeds[0]?.bytes].map(Number) as [number, number]
    // A corrected row is still counted with its old size.
    assert.ok(Math.abs(own - all) / all < 0.01, `${own} of ${all}`)
  }))

test('the parts of a file add up to its pages, and each is near what its rows take', () =>
  inFolder(async (folder) => {
    const clock = manualClock(START)
    const store = await openStores(parseStoreAddress(folder), clock).environment('test')
    const day = Array.from({ length: 20_000 }, (_, minute) => candle(minute))
    const trade = { seq: 0, side: 'long' as const, quantity: 1, price: 10, avgPrice: 10 }
    const liquidations: Feed<'liquidations'> = {
      ...{ dataset: 'liquidations', source: 'cexa_futures', symbol: 'BTC', interval: '' },
    }
    const rows = Array.from({ length: 40_000 }, (_, i) => ({ ...trade, time: START + i * 1000 }))
    await store.write({ rows: [{ feed: candleFeed('cexa'), rows: day }] })
    await store.write({ rows: [{ feed: liquidations, rows }] })
    await store.close()
    const { parts } = measureFolder(folder)
    const database = openDatabase({ file: join(folder, 'test.db'), readOnly: true })
    const pages = Number(database.prepare('SELECT sum(pgsize) AS bytes FROM dbstat').get()?.bytes)
    const real = database
      .prepare(
        `SELECT f.dataset, sum(octet_length(r.text) + 36) AS bytes FROM feeds f JOIN series_rows r ON r.feed = f.id
          GROUP BY f.dataset`,
      )
      .all()
    database.close()
    const sum = parts.reduce((all, { bytes }) => all + bytes, 0)
    // Pointer-map pages belong to no table.
    assert.ok(sum >= pages && sum < pages * 1.005, `${sum} of ${pages} bytes`)
    for (const { dataset, bytes } of real) {
      const shown = parts.find(({ part }) => part === dataset)?.bytes ?? 0
      assert.ok(shown > Number(bytes) && shown < Number(bytes) * 1.3, `${dataset}: ${shown} for ${bytes}`)
    }
  }))

test('a file of schema version 1 is counted when it is upgraded', () =>
  inFolder(async (folder) => {
    const old = join(import.meta.dirname, '../../../test/fixtures/data-v1/test.db.gz')
    writeFileSync(join(folder, 'test.db'), gunzipSync(readFileSync(old)))
    const stores = openStores(parseStoreAddress(folder), manualClock(START))
    await (await stores.environment('test')).close()
    const { counted, real } = countsIn(join(folder, 'test.db'))
    assert.deepEqual(counted, real)
    assert.ok(counted.feeds.some(({ rows }) => Number(rows) > 0))
    assert.ok(counted.groups.some(({ bytes }) => Number(bytes) > 0))
  }))
