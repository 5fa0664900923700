import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { drawnSeed } from '../../../test/seeded-random.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import { systemClock } from '../../kit/clock.ts'
import { candle, candleFeed, START, seeded } from '../conformance/engine.ts'
import { observed } from '../coverage.ts'
import { parsePostgresAddress } from './address.ts'
import { statement } from './database.ts'
import { openPostgresEnvironment } from './environment.ts'
import { ENVIRONMENT_MIGRATIONS } from './environment-schema.ts'
import { openDatabase, schemaOf } from './open-database.ts'

const SEED = drawnSeed()
const FEEDS = (['cexa', 'cexa_futures', 'perpdex'] as const).flatMap((source) =>
  (['1m', '5m'] as const).map((interval) => candleFeed(source, interval)),
)
const RANGE = { from: 0, to: Date.UTC(2200, 0) }
/** The transaction that wrote each feed last. */
const WRITERS = statement('test_writers', 'SELECT DISTINCT xmin::text AS writer FROM feeds')
const REFUSE_666 = statement(
  'test_refuse',
  `ALTER TABLE series_candles ADD CONSTRAINT test_refuse CHECK (text NOT LIKE '%"close":666%')`,
)

async function open(t: TestContext) {
  const place = postgresPlace()
  const address = parsePostgresAddress(place.address, 64)
  const options = { label: 'environment', migrations: ENVIRONMENT_MIGRATIONS, clock: systemClock }
  const database = openDatabase({ address, schema: schemaOf(address, 'test'), ...options })
  const store = await openPostgresEnvironment({ address, environment: 'test', clock: systemClock })
  t.after(async () => {
    await store.close()
    await database.close()
    await place.remove()
  })
  return { store, database }
}

const rowsOf = (count: number, interval = 1) =>
  Array.from({ length: count }, (_, i) => candle(i * interval, { volume: i }))
const writeOf = (feed: (typeof FEEDS)[number], rows: readonly CandleInput[]) => ({
  rows: [{ feed, rows }],
  coverage: [observed(feed, START, START + 3_600_000)],
})
const NOTHING = { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0, markets: 0 }

test('postgres: writes of different feeds at once share a transaction, and each has its own result', {
  skip: withoutPostgres,
}, async (t) => {
  const { store, database } = await open(t)
  const lengths = [3, 1, 4, 2, 6, 5]
  const write = (change: Partial<CandleInput> = {}) =>
    Promise.all(
      FEEDS.map((feed, i) => {
        const step = feed.interval === '5m' ? 5 : 1
        const rows = rowsOf(lengths[i] ?? 0, step).map((row) => ({ ...row, ...change }))
        return store.write(writeOf(feed, rows))
      }),
    )
  assert.deepEqual(
    await write(),
    lengths.map((inserted) => ({ ...NOTHING, inserted })),
  )
  // The first one is written at once; the others wait for it and follow together.
  assert.equal((await database.rows(WRITERS)).length, 2)
  assert.deepEqual(
    await write(),
    lengths.map((unchanged) => ({ ...NOTHING, unchanged })),
  )
  assert.deepEqual(
    await write({ close: 101 }),
    lengths.map((corrected) => ({ ...NOTHING, corrected })),
  )
})

test('postgres: a write that the database refuses does not fail those that waited with it', {
  skip: withoutPostgres,
}, async (t) => {
  const { store, database } = await open(t)
  await store.write(writeOf(FEEDS[0] as (typeof FEEDS)[number], rowsOf(1)))
  await database.run(REFUSE_666)
  const outcomes = await Promise.allSettled(
    FEEDS.map((feed, i) => {
      const close = i === 3 ? { close: 666, high: 700 } : {}
      return store.write(writeOf(feed, [candle(60, close)]))
    }),
  )
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    FEEDS.map((_, i) => (i === 3 ? 'rejected' : 'fulfilled')),
  )
  for (const [i, feed] of FEEDS.entries()) {
    const query = { feeds: [feed], range: RANGE, order: 'asc', limit: 10, separator: ',' } as const
    const { page, coverage } = await store.coveredPage({ ...query, coverageTo: RANGE.to })
    assert.equal(page.count, i === 3 ? 0 : i === 0 ? 2 : 1)
    if (i === 3) assert.deepEqual(coverage.observed, [], 'no coverage without its rows')
  }
})

test(`postgres: writes of the same feeds stay in the order of the calls (seed ${SEED})`, {
  skip: withoutPostgres,
}, async (t) => {
  const { store } = await open(t)
  const random = seeded(SEED)
  const last = new Map(FEEDS.map((feed) => [feed, { version: 0, revisions: 0 }]))
  const writes: Promise<unknown>[] = []
  for (let version = 1; version <= 60; version++) {
    const feeds = random.shuffle([...FEEDS]).slice(0, 1 + random.below(3))
    for (const feed of feeds) {
      const known = last.get(feed) as { version: number; revisions: number }
      if (known.version > 0) known.revisions++
      known.version = version
    }
    writes.push(
      store.write({ rows: feeds.map((feed) => ({ feed, rows: [candle(0, { volume: version })] })) }),
    )
    if (random.below(8) === 0) await writes.at(-1)
  }
  await Promise.all(writes)
  for (const [feed, { version, revisions }] of last) {
    if (version === 0) continue
    const query = { feeds: [feed], range: RANGE, order: 'asc', limit: 10, separator: ',' } as const
    const [row] = JSON.parse(`[${(await store.series.page(query)).text}]`)
    assert.equal(row.volume, version)
    const old = await store.series.revisions({ feeds: [feed], range: RANGE, limit: 100 })
    assert.equal(old.length, revisions)
  }
})
