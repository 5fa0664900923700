/** What only an engine across the network must guarantee: changes arrive even if messages and connections are lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { storesIn } from '../../../test/fakes/stores.ts'
import { type PostgresPlace, postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { promisedMs } from '../../../test/promised-ms.ts'
import { until } from '../../../test/until.ts'
import type { AccountsStore, NewKey } from '../accounts.ts'

const skip = withoutPostgres
const ACCOUNT = { id: 'acc_1', email: 'a@example.com', plan: 'free', billingDay: 1, createdAtMs: 1 }
const keyOf = (id: string): NewKey => ({
  id,
  accountId: 'acc_1',
  environment: 'test',
  name: 'ci',
  hash: id,
  hint: 'wxyz',
  scopes: null,
  allowedCidrs: null,
  creditCap: null,
  createdAtMs: 1,
  expiresAtMs: null,
})

/** Two processes; the second one records the changes of the first that it is notified of. */
async function withTwo(
  run: (parts: {
    store: AccountsStore
    heard: string[][]
    /** Resolves with the time until `heard` has grown. */
    hears: (change: () => Promise<unknown>) => Promise<number>
    place: PostgresPlace
  }) => Promise<void>,
): Promise<void> {
  const place = postgresPlace()
  const store = storesIn(place.address).accounts()
  const other = storesIn(place.address).accounts()
  const heard: string[][] = []
  try {
    await store.createAccount(ACCOUNT)
    for (const id of ['key_1', 'key_2']) await store.createKey(keyOf(id))
    await other.watch({ onAccounts: (ids) => heard.push(ids), onWanted: () => {} })
    const hears = async (change: () => Promise<unknown>) => {
      const before = heard.length
      await change()
      const startMs = performance.now()
      while (heard.length === before && performance.now() - startMs < 60_000) await delay(5)
      assert.ok(heard.length > before, 'nothing was heard')
      return performance.now() - startMs
    }
    await run({ store, heard, hears, place })
  } finally {
    await Promise.all([store.close(), other.close()])
    await place.remove()
  }
}

async function onServer<R>(place: PostgresPlace, run: (client: Client) => Promise<R>): Promise<R> {
  const client = new Client({ connectionString: place.address.replace(/[?&]schema=.*/, '') })
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}

const LISTENERS = 'SELECT pid FROM pg_stat_activity WHERE query = $1'

test('a key that one process revokes is known to the others within a second', { skip }, async () => {
  await withTwo(async ({ store, heard, hears }) => {
    const tookMs = await hears(() => store.revokeKey('key_1', 5))
    assert.ok(tookMs < promisedMs(1_000), `after ${Math.round(tookMs)} ms`)
    assert.deepEqual(heard, [['acc_1']])
  })
})

test('a change is found when its message is lost', { skip }, async () => {
  await withTwo(async ({ store, heard, hears, place }) => {
    const schema = /schema=(\w+)/.exec(place.address)?.[1]
    const tookMs = await hears(() =>
      // As if a process died between its commit and the message.
      onServer(place, (client) =>
        client.query(`
          BEGIN;
          UPDATE ${schema}.account_changes SET newest = newest + 1;
          UPDATE ${schema}.accounts SET change_seq = (SELECT newest FROM ${schema}.account_changes);
          COMMIT`),
      ),
    )
    assert.ok(tookMs < promisedMs(1_000), `after ${Math.round(tookMs)} ms`)
    assert.deepEqual(heard, [['acc_1']])
    assert.equal(await store.revokeKey('key_2', 5), true)
  })
})

test('after its connection was lost a process takes every account for changed, and hears of the next change', {
  skip,
}, async () => {
  await withTwo(async ({ store, heard, hears, place }) => {
    const schema = /schema=(\w+)/.exec(place.address)?.[1]
    await hears(() => store.revokeKey('key_1', 5))
    await hears(() =>
      onServer(place, async (client) => {
        const { rows } = await client.query(LISTENERS, [`LISTEN ${schema}_accounts`])
        assert.ok(rows.length > 0, 'nobody listens')
        for (const { pid } of rows) await client.query('SELECT pg_terminate_backend($1::int)', [pid])
      }),
    )
    assert.deepEqual(heard, [['acc_1'], ['acc_1']])
    const tookMs = await hears(() => store.revokeKey('key_2', 5))
    assert.ok(tookMs < promisedMs(1_000), `after ${Math.round(tookMs)} ms`)
  })
})

test('a look that was under way when the connection was lost does not hide that every account counts as changed', {
  skip,
}, async () => {
  await withTwo(async ({ heard, hears, place }) => {
    const schema = /schema=(\w+)/.exec(place.address)?.[1]
    const listeners = async (client: Client) =>
      (await client.query<{ pid: number }>(LISTENERS, [`LISTEN ${schema}_accounts`])).rows.map(
        ({ pid }) => pid,
      )
    await onServer(place, async (looker) => {
      await onServer(place, async (holder) => {
        await until('it listens', async () => (await listeners(looker)).length > 0)
        const before = await listeners(looker)
        await holder.query(`BEGIN; LOCK ${schema}.account_changes`)
        await until('a look waits', async () => {
          const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1`
          return (await looker.query(waiting, ['%credit_lease_wants%'])).rows.length > 0
        })
        for (const pid of before) await looker.query('SELECT pg_terminate_backend($1::int)', [pid])
        await until('it listens again', async () =>
          (await listeners(looker)).some((pid) => !before.includes(pid)),
        )
        await hears(() => holder.query('COMMIT'))
      })
    })
    assert.deepEqual(heard, [['acc_1']])
  })
})

test('text with a character that PostgreSQL cannot store is stored without it, and finds nothing', {
  skip,
}, async () => {
  const place = postgresPlace()
  const stores = storesIn(place.address)
  const accounts = stores.accounts()
  const jobs = stores.jobs('test')
  try {
    await accounts.createAccount(ACCOUNT)
    assert.equal((await accounts.createKey({ ...keyOf('key_1'), name: 'a\0b' })).name, 'a\ufffdb')
    assert.equal(await accounts.findUser('a\0@example.com'), undefined)
    assert.equal(await accounts.getKey('key_1\0'), undefined)
    const made = { id: 'wh_a', accountId: 'acc_1', keyId: 'key_1', url: 'https://example.com/', batch: false }
    await jobs.createSubscription({ ...made, kinds: [], addresses: [], createdAtMs: 1, secret: 's' }, 10)
    const event = { seq: 1, id: 'evt_1', kind: 'block_added', text: '{}' }
    await jobs.enqueue({ events: [event], jobs: [{ subscriptionId: 'wh_a', seq: 1 }] })
    const [job] = await jobs.claim({ subscriptionId: 'wh_a', limit: 1, claimMs: 1_000 })
    assert.ok(job)
    const attempt = {
      atMs: 1,
      status: 200,
      error: null,
      durationMs: 1,
      requestHead: null,
      responseHead: null,
    }
    await jobs.settle([{ kind: 'delivered', job, ...attempt, response: '\0ok' }], [])
    assert.equal((await jobs.delivery('wh_a', job.id))?.lastResponse, '\ufffdok')
  } finally {
    await Promise.all([accounts.close(), jobs.close()])
    await place.remove()
  }
})

test('calls with keys of one account that wait for each other leave connections to other accounts', {
  skip,
}, async () => {
  const place = postgresPlace()
  const accounts = storesIn(`${place.address}&pool_size=3`).accounts()
  const schema = /schema=(\w+)/.exec(place.address)?.[1]
  const claim = (accountId: string, id: string) =>
    accounts.claimIdempotency({
      id,
      accountId,
      bodyHash: 'body',
      claimMs: 60_000,
      rememberedMs: 60_000,
      maxEntries: 100,
    })
  const reply = { status: 200, headers: [], body: 'done' }
  try {
    const [first] = await Promise.all([claim('acc_1', 'first'), claim('acc_2', 'other')])
    assert.ok(first.state === 'fresh')
    await onServer(place, async (client) => {
      await client.query(
        `BEGIN; SELECT FROM ${schema}.idempotency_totals WHERE account_id = 'acc_1' FOR UPDATE`,
      )
      const waiting = [
        accounts.finishIdempotency({ id: 'first', claim: first.claim }, reply, 1_000),
        ...Array.from({ length: 20 }, (_, i) => claim('acc_1', `waits ${i}`)),
      ]
      const second = await claim('acc_2', 'second')
      assert.ok(second.state === 'fresh')
      await accounts.finishIdempotency({ id: 'second', claim: second.claim }, reply, 1_000)
      await client.query('COMMIT')
      const [, ...claims] = await Promise.all(waiting)
      assert.deepEqual(
        claims.map((each) => each?.state),
        new Array(20).fill('fresh'),
      )
    })
    assert.equal((await claim('acc_1', 'first')).state, 'done')
  } finally {
    await accounts.close()
    await place.remove()
  }
})

test('the newest key is found also where a process of an older release has rotated one', {
  skip,
}, async () => {
  const place = postgresPlace()
  const schema = /schema=(\w+)/.exec(place.address)?.[1]
  const store = storesIn(place.address).accounts()
  try {
    await store.createAccount(ACCOUNT)
    await store.createKey(keyOf('key_1'))
    await store.rotateKey('key_1', { key: keyOf('key_2'), oldExpiresAtMs: 9 })
    await store.rotateKey('key_2', { key: keyOf('key_3'), oldExpiresAtMs: 9 })
    // As a process that does not know the column would leave it.
    await onServer(place, (client) =>
      client.query(`UPDATE ${schema}.keys SET first_key_id = NULL WHERE id = 'key_3'`),
    )
    assert.equal((await store.newestKeyOf('key_1'))?.id, 'key_3')
    await store.rotateKey('key_3', { key: keyOf('key_4'), oldExpiresAtMs: 9 })
    assert.equal((await store.newestKeyOf('key_1'))?.id, 'key_4')
  } finally {
    await store.close()
    await place.remove()
  }
})

test('keys that were rotated before chains were stored share the budget of the first one', {
  skip,
}, async () => {
  const place = postgresPlace()
  const schema = /schema=(\w+)/.exec(place.address)?.[1]
  const before = storesIn(place.address).accounts()
  try {
    await before.createAccount(ACCOUNT)
    await before.createKey(keyOf('key_3'))
    await before.rotateKey('key_3', { key: keyOf('key_1'), oldExpiresAtMs: 9 })
    await before.rotateKey('key_1', { key: keyOf('key_2'), oldExpiresAtMs: 9 })
    await before.createKey(keyOf('key_4'))
    await before.close()
    await onServer(place, (client) =>
      client.query(`
        ALTER TABLE ${schema}.keys DROP COLUMN first_key_id;
        UPDATE ${schema}.schema_versions SET version = 4 WHERE label = 'accounts'`),
    )
    const store = storesIn(place.address).accounts()
    const keys = await store.listKeys('acc_1')
    await store.close()
    assert.deepEqual(
      keys.map(({ id, capBudgetId }) => [id, capBudgetId]),
      [
        ['key_1', 'key_3'],
        ['key_2', 'key_3'],
        ['key_3', 'key_3'],
        ['key_4', 'key_4'],
      ],
    )
  } finally {
    await before.close()
    await place.remove()
  }
})
