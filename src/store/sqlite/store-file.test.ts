import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { StoreUnavailableError, WritesRefusedError } from '../../core/store-unavailable.ts'
import { systemClock } from '../../kit/clock.ts'
import { ConflictError } from '../accounts.ts'
import { openSqliteAccounts } from './accounts.ts'
import { accountsWrites } from './accounts-operations.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import { openEnvironmentFile } from './environment.ts'
import { openStoreFile } from './store-file.ts'
import { writeFailure } from './write-failure.ts'

const ACCOUNT = { email: 'one@example.com', plan: 'pro', billingDay: 1, createdAtMs: 0 } as const
const LONG = 'x'.repeat(1_000_000)

/** Allows no more pages than there are. */
function fill(database: DatabaseSync): void {
  const { page_count } = database.prepare('PRAGMA page_count').get() as { page_count: number }
  database.exec(`PRAGMA max_page_count = ${page_count}`)
}

function isFull(error: unknown): boolean {
  assert.ok(error instanceof WritesRefusedError, String(error))
  assert.match(error.message, /database accepts no writes now: database or disk is full$/)
  return true
}

test('a write that the disk or the file refuses is a store that accepts no writes now', async () => {
  const { database, writer, close } = openStoreFile(
    { file: ':memory:' },
    {
      name: 'accounts',
      migrations: ACCOUNTS_MIGRATIONS,
      writes: accountsWrites,
      readerCache: 'accounts',
      writerCache: 'accounts',
    },
  )
  const create = (email: string) => writer.call('createAccount', [{ ...ACCOUNT, id: 'acc_1', email }])
  fill(database)
  await assert.rejects(create(LONG), isFull)
  database.exec('PRAGMA query_only = ON')
  await assert.rejects(create('a@example.com'), WritesRefusedError)
  database.exec('PRAGMA query_only = OFF')
  await create('a@example.com')
  await assert.rejects(create('a@example.com'), ConflictError)
  await close()
})

test('a full disk is the reason that a recorder sees, and not what follows from it', async () => {
  const { database, writer, close } = openEnvironmentFile({ file: ':memory:' })
  fill(database)
  const market = {
    ...({ source: 'predmkt_a', marketId: 'one', symbol: 'BTC', marketType: null, resolved: false } as const),
    ...{ startMs: null, endMs: null, identifiers: [], text: LONG },
  }
  const write = { rows: [], recordedAt: 0, coverage: [], finalize: [], markets: [market] }
  await assert.rejects(writer.call('write', [write]), isFull)
  await close()
})

test('a write to a thread that has died may be done', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-dead-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = openSqliteAccounts({ file: join(folder, 'a.db'), clock: systemClock })
  t.after(() => store.close())
  // The first write starts the thread, which finds nothing to open.
  rmSync(folder, { recursive: true })
  await assert.rejects(
    store.createAccount({ ...ACCOUNT, id: 'acc_1' }),
    (error) => error instanceof StoreUnavailableError && error.mayBeDone,
  )
})

test('what fails for another reason stays as it is, and an I/O error may come after the write', () => {
  const failed = (errcode: number) =>
    writeFailure(Object.assign(new Error('failed'), { errcode }), 'jobs') as Error
  const [SQL, BUSY, FSYNC, CORRUPT] = [1, 5, 1034, 11]
  assert.ok(!(failed(SQL) instanceof StoreUnavailableError))
  assert.ok(!(failed(CORRUPT) instanceof StoreUnavailableError))
  assert.deepEqual(
    [BUSY, FSYNC].map((code) => (failed(code) as StoreUnavailableError).mayBeDone),
    [false, true],
  )
})
