import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDatabase } from './open.ts'

test('a file is opened while another connection writes to it, and gives room back from its first table on', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-open-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'a.db')
  const writer = openDatabase({ file })
  writer.exec('CREATE TABLE rows (n INTEGER)')
  const INCREMENTAL = 2
  assert.equal(writer.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum, INCREMENTAL)
  writer.exec('BEGIN IMMEDIATE; INSERT INTO rows VALUES (1)')
  const other = openDatabase({ file, busyTimeoutMs: 1 })
  assert.equal(other.prepare('SELECT count(*) AS n FROM rows').get()?.n, 0)
  assert.equal(other.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum, INCREMENTAL)
  writer.exec('COMMIT')
  other.close()
  writer.close()
})
