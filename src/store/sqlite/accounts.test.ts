import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { systemClock } from '../../kit/clock.ts'
import { openSqliteAccounts } from './accounts.ts'
import { APPLICATION_ID } from './migrate.ts'

test('a file of a newer release is refused with a sentence that says what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  const file = join(folder, 'accounts.db')
  const newer = new DatabaseSync(file)
  newer.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 99`)
  newer.close()
  assert.throws(
    () => openSqliteAccounts({ file, clock: systemClock }),
    /accounts database has schema version 99.*start that release, or restore a backup/,
  )
  rmSync(folder, { recursive: true })
})
