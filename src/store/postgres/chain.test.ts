import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { startCuttingProxy } from '../../../test/postgres/cutting-proxy.ts'
import { type PostgresPlace, postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { until } from '../../../test/until.ts'
import { systemClock } from '../../kit/clock.ts'
import { CheckpointMovedError } from '../chain.ts'
import {
  address,
  appendEvents,
  block,
  event,
  hash,
  payment,
  readAll,
  writeNext,
} from '../conformance/chain-engine.ts'
import { OLD_ROWS, OLD_ROWS_IN_ORDER } from '../conformance/chain-upgrade.ts'
import { LeaseLostError } from '../leases.ts'
import { openStores, parseStoreAddress } from '../open-stores.ts'
import { ADDRESS_PAGE } from './chain-read.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import { connect } from './connection.ts'
import type { Statement } from './database.ts'
import { CANDIDATES } from './events-read.ts'
import { migrate } from './migrate.ts'

const skip = withoutPostgres

async function withPlace(
  run: (place: PostgresPlace) => Promise<void>,
  options?: Parameters<typeof postgresPlace>[0],
): Promise<void> {
  const place = postgresPlace(options)
  try {
    await run(place)
  } finally {
    await place.remove()
  }
}

/** For tests that examine plans of one server, or tables from before they could be distributed. */
const ON_ONE_SERVER = { distribute: false }

const storesIn = (text: string, clock = systemClock) => openStores(parseStoreAddress(text), clock)

for (const when of ['before', 'after'] as const) {
  test(`a write is done once when the connection breaks ${when} its commit`, { skip }, async () => {
    await withPlace(async (place) => {
      const proxy = await startCuttingProxy(place.address)
      const { chain, events, close } = storesIn(proxy.address).chain('test')
      try {
        await writeNext(chain, { atMs: 1, start: block(1), events: [event('start')] })
        for (let n = 2; n < 8; n++) {
          proxy.cutNextCommit(when)
          // Some writes have no block, so that the checkpoint does not show whether they were done.
          const added = n % 2 === 0 ? [block(n, [payment(n, 1, 5n, 0)])] : []
          const { newestSeq } = await writeNext(chain, { atMs: n, added, events: [event('a'), event('b')] })
          assert.equal(newestSeq, 1 + (n - 1) * 2)
          assert.equal(proxy.cuts, n - 1)
        }
        const numbers = (await readAll(events)).map(({ seq }) => seq)
        assert.deepEqual(
          numbers,
          Array.from({ length: 13 }, (_, i) => i + 1),
        )
        assert.equal((await chain.addressPage({ address: address(1), limit: 10 })).rows.length, 3)
      } finally {
        await close()
        await proxy.close()
      }
    })
  })
}

test('of two processes that follow from one block only one writes', { skip }, async () => {
  await withPlace(async (place) => {
    const [a, b] = [storesIn(place.address).chain('test'), storesIn(place.address).chain('test')]
    try {
      await writeNext(a.chain, { atMs: 1, start: block(1) })
      for (let n = 2; n < 12; n++) {
        const outcomes = await Promise.allSettled(
          [a, b].map(({ chain }, i) =>
            chain.write({
              atMs: n,
              expects: hash(n - 1),
              added: [block(n)],
              events: [event(`process ${i}`)],
            }),
          ),
        )
        const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
        assert.equal(refused.length, 1)
        assert.ok(refused[0]?.reason instanceof CheckpointMovedError)
      }
      assert.equal((await readAll(a.events)).length, 10)
    } finally {
      await Promise.all([a.close(), b.close()])
    }
  })
})

test('who has lost the lease writes neither rows nor events, and prunes nothing', { skip }, async () => {
  await withPlace(async (place) => {
    const clock = manualClock(1_000)
    const stores = storesIn(place.address, clock)
    const leases = stores.leases()
    const fence = await leases.take({ part: 'index/test', holder: 'a', durationMs: 100 })
    assert.ok(fence !== undefined)
    const { chain, events, close } = stores.chain('test', { fence })
    try {
      await writeNext(chain, { atMs: 1, start: block(1), events: [event('a')] })
      clock.set(2_000)
      assert.ok(await leases.take({ part: 'index/test', holder: 'b', durationMs: 100 }))
      await assert.rejects(
        writeNext(chain, { atMs: 2, added: [block(2, [payment(1, 1, 5n)])], events: [event('b')] }),
        LeaseLostError,
      )
      await assert.rejects(events.retain({ maxAgeMs: 0, maxBytes: 0 }), LeaseLostError)
      assert.equal((await chain.checkpoint())?.hash, hash(1))
      assert.equal(await chain.transaction(hash(1)), undefined)
      assert.deepEqual(
        (await readAll(events)).map(({ kind }) => kind),
        ['a'],
      )
    } finally {
      await close()
      await leases.close()
    }
  })
})

test('a server with another timeline goes on with numbers that nobody can know', { skip }, async () => {
  await withPlace(async (place) => {
    const { chain, events, close } = storesIn(place.address).chain('test')
    try {
      assert.equal(await appendEvents(chain, [event('a'), event('b')]), 2)
      const schema = /schema=(\w+)/.exec(place.address)?.[1]
      const client = new Client({ connectionString: place.address.replace(/[?&]schema=.*/, '') })
      await client.connect()
      await client.query(`UPDATE ${schema}_test.chain_state SET server = left(server, -1) || 'x'`)
      await client.end()
      const seq = await appendEvents(chain, [event('c')])
      assert.ok(seq > 1_000_000)
      assert.equal(await appendEvents(chain, [event('d')]), seq + 1)
      assert.deepEqual(
        (await readAll(events)).map(({ kind }) => kind),
        ['a', 'b', 'c', 'd'],
      )
    } finally {
      await close()
    }
  })
})

test('the plans of lists read index ranges in order, and no more than the list', { skip }, async () => {
  await withPlace(async (place) => {
    const { chain, close } = storesIn(place.address).chain('test')
    const storeAddress = parseStoreAddress(place.address)
    assert.ok(storeAddress.engine === 'postgres')
    const { client } = await connect(storeAddress, [`${storeAddress.schema}_test`, storeAddress.schema])
    const planOf = async ({ text }: Statement, values: unknown[]) => {
      const { rows } = await client.query(`EXPLAIN ${text}`, values)
      return rows.map((row: Record<string, unknown>) => String(row['QUERY PLAN'])).join('\n')
    }
    try {
      await writeNext(chain, { atMs: 1, start: block(1) })
      // Most rows have one address and one kind; the plans are made with and without statistics.
      for (let n = 2; n < 12; n++) {
        const transactions = Array.from({ length: 500 }, (_, i) => payment(n * 1_000 + i, i % 50 && 1, 5n, 0))
        const events = transactions.map((_, i) =>
          event(i % 100 === 0 ? 'rare' : 'usual', [address(i && 1)], n, 'x'.repeat(600)),
        )
        await writeNext(chain, { atMs: n, added: [block(n, transactions)], events })
        if (n === 6) await client.query('ANALYZE address_rows, transactions, events, event_addresses')
        const page = await planOf(ADDRESS_PAGE, [address(1), 1e15, 0, 11])
        const candidates = await planOf(CANDIDATES, [0, 1e9, ['rare', 'none'], [address(0), address(1)], 100])
        // A small table is read as a whole.
        if (n < 5) continue
        assert.match(page, /Index Scan Backward using address_rows_pkey/)
        assert.match(candidates, /Index (Only )?Scan using events_by_kind/)
        assert.match(candidates, /Index (Only )?Scan using event_addresses_pkey/)
        assert.doesNotMatch(`${page}${candidates}`, /Bitmap/)
      }
    } finally {
      await client.end()
      await close()
    }
  }, ON_ONE_SERVER)
})

test('an index of the first release is in the order of block times after the upgrade', { skip }, async () => {
  await withPlace(async (place) => {
    const storeAddress = parseStoreAddress(place.address)
    assert.ok(storeAddress.engine === 'postgres')
    const schema = `${storeAddress.schema}_test`
    const { client } = await connect(storeAddress, [schema, storeAddress.schema])
    const migrations = CHAIN_MIGRATIONS.slice(0, 1)
    await migrate(client, { address: storeAddress, schema, label: 'chain', migrations })
    const bytes = (n: number) => Buffer.from(hash(n), 'hex')
    for (const [n, status, blockTime, blueScore] of OLD_ROWS) {
      await client.query(
        `INSERT INTO transactions (tx_id, place, status, first_seen, changed_at, mempool_event, accepted_event,
            block_time, accepting_blue_score, parsed)
          VALUES ($1, $2, $3, 150, 150, true, true, $4, $5, '{}')`,
        [bytes(n), n, status, blockTime, blueScore],
      )
      await client.query(`INSERT INTO address_rows VALUES ($1, $2, $3, 0, 1, 1, 0, NULL, NULL)`, [
        address(1),
        n,
        bytes(n),
      ])
    }
    await client.end()
    const { chain, close } = storesIn(place.address).chain('test')
    const { rows } = await chain.addressPage({ address: address(1), limit: 10 })
    await close()
    assert.deepEqual(
      rows.map(({ txId }) => Number.parseInt(txId, 16)),
      OLD_ROWS_IN_ORDER,
    )
  }, ON_ONE_SERVER)
})

test('another process is notified of new events', { skip }, async () => {
  await withPlace(async (place) => {
    const [writer, reader] = [storesIn(place.address).chain('test'), storesIn(place.address).chain('test')]
    try {
      const grown: number[] = []
      const unwatch = reader.events.watch?.((seq) => grown.push(seq))
      await until('it listens', () => grown.length === 1)
      const seq = await appendEvents(writer.chain, [event('a'), event('b')])
      await until('it is notified', () => grown.at(-1) === seq)
      unwatch?.()
    } finally {
      await Promise.all([writer.close(), reader.close()])
    }
  })
})

test('a block that was followed before a gap can be followed again', { skip }, async () => {
  await withPlace(async (place) => {
    const { chain, close } = storesIn(place.address).chain('test')
    try {
      await writeNext(chain, { atMs: 1, start: block(1), added: [block(2), block(3)] })
      await writeNext(chain, { atMs: 2, start: block(2) })
      assert.deepEqual(await chain.chainAbove(hash(1)), undefined)
      await writeNext(chain, { atMs: 3, added: [block(3), block(4)] })
      assert.deepEqual(
        (await chain.chainAbove(hash(2)))?.map(({ blueScore }) => blueScore),
        [3, 4],
      )
      assert.equal((await chain.chainBlockBelow(100))?.hash, hash(2))
      await assert.rejects(writeNext(chain, { atMs: 4, added: [block(3)] }))
      const keep = { maxTransactionAgeMs: null, maxDroppedAgeMs: 0, chainBlocks: 100, maxSeenAgeMs: 0 }
      assert.equal((await chain.prune(keep)).deleted, 1, 'what is left of the earlier chain')
      assert.equal((await chain.checkpoint())?.hash, hash(4))
    } finally {
      await close()
    }
  })
})
