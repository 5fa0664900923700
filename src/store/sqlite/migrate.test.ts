import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Migration } from '../migration.ts'
import { migrate, NewerDatabaseError, schemaVersion } from './migrate.ts'
import { inTransaction, openDatabase } from './open.ts'

const STEPS: Migration[] = [
  { version: 1, name: 'first', sql: 'CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1)' },
  { version: 2, name: 'second', sql: 'ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7' },
]

function withFile(run: (file: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  try {
    run(join(folder, 'x.db'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('an old file is upgraded with its data, and a second start changes nothing', () => {
  withFile((file) => {
    const old = openDatabase({ file })
    assert.deepEqual(migrate(old, 'test', STEPS.slice(0, 1)), { from: 0, to: 1 })
    old.close()
    const database = openDatabase({ file })
    assert.deepEqual(migrate(database, 'test', STEPS), { from: 1, to: 2 })
    assert.deepEqual({ ...database.prepare('SELECT * FROM a').get() }, { x: 1, y: 7 })
    assert.deepEqual(migrate(database, 'test', STEPS), { from: 2, to: 2 })
    database.close()
  })
})

test('a file of the newest version is opened beside a connection that writes, without waiting for it', () => {
  withFile((file) => {
    const writer = openDatabase({ file })
    migrate(writer, 'test', STEPS)
    writer.exec('BEGIN IMMEDIATE; INSERT INTO a VALUES (2, 3)')
    const reader = openDatabase({ file })
    const startedMs = performance.now()
    assert.deepEqual(migrate(reader, 'test', STEPS), { from: 2, to: 2 })
    assert.ok(performance.now() - startedMs < 1_000, 'the write lock is waited for ten seconds')
    writer.exec('COMMIT')
    reader.close()
    writer.close()
  })
})

test('an upgrade whose last step fails leaves the file as it was', () => {
  const database = openDatabase({ file: ':memory:' })
  migrate(database, 'test', STEPS.slice(0, 1))
  const broken = [...STEPS, { version: 3, name: 'broken', sql: 'INSERT INTO absent VALUES (1)' }]
  assert.throws(() => migrate(database, 'test', broken), /absent/)
  assert.equal(schemaVersion(database), 1)
  assert.deepEqual({ ...database.prepare('SELECT * FROM a').get() }, { x: 1 })
  database.close()
})

test('a file of a newer release is refused with both versions named', () => {
  const database = openDatabase({ file: ':memory:' })
  migrate(database, 'market', STEPS)
  assert.throws(
    () => migrate(database, 'market', STEPS.slice(0, 1)),
    (error: unknown) =>
      error instanceof NewerDatabaseError && /version 2.*up to 1/.test(error.message) && error.found === 2,
  )
  database.close()
})

test('migrations out of sequence are refused before anything runs', () => {
  const database = openDatabase({ file: ':memory:' })
  assert.throws(() => migrate(database, 'test', STEPS.slice(1)), /sequence/)
  assert.equal(schemaVersion(database), 0)
  database.close()
})

test('a file is opened with the write-ahead log, foreign keys and a busy timeout', () => {
  withFile((file) => {
    const database = openDatabase({ file })
    const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
    assert.equal(pragma('journal_mode'), 'wal')
    assert.equal(pragma('synchronous'), 1)
    assert.equal(pragma('foreign_keys'), 1)
    assert.ok(Number(pragma('busy_timeout')) > 0)
    database.close()
  })
})

test('a transaction that throws leaves nothing behind and the connection usable', () => {
  const database = openDatabase({ file: ':memory:' })
  database.exec('CREATE TABLE a (x INTEGER)')
  assert.throws(() =>
    inTransaction(database, () => {
      database.exec('INSERT INTO a VALUES (1)')
      throw new Error('stop')
    }),
  )
  assert.equal(database.prepare('SELECT count(*) AS n FROM a').get()?.n, 0)
  inTransaction(database, () => database.exec('INSERT INTO a VALUES (2)'))
  assert.equal(database.prepare('SELECT count(*) AS n FROM a').get()?.n, 1)
  database.close()
})

test('a file of a version before the first release is refused with a sentence, and left as it is', () => {
  const database = openDatabase({ file: ':memory:' })
  database.exec('CREATE TABLE old (x INTEGER); PRAGMA user_version = 3')
  assert.throws(() => migrate(database, 'market', STEPS), {
    name: 'UnreleasedDatabaseError',
    message:
      'The market database was written by a version before the first release, which cannot be upgraded: move the data folder away, or set TAPELINE_DATA to another one.',
  })
  assert.equal(schemaVersion(database), 3)
  database.close()
})
