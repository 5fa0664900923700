/** `tapeline store copy`: everything is there, byte by byte, in both directions. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import type { CopySide } from '../../src/store/copy/copy-side.ts'
import type { CopyProgress } from '../../src/store/maintain.ts'
import {
  copyStore,
  lockFolder,
  openCopy,
  openStores,
  parseStoreAddress,
  SERVICE_LOCK,
  type SqliteAddress,
  type StoreAddress,
} from '../../src/store/open-stores.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'
import { seededRandom } from '../seeded-random.ts'
import { drawn, START_MS } from './drawn-data.ts'
import { fillStores, servedOf } from './filled-store.ts'

const READS = 60
const NO_SYNC = { sync: 'off' } as const

async function copy(from: StoreAddress, to: StoreAddress, onProgress = (_: CopyProgress) => {}) {
  const sides = await openCopy(from, to, systemClock)
  try {
    await assertGoesOn(sides.source)
    return await copyStore({ ...sides, onProgress, copySecrets: async () => {} })
  } finally {
    await Promise.all([sides.source.close(), sides.target.close()])
  }
}

/** A copy that was killed continues after any row of any table. */
async function assertGoesOn(source: CopySide): Promise<void> {
  for (const table of await source.tables()) {
    const rows = (await Array.fromAsync(source.read(table))).flat()
    const place = Math.floor(rows.length / 2) - 1
    const row = rows[place]
    if (row === undefined) continue
    const key = table.key.map((column) => row[table.columns.indexOf(column)] ?? null)
    const rest = (await Array.fromAsync(source.read(table, key))).flat()
    assert.deepEqual(rest, rows.slice(place + 1), `${table.name} after row ${place} of ${rows.length}`)
  }
}

test('a store is copied to the other engine and back: the same rows, the same answers, and it goes on from there', {
  skip: withoutPostgres,
}, async (t) => {
  const random = seededRandom(t)
  const clock = manualClock(START_MS)
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-copy-'))
  const place = postgresPlace()
  const [first, second, third] = [join(folder, 'a'), place.address, join(folder, 'b')].map((text) =>
    parseStoreAddress(text),
  ) as [StoreAddress, StoreAddress, StoreAddress]
  try {
    mkdirSync(join(folder, 'a'))
    await fillStores(openStores({ ...first, ...NO_SYNC }, clock), random, clock)
    const there = await copy(first, second)
    assert.deepEqual(there.differences, [])
    assert.ok(there.rows > 3_000, `${there.rows} rows`)
    const back = await copy(second, third)
    assert.deepEqual(back.differences, [])
    assert.equal(back.rows, there.rows)
    assert.ok(!existsSync(join(folder, 'b', 'live-chain.db')), 'what was never used is not created')

    const stores = [first, second, third].map((address) => openStores(address, clock))
    const [expected, ...others] = await Promise.all(stores.map((each) => servedOf(each, clock)))
    for (const other of others) assert.deepEqual(other, expected)
    const markets = await Promise.all(stores.map((each) => each.environment('test')))
    const draw = drawn(random)
    for (let i = 0; i < READS; i++) {
      const { name, run } = draw.read()
      const [wanted, ...found] = await Promise.all(
        markets.map(async (each) => JSON.stringify(await run(each))),
      )
      for (const other of found) assert.equal(other, wanted, `${name}, read ${i}`)
    }
    // The copy can be used: the same writes have the same results.
    for (let i = 0; i < 5; i++) {
      const write = draw.write()
      clock.advance(500)
      const [wanted, ...found] = [
        await markets[0]?.write(write),
        await markets[1]?.write(write),
        await markets[2]?.write(write),
      ]
      for (const other of found) assert.deepEqual(other, wanted)
    }
    await Promise.all(markets.map((each) => each.close()))
  } finally {
    await place.remove()
    rmSync(folder, { recursive: true })
  }
})

const account = { id: 'acc', email: 'a@example.com', plan: 'free', billingDay: 1, createdAtMs: 1 }
const stop = () => {
  throw new Error('stopped on the way')
}

/** An account in a folder, an empty PostgreSQL store, and an empty folder. */
async function withPlaces(run: (places: Record<'full' | 'server' | 'empty', StoreAddress>) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-copy-'))
  const place = postgresPlace()
  const at = (name: string) => parseStoreAddress(join(folder, name))
  mkdirSync(join(folder, 'full'))
  try {
    const accounts = openStores(at('full'), systemClock).accounts()
    await accounts.createAccount(account)
    await accounts.close()
    await run({ full: at('full'), server: parseStoreAddress(place.address), empty: at('empty') })
  } finally {
    await place.remove()
    rmSync(folder, { recursive: true })
  }
}

test(
  'a row that was corrected before it was packed is copied like any other',
  { skip: withoutPostgres },
  () =>
    withPlaces(async ({ full, server, empty }) => {
      await copy(full, server)
      const store = await openStores(server, systemClock).environment('test')
      const feed = { dataset: 'trades', source: 'predmkt_b', symbol: 'BTC', interval: '' } as const
      const trade = {
        time: START_MS,
        seq: 1,
        tradeId: 't',
        side: 'buy',
        price: 0.5,
        marketId: 'KXBTC',
        outcome: 'yes',
      } as const
      for (const size of [1, 2]) await store.write({ rows: [{ feed, rows: [{ ...trade, size }] }] })
      await store.close()
      assert.deepEqual((await copy(server, empty)).differences, [])
    }),
)

test(
  'an unfinished copy cannot be used, and only the same copy goes on with it',
  {
    skip: withoutPostgres,
  },
  () =>
    withPlaces(async ({ full, server, empty }) => {
      await assert.rejects(copy(full, server, stop), /stopped on the way/)
      const half = openStores(server, systemClock).accounts()
      await assert.rejects(half.listAccounts(), { name: 'UnfinishedCopyError', message: /store copy` again/ })
      await half.close()
      const other = openStores(empty, systemClock)
      mkdirSync((empty as SqliteAddress).folder)
      await other.accounts().close()
      await assert.rejects(copy(empty, server), {
        name: 'CopyRefusedError',
        message: /unfinished copy of .*full/,
      })
      assert.deepEqual((await copy(full, server)).differences, [])
      const whole = openStores(server, systemClock).accounts()
      assert.equal((await whole.listAccounts()).length, 1)
      await whole.close()
      await assert.rejects(copy(full, server), {
        name: 'CopyRefusedError',
        message: /is not empty \(shared\/accounts/,
      })
      await assert.rejects(copy(server, full), { name: 'CopyRefusedError', message: /is not empty/ })

      rmSync((empty as SqliteAddress).folder, { recursive: true })
      await assert.rejects(copy(server, empty, stop), /stopped on the way/)
      assert.throws(() => openStores(empty, systemClock).accounts(), { name: 'UnfinishedCopyError' })
      assert.deepEqual((await copy(server, empty)).differences, [])
      await openStores(empty, systemClock).accounts().close()
    }),
)

test('what was changed in the source behind the copy is found and named', { skip: withoutPostgres }, () =>
  withPlaces(async ({ full, server }) => {
    await assert.rejects(
      copy(full, server, ({ step }) => (step === 'compare' ? stop() : undefined)),
      /stopped on the way/,
    )
    const accounts = openStores(full, systemClock).accounts()
    await accounts.createAccount({ ...account, id: 'later', email: 'later@example.com' })
    await accounts.close()
    const { differences } = await copy(full, server)
    assert.deepEqual(differences, [{ table: 'shared/accounts', part: '', sourceRows: 2, targetRows: 1 }])
    const half = openStores(server, systemClock).accounts()
    await assert.rejects(half.listAccounts(), { name: 'UnfinishedCopyError' })
    await half.close()
  }),
)

test('nothing is copied while a service runs on either side', { skip: withoutPostgres }, () =>
  withPlaces(async ({ full, server, empty }) => {
    const holder = { pid: process.pid, since: 'now' }
    const lock = lockFolder((full as SqliteAddress).folder, { name: SERVICE_LOCK, holder })
    await assert.rejects(copy(full, server), {
      name: 'CopyRefusedError',
      message: /in use by another process/,
    })
    lock.release()
    const leases = openStores(server, systemClock).leases()
    const coordination = openStores(server, systemClock).coordination()
    const fence = await leases.take({ part: 'index/live', holder: 'one', durationMs: 10_000 })
    await assert.rejects(copy(full, server), {
      name: 'CopyRefusedError',
      message: /index\/live is led by one/,
    })
    if (fence !== undefined) await leases.release(fence)
    await coordination.exchangeCounts({ holder: 'api process', counts: [] })
    await assert.rejects(copy(server, empty), { name: 'CopyRefusedError', message: /api process/ })
    await Promise.all([leases.close(), coordination.close()])
    await assert.rejects(copy(full, full), { message: /copy the files/ })
    await assert.rejects(copy(server, server), { message: /pg_dump/ })
  }),
)
