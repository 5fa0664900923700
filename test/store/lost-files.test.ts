/** Databases and keys of a data folder that were emptied or are gone: nothing goes on as if they were new. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import {
  backupStore,
  checkBackups,
  checkStore,
  listBackups,
  openCopy,
  openStores,
  parseStoreAddress,
  upgradeStore,
} from '../../src/store/open-stores.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { dataFolder } from '../fakes/service.ts'
import { START_MS } from './drawn-data.ts'

const KEYS = ['cursor.key', 'webhook.key']
const quiet = () => {}

/** A folder with the databases of one environment, as a service that has ended leaves it. */
async function startRig(t: TestContext) {
  const folder = dataFolder()
  t.after(() => folder.remove())
  const data = folder.path
  const address = parseStoreAddress(data)
  const stores = openStores(address, systemClock)
  const store = stores.accounts()
  await store.createAccount({ id: 'a', email: 'a@example.com', plan: 'free', billingDay: 1, createdAtMs: 1 })
  await store.close()
  await (await stores.environment('test')).close()
  await stores.chain('test').close()
  await stores.jobs('test').close()
  for (const name of KEYS) writeFileSync(join(data, name), randomBytes(32), { mode: 0o600 })
  return { data, address, stores, path: (name: string) => join(data, name) }
}

function backupsOf(t: TestContext, data: string) {
  const folder = dataFolder()
  t.after(() => folder.remove())
  const clock = manualClock(START_MS)
  const to = folder.path
  return {
    to,
    take() {
      clock.advance(1_000)
      return backupStore(parseStoreAddress(data), { clock, to, keep: 1, release: '1', onProgress: quiet })
    },
    async assertOnlyGood(takenAtMs: number) {
      assert.deepEqual(
        (await listBackups(to)).map((each) => each.takenAtMs),
        [takenAtMs],
      )
      assert.deepEqual(await checkBackups(to, quiet), { backups: 1, faults: [] })
    },
  }
}

for (const name of ['accounts.db', 'test.db'])
  test(`a backup refuses an emptied database and changes nothing in it: ${name}`, async (t) => {
    const { data, path } = await startRig(t)
    const backups = backupsOf(t, data)
    const good = await backups.take()
    truncateSync(path(name), 0)
    await assert.rejects(backups.take(), { name: 'BackupRefusedError', message: /\.db is empty: restore it/ })
    assert.equal(statSync(path(name)).size, 0)
    // As a process leaves it that opens the file for writing and does nothing else.
    const database = new DatabaseSync(path(name))
    database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_checkpoint')
    database.close()
    assert.ok(statSync(path(name)).size > 0)
    await assert.rejects(backups.take(), /\.db is empty/)
    await backups.assertOnlyGood(good.takenAtMs)
  })

test('a backup refuses a database of another program', async (t) => {
  const { data, path } = await startRig(t)
  const backups = backupsOf(t, data)
  const good = await backups.take()
  rmSync(path('test.db'))
  const database = new DatabaseSync(path('test.db'))
  database.exec('CREATE TABLE notes (text TEXT); PRAGMA user_version = 2')
  database.close()
  await assert.rejects(backups.take(), /test\.db was not written by a release of this service/)
  await backups.assertOnlyGood(good.takenAtMs)
})

for (const name of ['test.db', 'webhook.key'])
  test(`a backup refuses a folder that has lost what the last backup has: ${name}`, async (t) => {
    const { data, path } = await startRig(t)
    const backups = backupsOf(t, data)
    const good = await backups.take()
    rmSync(path(name))
    await assert.rejects(backups.take(), (error: Error) => {
      assert.equal(error.name, 'BackupRefusedError')
      return error.message.includes(`has lost ${name}`) && error.message.includes('name another folder')
    })
    await backups.assertOnlyGood(good.takenAtMs)
    assert.ok((await backupsOf(t, data).take()).bytes > 0, 'into another folder')
  })

test('an emptied accounts database beside others is not opened or copied; without it, or on a first start, it is created', async (t) => {
  const { data, address, stores, path } = await startRig(t)
  truncateSync(path('accounts.db'), 0)
  const refusal = { name: 'DamagedDatabaseError', message: /accounts\.db is damaged: it is empty.*backup/ }
  assert.throws(() => stores.accounts(), refusal)
  assert.throws(() => stores.leases(), refusal)
  await assert.rejects(upgradeStore(address, systemClock), refusal)
  const server = parseStoreAddress('postgres://nobody@127.0.0.1:1/nothing')
  await assert.rejects(openCopy(address, server, systemClock), refusal)
  assert.equal(statSync(path('accounts.db')).size, 0)
  rmSync(path('accounts.db'))
  await stores.accounts().close()
  for (const name of readdirSync(data)) if (name.endsWith('.db')) rmSync(path(name))
  // As processes leave it that are killed at their first start.
  for (const name of ['accounts.db', 'test.db']) writeFileSync(path(name), '')
  await stores.accounts().close()
  truncateSync(path('test.db'), 0)
  await stores.accounts().close()
})

/** What the check says is wrong; it must leave the folder as it is. */
async function problemsOf(data: string): Promise<string[]> {
  const state = () => readdirSync(data).map((name) => [name, statSync(join(data, name)).size])
  const before = state()
  const found = await checkStore(parseStoreAddress(data))
  assert.deepEqual(state(), before)
  return found.filter(({ state }) => state === 'problem').map(({ about, finding }) => `${about}: ${finding}`)
}

test('the check of a store finds emptied databases, and lost accounts; an environment may be new', async (t) => {
  const { data, path } = await startRig(t)
  assert.deepEqual(await problemsOf(data), [])
  const kept = readFileSync(path('test.db'))
  truncateSync(path('test.db'), 0)
  assert.deepEqual(await problemsOf(data), [
    'test.db: it is empty: put it back from a backup, or remove it to begin a new one',
  ])
  rmSync(path('test.db'))
  assert.deepEqual(await problemsOf(data), [])
  writeFileSync(path('test.db'), kept, { mode: 0o600 })
  truncateSync(path('accounts.db'), 0)
  assert.match(String(await problemsOf(data)), /^accounts\.db: it is empty/)
  rmSync(path('accounts.db'))
  assert.deepEqual(await problemsOf(data), ['accounts.db: it is missing: put it back from a backup'])
})

test('the check of a store finds a key that is damaged, and a lost one that webhooks need', async (t) => {
  const { data, stores, path } = await startRig(t)
  rmSync(path('webhook.key'))
  assert.deepEqual(await problemsOf(data), [], 'nothing is stored under it')
  const jobs = stores.jobs('test')
  const record = { accountId: 'a', keyId: 'k', url: 'https://example.com', kinds: ['block_added'] }
  const webhook = { ...record, id: 'wh_1', addresses: [], batch: false, createdAtMs: 0, secret: 's' }
  await jobs.createSubscription(webhook, 10)
  await jobs.close()
  assert.match(String(await problemsOf(data)), /^webhook\.key: it is missing, and the signing secrets of 1 /)
  writeFileSync(path('webhook.key'), randomBytes(32), { mode: 0o600 })
  assert.deepEqual(await problemsOf(data), [])
  writeFileSync(path('cursor.key'), 'x')
  assert.match(String(await problemsOf(data)), /^cursor\.key: it has 1 bytes, not 32/)
  await assert.rejects(backupsOf(t, data).take(), /cursor\.key has 1 bytes, not 32/)
})
