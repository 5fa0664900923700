import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openDatabase } from './open.ts'
import { readDatabase } from './read-database.ts'

function rigOf(t: TestContext) {
  // Characters that have a meaning in an address.
  const folder = join(mkdtempSync(join(tmpdir(), 'tapeline-')), '100% #1?')
  t.after(() => rmSync(join(folder, '..'), { recursive: true }))
  const path = join(folder, 'some.db')
  return { folder, path }
}

const countIn = (database: DatabaseSync) => database.prepare('SELECT count(*) AS n FROM t').get()?.n

test('a database that nobody uses is read without leaving a file beside it', (t) => {
  const { folder, path } = rigOf(t)
  mkdirSync(folder)
  const writer = openDatabase({ file: path })
  writer.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)')
  assert.equal(readDatabase(path, countIn), 1, 'also what is only in the log')
  writer.close()
  assert.equal(readDatabase(path, countIn), 1)
  assert.throws(() => readDatabase(path, (database) => database.exec('DELETE FROM t')), /readonly/)
  assert.deepEqual(readdirSync(folder), ['some.db'])
})

test('a database that is written to while it is read is read again', (t) => {
  const { folder, path } = rigOf(t)
  mkdirSync(folder)
  const write = (sql: string) => {
    const writer = openDatabase({ file: path })
    writer.exec(sql)
    writer.close()
  }
  write('CREATE TABLE t (x); INSERT INTO t VALUES (1)')
  let reads = 0
  const found = readDatabase(path, (database) => {
    if (reads++ === 0) {
      write('INSERT INTO t VALUES (randomblob(100000))')
      throw new Error('pages of two states')
    }
    return countIn(database)
  })
  assert.deepEqual([found, reads], [2, 2])
})
