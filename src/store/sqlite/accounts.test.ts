import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { systemClock } from '../../kit/clock.ts'
import { openSqliteAccounts } from './accounts.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import { APPLICATION_ID, migrate } from './migrate.ts'

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

test('keys that were rotated before chains were stored share the budget of the first one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  const file = join(folder, 'accounts.db')
  const old = new DatabaseSync(file)
  migrate(old, 'accounts', ACCOUNTS_MIGRATIONS.slice(0, 6))
  old.exec(
    `INSERT INTO accounts (id, email, plan, billing_day, created_at) VALUES ('acc_1', 'a@b', 'free', 1, 1)`,
  )
  const insert = old.prepare(
    `INSERT INTO keys (id, account_id, environment, name, hash, hint, credit_cap, created_at, replaced_by)
      VALUES (:id, 'acc_1', 'test', 'ci', :id, 'wxyz', 50, 1, :next)`,
  )
  const CHAIN = 2_000
  // The ids are not in the order of the rotations.
  const idOf = (n: number) => `key_${(n * 7) % CHAIN}`
  for (let n = 0; n < CHAIN; n++) insert.run({ id: idOf(n), next: n < CHAIN - 1 ? idOf(n + 1) : null })
  insert.run({ id: 'alone', next: null })
  // Should never occur, but the upgrade must end even then.
  insert.run({ id: 'circle_1', next: 'circle_2' })
  insert.run({ id: 'circle_2', next: 'circle_1' })
  old.close()
  const store = openSqliteAccounts({ file, clock: systemClock })
  try {
    const keys = await store.listKeys('acc_1')
    const sharing = keys.filter(({ capBudgetId }) => capBudgetId === idOf(0))
    assert.equal(sharing.length, CHAIN)
    assert.deepEqual(
      keys.filter((key) => !sharing.includes(key)).map(({ id, capBudgetId }) => [id, capBudgetId]),
      ['alone', 'circle_1', 'circle_2'].map((id) => [id, id]),
    )
    assert.equal((await store.newestKeyOf(idOf(0)))?.id, idOf(CHAIN - 1))
    assert.equal((await store.newestKeyOf(idOf(1_000)))?.id, idOf(CHAIN - 1))
    assert.equal((await store.newestKeyOf('circle_1'))?.id, 'circle_1')
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
})
