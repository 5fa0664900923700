import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'
import { subscriptionReaders, subscriptionWriters } from './jobs-subscriptions.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'

test('a page of subscriptions does not end early because one is deleted while it is read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-jobs-'))
  const [database, other] = [1, 2].map(() => openDatabase({ file: join(folder, 'jobs.db') })) as [
    ReturnType<typeof openDatabase>,
    ReturnType<typeof openDatabase>,
  ]
  t.after(() => {
    for (const each of [database, other]) each.close()
    rmSync(folder, { recursive: true })
  })
  migrate(database, 'jobs', JOBS_MIGRATIONS)
  const writers = subscriptionWriters(other)
  const record = { accountId: 'a', keyId: 'k', url: 'https://example.com', kinds: ['block_added'] }
  for (const id of ['wh_1', 'wh_2'])
    writers.createSubscription(
      { ...record, id, addresses: [], batch: false, createdAtMs: 1, secret: 's' },
      10,
    )
  const prepare = database.prepare.bind(database)
  t.mock.method(database, 'prepare', (sql: string): StatementSync => {
    const statement = prepare(sql)
    if (!sql.startsWith('SELECT id FROM subscriptions')) return statement
    const all = statement.all.bind(statement)
    t.mock.method(statement, 'all', (...values: (string | number)[]) => {
      const found = all(...values)
      writers.deleteSubscription('wh_1')
      return found
    })
    return statement
  })
  const page = subscriptionReaders(database).subscriptionPage({ afterId: '', limit: 10, maxChars: 1_000 })
  assert.ok(page.some(({ id }) => id === 'wh_2'))
})
