/**
 * Data folders of every release since the first, written by that release, are upgraded to the schema of this one. A
 * schema change without a migration fails here, because the upgraded schema differs from a new one.
 */
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { candle, candleFeed } from '../../src/store/conformance/engine.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { openStores, parseStoreAddress, planUpgrade, upgradeStore } from '../../src/store/open-stores.ts'
import { databaseFiles } from '../../src/store/sqlite/files.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { START_MS } from './drawn-data.ts'
import { servedOf } from './filled-store.ts'

const FIXTURES = join(import.meta.dirname, '..', 'fixtures')
const RELEASES = globSync('data-{v,}[0-9]*/', { cwd: FIXTURES })
  .map((path) => basename(path))
  .filter((name) => !name.includes('.ts'))
  .sort()

/** The databases of a release in a new folder. */
function unpacked(release: string): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  for (const file of globSync('*.db.gz', { cwd: join(FIXTURES, release) }))
    writeFileSync(
      join(folder, basename(file, '.gz')),
      gunzipSync(readFileSync(join(FIXTURES, release, file))),
    )
  return { folder, remove: () => rmSync(folder, { recursive: true }) }
}

/** Everything that a schema consists of, as SQLite has it. */
function schemaOf(database: DatabaseSync): string[] {
  return database
    .prepare(`SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'`)
    .all()
    .map(({ type, name, tbl_name, sql }) => `${type} ${name} on ${tbl_name}: ${withoutComments(String(sql))}`)
    .sort()
}

function withoutComments(sql: string): string {
  return sql.replaceAll(/--[^\n]*/g, '').replaceAll(/\s+/g, ' ')
}

function read<T>(path: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path)
  try {
    return work(database)
  } finally {
    database.close()
  }
}

function rowCounts(database: DatabaseSync): Map<string, number> {
  const names = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all()
  return new Map(
    names.map(({ name }) => [
      String(name),
      Number(database.prepare(`SELECT count(*) AS n FROM "${name}"`).get()?.n),
    ]),
  )
}

/** Statements are prepared when a part opens: one that needs a migration which does not exist fails. */
async function useEveryTable(folder: string): Promise<void> {
  const stores = openStores(parseStoreAddress(folder), manualClock(START_MS))
  for (const environment of ['test', 'live'] as const) {
    const parts = [await stores.environment(environment), stores.chain(environment), stores.jobs(environment)]
    await (parts[0] as EnvironmentStore).write({
      rows: [{ feed: candleFeed('cexa', '1m'), rows: [candle(0)] }],
    })
    for (const part of parts) await part.close()
  }
  for (const part of [stores.accounts(), stores.leases(), stores.coordination()]) await part.close()
  await stores.diskUse()
}

test('there are folders of the first release and of later ones', () => {
  assert.deepEqual(RELEASES.slice(0, 2), ['data-0.1.0', 'data-v1'])
})

for (const release of RELEASES) {
  test(`${release} is upgraded to the schema of this release, with every row`, async () => {
    const { folder, remove } = unpacked(release)
    try {
      const files = databaseFiles(folder).filter(
        ({ name }) => globSync(join(folder, `${name}.db`)).length > 0,
      )
      assert.ok(files.length >= 4)
      const before = new Map(files.map(({ name, path }) => [name, read(path, rowCounts)]))
      const plans = await planUpgrade(parseStoreAddress(folder))
      const done = await upgradeStore(parseStoreAddress(folder), manualClock(START_MS))
      assert.deepEqual(
        plans.map(({ tables, from, to }) => ({ tables, from, to })),
        done,
        'the plan says what is done',
      )
      for (const { name, path, label, migrations } of files) {
        const fresh = new DatabaseSync(':memory:')
        migrate(fresh, label, migrations)
        assert.deepEqual(read(path, schemaOf), schemaOf(fresh), `${name}: a change without a migration`)
        fresh.close()
        const after = read(path, rowCounts)
        for (const [table, count] of before.get(name) ?? [])
          if (after.has(table)) assert.equal(after.get(table), count, `${name} ${table}`)
        assert.equal(
          read(path, (database) => database.prepare('PRAGMA quick_check').get()?.quick_check),
          'ok',
        )
        assert.deepEqual(
          read(path, (database) => database.prepare('PRAGMA foreign_key_check').all()),
          [],
        )
      }
      const again = await upgradeStore(parseStoreAddress(folder), manualClock(START_MS))
      assert.ok(again.every(({ from, to }) => from === to))
      await useEveryTable(folder)
    } finally {
      remove()
    }
  })

  test(`${release} with any one of the later migrations left out is noticed`, () => {
    const { folder, remove } = unpacked(release)
    try {
      for (const { path, label, migrations } of databaseFiles(folder)) {
        if (globSync(path).length === 0) continue
        const bytes = readFileSync(path)
        const from = read(path, (database) =>
          Number(database.prepare('PRAGMA user_version').get()?.user_version),
        )
        const fresh = new DatabaseSync(':memory:')
        migrate(fresh, label, migrations)
        for (const left of migrations.slice(from)) {
          writeFileSync(path, bytes)
          const others = migrations
            .filter((migration) => migration !== left)
            .map((migration, index) => ({ ...migration, version: index + 1 }))
          const isNoticed = read(path, (database) => {
            try {
              migrate(database, label, others)
            } catch {
              return true
            }
            return schemaOf(database).join() !== schemaOf(fresh).join()
          })
          assert.ok(isNoticed, `${label} ${left.version}: ${left.name}`)
        }
        fresh.close()
      }
    } finally {
      remove()
    }
  })
}

/** Members that later releases gave to objects. Any other one that appears is a change of what is read. */
const ADDED_MEMBERS = new Set(['capBudgetId'])

/** A value of today without the added members that the release did not know. */
function asKnownThen(now: unknown, then: unknown): unknown {
  if (Array.isArray(now) && Array.isArray(then)) return now.map((each, i) => asKnownThen(each, then[i]))
  if (!isObject(now) || !isObject(then)) return now
  return Object.fromEntries(
    Object.entries(now)
      .filter(([name]) => name in then || !ADDED_MEMBERS.has(name))
      .map(([name, value]) => [name, asKnownThen(value, then[name])]),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

for (const release of RELEASES.filter(
  (name) => globSync(join(FIXTURES, name, 'served.json.gz')).length > 0,
)) {
  test(`${release} is read as the release itself has read it`, async () => {
    const { folder, remove } = unpacked(release)
    try {
      const packed = readFileSync(join(FIXTURES, release, 'served.json.gz'))
      const then = JSON.parse(gunzipSync(packed).toString()) as Record<string, unknown>
      const { nowMs } = then as { nowMs: number }
      const clock = manualClock(nowMs)
      const served = await servedOf(openStores(parseStoreAddress(folder), clock), clock)
      const now = JSON.parse(
        JSON.stringify(served, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
      ) as Record<string, unknown>
      assert.ok(Object.keys(then).length > 20)
      for (const [name, value] of Object.entries(then))
        assert.deepEqual(asKnownThen(now[name], value), value, name)
    } finally {
      remove()
    }
  })
}
