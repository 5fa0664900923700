import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isDistributed,
  postgresPlace,
  postgresRows,
  withoutPostgres,
} from '../../../test/postgres/test-postgres.ts'
import { systemClock } from '../../kit/clock.ts'
import { appendEvents, block, event, payment, writeNext } from '../conformance/chain-engine.ts'
import { candle, candleFeed, START } from '../conformance/engine.ts'
import { observed } from '../coverage.ts'
import { checkStore, distributeStore, openStores, parseStoreAddress } from '../open-stores.ts'

const MONTH = 31 * 24 * 3_600_000
const feeds = [candleFeed('cexa'), candleFeed('perpdex')]
const range = { from: 0, to: START + 2 * MONTH }
const query = { feeds, range, order: 'asc', limit: 1_000, separator: ',', coverageTo: range.to } as const
const options = { shards: 4, onProgress: () => {} }

test('a server without Citus is told what is missing, and a folder that it cannot be spread', {
  skip: withoutPostgres || (isDistributed && 'this server has Citus'),
}, async () => {
  const place = postgresPlace()
  try {
    await assert.rejects(distributeStore(parseStoreAddress(place.address), options), {
      name: 'StoreOpenError',
      message: /Citus/,
    })
    await assert.rejects(distributeStore(parseStoreAddress('./data'), options), { name: 'StoreOpenError' })
  } finally {
    await place.remove()
  }
})

test('tables with rows are spread over servers while stores are open; later months are too; again changes nothing', {
  skip: withoutPostgres || (!isDistributed && 'needs Citus: TAPELINE_TEST_DISTRIBUTE'),
}, async () => {
  const place = postgresPlace({ distribute: false })
  const address = parseStoreAddress(place.address)
  const stores = openStores(address, systemClock)
  const market = await stores.environment('test')
  const { chain, events, close } = stores.chain('test')
  const fill = (first: number) =>
    market.write({
      rows: feeds.map((feed) => ({ feed, rows: Array.from({ length: 50 }, (_, i) => candle(first + i)) })),
      coverage: feeds.map((feed) => observed(feed, START + first * 60_000, START + (first + 50) * 60_000)),
    })
  const schema = `${/schema=(\w+)/.exec(place.address)?.[1]}_test`
  /** The bytes of a table and its partitions that are stored on this server. */
  const bytesHere = async (table: string) => {
    const size =
      'SELECT sum(pg_relation_size(relid))::int AS bytes FROM pg_partition_tree($1::text::regclass)'
    return (await postgresRows(size, [`${schema}.${table}`]))[0]?.bytes
  }
  try {
    await fill(0)
    assert.notEqual(await bytesHere('series_candles'), 0)
    await writeNext(chain, { atMs: 1, added: [block(1, [payment(1, 1, 5n)])] })
    await appendEvents(chain, [event('test')])
    const before = await market.coveredPage(query)
    const steps: number[] = []
    const done = await distributeStore(address, { shards: 4, onProgress: ({ done }) => steps.push(done) })
    assert.ok(done.length > 20 && done.every(({ shards, before }) => shards === 4 && !before))
    assert.deepEqual(steps.at(-1), done.length)

    assert.deepEqual(await market.coveredPage(query), before)
    assert.equal((await chain.addressPage({ address: 'kaspatest:address-1', limit: 10 })).rows.length, 1)
    assert.equal((await events.after({ afterSeq: 0, limit: 10 })).events.length, 1)
    assert.equal(await bytesHere('series_candles'), 0)

    await fill(MONTH / 60_000)
    const after = await market.coveredPage(query)
    assert.equal(after.page.count, 2 * before.page.count)
    const months = await postgresRows(
      'SELECT count(*)::int AS months FROM pg_dist_partition p JOIN pg_inherits i ON i.inhrelid = p.logicalrelid WHERE i.inhparent = $1::text::regclass',
      [`${schema}.series_candles`],
    )
    assert.deepEqual(months, [{ months: 2 }])
    assert.equal(await bytesHere('series_candles'), 0)

    const findings = await checkStore(address)
    const found = findings.find(({ about }) => about === 'distribution')
    assert.equal(found?.state, 'ok')

    const again = await distributeStore(address, options)
    assert.deepEqual(
      again,
      done.map((table) => ({ ...table, before: true })),
    )
  } finally {
    await market.close()
    await close()
    await place.remove()
  }
})
