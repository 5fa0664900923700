import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { until } from '../../../test/until.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { type Clock, systemClock } from '../../kit/clock.ts'
import { candle, candleFeed, START } from '../conformance/engine.ts'
import { checkBatches, killDuringAppend } from '../conformance/kill.ts'
import { observed } from '../coverage.ts'
import type { EnvironmentStore } from '../environment.ts'
import { LeaseLostError } from '../leases.ts'
import { openStores, parseStoreAddress } from '../open-stores.ts'
import { parsePostgresAddress } from './address.ts'
import { type Database, statement } from './database.ts'
import { openPostgresEnvironment } from './environment.ts'
import { ENVIRONMENT_MIGRATIONS } from './environment-schema.ts'
import { openDatabase, schemaOf } from './open-database.ts'

const KILLS = process.env.TAPELINE_SOAK ? 20 : 1
const feed = candleFeed('cexa')
const RANGE = { from: 0, to: Date.UTC(2200, 0) }
const all = { feeds: [feed], range: RANGE, order: 'asc', limit: 1_000, separator: ',' } as const

async function withPlace(
  run: (
    open: (clock?: Clock) => Promise<EnvironmentStore>,
    database: Database,
    address: string,
  ) => Promise<void>,
): Promise<void> {
  const place = postgresPlace()
  const address = parsePostgresAddress(place.address, 64)
  const opened: { close(): Promise<void> }[] = []
  const database = openDatabase({
    address,
    schema: schemaOf(address, 'test'),
    label: 'environment',
    migrations: ENVIRONMENT_MIGRATIONS,
    clock: systemClock,
  })
  opened.push(database)
  try {
    await run(
      async (clock = systemClock) => {
        const store = await openPostgresEnvironment({ address, environment: 'test', clock })
        opened.push(store)
        return store
      },
      database,
      place.address,
    )
  } finally {
    for (const each of opened) await each.close()
    await place.remove()
  }
}

const MONTHS = statement(
  'test_months',
  `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass('series_candles') ORDER BY 1`,
)
/** Of every row, also for a feed that does not exist yet. */
const COPY_TO_LATE_FEED = statement(
  'test_late_feed',
  `WITH late AS (
    INSERT INTO feeds (dataset, source, symbol, interval) VALUES ('candles', 'perpdex', 'BTC', '1m') RETURNING id)
  INSERT INTO series_candles (feed_id, ts, seq, recorded_at, usd, revision, writes, closed, instrument, side, text)
    SELECT late.id, ts, seq, recorded_at, usd, revision, writes, closed, instrument, side, text
      FROM series_candles, late`,
)
const WAITING = statement(
  'test_waiting',
  `SELECT 1 FROM pg_locks WHERE NOT granted AND relation IN (
    SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('series_candles')
    UNION SELECT to_regclass('series_candles'))`,
)
const monthsOf = async (database: Database) =>
  (await database.rows<{ name: string }>(MONTHS)).map(({ name }) => name.replace('series_candles_', ''))

test(
  'postgres: kill -9 during heavy append loses no acknowledged batch and leaves none in part',
  {
    skip: withoutPostgres,
  },
  () =>
    withPlace(async (open, _, address) => {
      const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
      const module = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)).href)
      const script = join(folder, 'append.mjs')
      writeFileSync(
        script,
        `import { openPostgresEnvironment } from ${module('environment.ts')}
       import { parsePostgresAddress } from ${module('address.ts')}
       import { appendForEver } from ${module('../conformance/kill.ts')}
       import { systemClock } from ${module('../../kit/clock.ts')}
       const address = parsePostgresAddress(process.argv[2], 64)
       await appendForEver(await openPostgresEnvironment({ address, environment: 'test', clock: systemClock }))`,
      )
      try {
        const store = await open()
        for (let round = 0; round < KILLS; round++) {
          const acknowledged = await killDuringAppend(process.execPath, script, address, 20 + round * 3)
          assert.ok(acknowledged.length >= 20)
          await checkBatches(store, acknowledged)
        }
      } finally {
        rmSync(folder, { recursive: true })
      }
    }),
)

test(
  'postgres: ten stores that are opened at once on an empty database find the same tables',
  { skip: withoutPostgres },
  () =>
    withPlace(async (open) => {
      const stores = await Promise.all(Array.from({ length: 10 }, () => open()))
      const empty = await Promise.all(stores.map((store) => store.series.feeds({})))
      assert.deepEqual(empty, new Array(10).fill([]))
    }),
)

test(
  'postgres: two processes that write the same feeds see what the other wrote and lose nothing',
  {
    skip: withoutPostgres,
  },
  () =>
    withPlace(async (open) => {
      const stores = await Promise.all([open(), open()])
      const other = candleFeed('perpdex')
      const feeds = [feed, other]
      await Promise.all(
        stores.map(async (store, which) => {
          for (let i = 0; i < 30; i++) {
            const minute = 2 * i + which
            const from = START + minute * 60_000
            // In opposite orders, which would deadlock if the stores did not lock in one order.
            const own = which === 0 ? feeds : feeds.toReversed()
            await store.write({
              rows: own.map((each) => ({ feed: each, rows: [candle(minute)] })),
              coverage: own.map((each) => observed(each, from, from + 60_000)),
              finalize: own.map((each) => ({ feed: each, before: from })),
            })
          }
        }),
      )
      for (const store of stores) {
        const read = await store.coveredPage({ ...all, feeds, coverageTo: START + 60 * 60_000 })
        assert.equal(read.page.count, 120)
        const inside = await store.coverage.read(feeds, START, START + 60 * 60_000)
        assert.deepEqual([inside.complete, inside.observed], [true, [{ from: START, to: START + 3_600_000 }]])
        assert.deepEqual(
          read.finality.map(({ before, version }) => [before, version]),
          [
            [START + 59 * 60_000, 60],
            [START + 59 * 60_000, 60],
          ],
        )
      }
    }),
)

test(
  'postgres: rows, coverage and retention of a process that lost its lease are refused',
  { skip: withoutPostgres },
  () =>
    withPlace(async (open, _, address) => {
      const stores = openStores(parseStoreAddress(address), systemClock)
      const leases = stores.leases()
      const lease = { part: 'record:cexa/test', durationMs: 10_000 }
      const fence = await leases.take({ ...lease, holder: 'a' })
      assert.ok(fence !== undefined)
      const fenced = await stores.environment('test', { fence })
      try {
        const write = {
          rows: [{ feed, rows: [candle(0)] }],
          coverage: [observed(feed, START, START + 60_000)],
        }
        assert.equal((await fenced.write(write)).inserted, 1)
        await leases.release(fence)
        assert.ok((await leases.take({ ...lease, holder: 'b' })) !== undefined)
        const later = { rows: [{ feed, rows: [candle(1)] }] }
        const months = { rows: [{ feed, rows: [candle(0, { time: Date.UTC(2020, 0) })] }] }
        for (const refused of [later, months, { coverage: [observed(feed, START, START + 120_000)] }])
          await assert.rejects(fenced.write(refused), LeaseLostError)
        await assert.rejects(fenced.series.retain({ dataset: 'candles' }, 0), LeaseLostError)
        const read = await (await open()).coveredPage({ ...all, coverageTo: START + 120_000 })
        assert.equal(read.page.count, 1)
        assert.deepEqual(read.coverage.observed, [{ from: START, to: START + 60_000 }])
      } finally {
        await fenced.close()
        await leases.close()
      }
    }),
)

test(
  'postgres: the partition of a month is made when its first row arrives, and ahead; wrong clocks make few',
  {
    skip: withoutPostgres,
  },
  () =>
    withPlace(async (open, database) => {
      const clock = manualClock(Date.UTC(2026, 10, 16))
      const store = await open(clock)
      const times = [
        ...[Date.UTC(1999, 0), Date.UTC(2001, 5), Date.UTC(2026, 0, 31, 23, 59), Date.UTC(2026, 1)],
        ...[Date.UTC(2150, 3), Date.UTC(2190, 7)],
      ]
      await store.write({ rows: [{ feed, rows: times.map((time) => candle(0, { time })) }] })
      assert.equal((await store.series.page(all)).count, times.length)
      assert.deepEqual(await monthsOf(database), ['late', 'old', 'y2026m01', 'y2026m02'])
      await store.series.retain({ dataset: 'candles' }, Date.UTC(2026, 10, 16) - 1_000)
      assert.deepEqual(await monthsOf(database), [
        ...['late', 'old', 'y2026m01', 'y2026m02', 'y2026m11', 'y2026m12', 'y2027m01'],
      ])
    }),
)

test(
  'postgres: a month that has expired is dropped, and a row that arrives for it later makes it again',
  {
    skip: withoutPostgres,
  },
  () =>
    withPlace(async (open, database) => {
      const clock = manualClock(Date.UTC(2026, 3, 10))
      const [store, other] = [await open(clock), await open(clock)]
      const times = [Date.UTC(2026, 0, 5), Date.UTC(2026, 1, 5), Date.UTC(2026, 3, 5)]
      const rows = times.map((time) => candle(0, { time }))
      await store.write({ rows: [{ feed, rows }], finalize: [{ feed, before: Date.UTC(2026, 3, 6) }] })
      await other.write({ rows: [{ feed, rows }] })
      const [before] = await store.series.finality([feed])
      assert.equal(await store.series.retain({ dataset: 'candles' }, 20 * 86_400_000), 2)
      assert.ok(!(await monthsOf(database)).includes('y2026m01'))
      assert.equal(await other.series.earliest({ dataset: 'candles' }), times[2])
      const [after] = await other.series.finality([feed])
      assert.notEqual(after?.epoch, before?.epoch)
      // The other process believes that the month is still there.
      assert.equal(
        (await other.write({ rows: [{ feed, rows: [candle(0, { time: times[0] as number })] }] })).inserted,
        1,
      )
      assert.equal((await store.series.page(all)).count, 2)
      assert.ok((await monthsOf(database)).includes('y2026m01'))
    }),
)

test('postgres: a month is not dropped in which a feed appears meanwhile', { skip: withoutPostgres }, () =>
  withPlace(async (open, database) => {
    const clock = manualClock(Date.UTC(2026, 3, 10))
    const store = await open(clock)
    const rows = [Date.UTC(2026, 0, 5), Date.UTC(2026, 3, 5)].map((time) => candle(0, { time }))
    await store.write({ rows: [{ feed, rows }] })
    // Deletes nothing, but creates the months ahead: on Citus that could take longer than the transaction may rest.
    await store.series.retain({ dataset: 'candles' }, 365 * 86_400_000)
    let retained: Promise<number> | undefined
    await database.write(async (tx) => {
      await tx.rows(COPY_TO_LATE_FEED)
      retained = store.series.retain({ dataset: 'candles' }, 20 * 86_400_000)
      await until('it waits for the month', async () => (await database.rows(WAITING)).length > 0)
    })
    assert.equal(await retained, 1, 'only that of the feed that was there before')
    const late = { ...all, feeds: [candleFeed('perpdex')] }
    assert.equal((await store.series.page(late)).count, 2)
  }),
)

test(
  'postgres: pages of a single month are read in all processes after it was dropped and made again',
  { skip: withoutPostgres },
  () =>
    withPlace(async (open, database) => {
      const clock = manualClock(Date.UTC(2026, 3, 10))
      const [store, other] = [await open(clock), await open(clock)]
      const from = Date.UTC(2026, 0, 5)
      const rows = [from, Date.UTC(2026, 3, 5)].map((time) => candle(0, { time }))
      const write = () =>
        store.write({ rows: [{ feed, rows }], coverage: [observed(feed, from, Date.UTC(2026, 3, 6))] })
      const month = { ...all, range: { from, to: from + 60_000 }, coverageTo: from + 60_000 }
      const counts = async () => {
        const found: number[] = []
        for (let time = 0; time < 3; time++) found.push((await other.coveredPage(month)).page.count)
        return found
      }
      await write()
      assert.deepEqual(await counts(), [1, 1, 1])
      await store.series.retain({ dataset: 'candles' }, 20 * 86_400_000)
      assert.ok(!(await monthsOf(database)).includes('y2026m01'))
      assert.deepEqual(await counts(), [0, 0, 0])
      await write()
      assert.deepEqual(await counts(), [1, 1, 1])
    }),
)

test(
  'postgres: a feed that a server which took over lacks is created again, and read by all processes',
  { skip: withoutPostgres },
  () =>
    withPlace(async (open, database) => {
      const [writer, reader, other] = [await open(), await open(), await open()]
      const write = (store: EnvironmentStore) =>
        store.write({
          rows: [{ feed, rows: [candle(0)] }],
          coverage: [observed(feed, START, START + 60_000)],
        })
      const covered = { ...all, coverageTo: START + 60_000 }
      const lose = () => database.run(statement('test_lose', 'DELETE FROM feeds'))
      await write(writer)
      for (const store of [reader, other]) assert.equal((await store.coveredPage(covered)).page.count, 1)
      await lose()
      await assert.rejects(write(writer), StoreUnavailableError)
      assert.equal((await write(writer)).inserted, 1)
      await reader.coveredPage(covered)
      assert.equal((await reader.coveredPage(covered)).page.count, 1)
      await other.series.finality([feed])
      assert.deepEqual(await other.series.finality([feed]), await reader.series.finality([feed]))
      await lose()
      await write(reader).catch(() => {})
      await write(reader)
      assert.equal(await other.series.retain({ dataset: 'candles', source: 'cexa' }, 0), 1, 'by its new id')
    }),
)
