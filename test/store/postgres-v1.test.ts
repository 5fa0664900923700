/** Every later version upgrades the PostgreSQL store of version 1. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { systemClock } from '../../src/kit/clock.ts'
import { openStores, parseStoreAddress, upgradeStore } from '../../src/store/open-stores.ts'
import { storeLabels } from '../../src/store/postgres/labels.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { contentOf, DATA_V1 } from '../fixtures/data-v1.ts'
import { DUMPED_SCHEMA, POSTGRES_V1, writePostgresData } from '../fixtures/postgres-v1.ts'
import {
  isDistributed,
  postgresPlace,
  postgresRows,
  runScript,
  withClient,
  withoutPostgres,
} from '../postgres/test-postgres.ts'

const DUMP = join(import.meta.dirname, '..', 'fixtures', 'postgres-v1', 'store.sql.gz')

/** Columns and indexes of all tables but partitions, which are made when they are needed. */
async function shapeOf(schema: string, query = postgresRows): Promise<string[]> {
  const tables = `SELECT c.oid, n.nspname || '.' || c.relname AS name FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND starts_with(n.nspname, $1)`
  const rows = await query(
    `SELECT format('%s.%s %s%s %s', t.name, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END, a.attidentity) AS line
       FROM (${tables}) t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
     UNION ALL
     SELECT pg_get_indexdef(i.indexrelid) FROM (${tables}) t JOIN pg_index i ON i.indrelid = t.oid`,
    [schema],
  )
  return rows.map(({ line }) => String(line).replaceAll(schema, 'schema')).sort()
}

test('a PostgreSQL store of schema version 1 is upgraded with everything in it', {
  skip: withoutPostgres,
}, async () => {
  const [place, fresh] = [postgresPlace({ distribute: false }), postgresPlace()]
  const address = parseStoreAddress(place.address)
  assert.ok(address.engine === 'postgres')
  const clock = manualClock(DATA_V1.startMs)
  try {
    const sql = gunzipSync(readFileSync(DUMP)).toString()
    await runScript(sql.replaceAll(DUMPED_SCHEMA, address.schema))
    const upgrades = await upgradeStore(address, systemClock)
    assert.ok(
      upgrades.every(({ tables, from }) => from === (tables.startsWith(`${address.schema}_live`) ? 0 : 1)),
    )

    const other = parseStoreAddress(fresh.address)
    assert.ok(other.engine === 'postgres')
    await upgradeStore(other, systemClock)
    const shape = await shapeOf(address.schema)
    assert.ok(shape.length > 100)
    if (!isDistributed) assert.deepEqual(shape, await shapeOf(other.schema), 'a change without a migration')

    const [old, today] = [openStores(address, clock), openStores(parseStoreAddress(fresh.address), clock)]
    await writePostgresData(today)
    const [stored, written] = [await old.environment('test'), await today.environment('test')]
    assert.deepEqual(await contentOf(stored), await contentOf(written))
    await Promise.all([stored.close(), written.close()])
    const [chain, newChain] = [old.chain('test'), today.chain('test')]
    const history = { address: POSTGRES_V1.payer, limit: 10 }
    assert.deepEqual(
      await chain.chain.transaction(POSTGRES_V1.transaction),
      await newChain.chain.transaction(POSTGRES_V1.transaction),
    )
    assert.deepEqual(await chain.chain.addressPage(history), await newChain.chain.addressPage(history))
    assert.equal((await chain.chain.addressPage(history)).rows.length, 2)
    assert.equal((await chain.events.bounds()).newestSeq, POSTGRES_V1.events)
    await Promise.all([chain.close(), newChain.close()])
    const [accounts, jobs] = [old.accounts(), old.jobs('test')]
    assert.deepEqual(
      (await accounts.listAccounts()).map(({ email }) => email),
      [DATA_V1.email],
    )
    assert.equal((await jobs.getSubscription(POSTGRES_V1.subscription))?.secret, 'sealed')
    assert.equal(await jobs.position(), POSTGRES_V1.events)
    await Promise.all([accounts.close(), jobs.close()])
  } finally {
    await Promise.all([place.remove(), fresh.remove()])
  }
})

test('a PostgreSQL store of schema version 1 with any one of the later migrations left out is noticed', {
  skip: withoutPostgres || (isDistributed && 'tables that are spread have other indexes'),
}, async () => {
  const [place, fresh] = [postgresPlace(), postgresPlace()]
  const [address, other] = [parseStoreAddress(place.address), parseStoreAddress(fresh.address)]
  assert.ok(address.engine === 'postgres' && other.engine === 'postgres')
  try {
    await runScript(gunzipSync(readFileSync(DUMP)).toString().replaceAll(DUMPED_SCHEMA, address.schema))
    await upgradeStore(other, systemClock)
    // The live environment is not in the store.
    const labels = storeLabels(address).filter(({ schema }) => schema !== `${address.schema}_live`)
    const later = labels.flatMap(({ label, migrations }) =>
      migrations.slice(1).map((left) => ({ label, left })),
    )
    assert.ok(later.length >= 10)
    await withClient(async (client) => {
      const isNoticed = async (leftOut: (typeof later)[number] | undefined) => {
        const rows = async (query: string, values: readonly unknown[]) =>
          (await client.query(query, [...values])).rows
        await client.query('BEGIN')
        try {
          for (const { schema, label, migrations } of labels) {
            await client.query(`SET LOCAL search_path = ${schema}, ${address.schema}`)
            for (const migration of migrations.slice(1))
              if (label !== leftOut?.label || migration !== leftOut.left) await client.query(migration.sql)
          }
          const written = (await shapeOf(`${other.schema}`)).filter((line) => !line.includes('_live'))
          return (await shapeOf(address.schema, rows)).join() !== written.join()
        } catch {
          return true
        } finally {
          await client.query('ROLLBACK')
        }
      }
      assert.equal(await isNoticed(undefined), false, 'all of them are there')
      for (const each of later)
        assert.ok(await isNoticed(each), `${each.label} ${each.left.version}: ${each.left.name}`)
    })
  } finally {
    await Promise.all([place.remove(), fresh.remove()])
  }
})
