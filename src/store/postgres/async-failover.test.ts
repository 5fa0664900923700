/** A standby that lacks the newest writes takes over; no number or term that processes know is assigned again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster, withoutPrograms } from '../../../test/postgres/cluster.ts'
import { until } from '../../../test/until.ts'
import type { Feed } from '../../core/feed.ts'
import { systemClock } from '../../kit/clock.ts'
import { observed } from '../coverage.ts'
import { openStores, parseStoreAddress } from '../open-stores.ts'
import { parsePostgresAddress } from './address.ts'
import { connect } from './connection.ts'

const SUBSCRIPTION = {
  ...{ accountId: 'acc', keyId: 'key', url: 'https://example.com/', kinds: ['block_added'], addresses: [] },
  ...{ batch: false, createdAtMs: 1, secret: 'sealed' },
}
/** Each has its own feed. */
const FEEDS = { first: 'BTC', lost: 'ETH', found: 'SOL', next: 'XRP' } as const
const feed = (name: keyof typeof FEEDS): Feed => ({
  ...{ dataset: 'candles', source: 'cexa', symbol: FEEDS[name], interval: '1s' },
})

/** Creates one of everything that is numbered, on the server that accepts writes now. */
async function makeOne(address: string, name: keyof typeof FEEDS) {
  const stores = openStores(parseStoreAddress(address), systemClock)
  const [environment, jobs, leases] = [await stores.environment('test'), stores.jobs('test'), stores.leases()]
  const chain = stores.chain('test')
  try {
    await environment.write({ coverage: [observed(feed(name), 0, 1_000)] })
    const lease = await leases.take({ part: 'index/test', holder: name, durationMs: 60_000 })
    if (lease !== undefined) await leases.release(lease)
    await jobs.createSubscription({ ...SUBSCRIPTION, id: `wh_${name}` }, 10)
    await jobs.enqueue({
      events: [{ seq: 1, id: 'evt_1', kind: 'block_added', text: name }],
      jobs: [{ subscriptionId: `wh_${name}`, seq: 1 }],
    })
    const [job] = await jobs.claim({ subscriptionId: `wh_${name}`, limit: 1, claimMs: 60_000 })
    const before = await chain.chain.checkpoint()
    const written = await chain.chain.write({
      ...{ expects: before?.hash ?? null, atMs: 1 },
      events: [{ kind: 'block_added', createdAtMs: 1, addresses: [], tail: '{}' }],
    })
    return {
      version: await jobs.subscriptionsVersion(),
      term: lease?.term ?? 0,
      delivery: Number.parseInt(job?.id.split('_').at(-1) ?? '', 36),
      claim: job?.claim ?? 0,
      event: written.newestSeq,
    }
  } finally {
    await Promise.all([environment.close(), jobs.close(), leases.close(), chain.close()])
  }
}

/** Plans with a version of the subscriptions, after a change that no plan depends on. */
async function planAfterRotation(address: string, subscriptions: number): Promise<boolean> {
  const jobs = openStores(parseStoreAddress(address), systemClock).jobs('test')
  try {
    await jobs.startAt({ id: 'log', newestSeq: 1 }, undefined)
    await jobs.updateSubscription('wh_first', { secret: 'another' })
    return await jobs.plan({ after: 1, upTo: 2, subscriptions, events: [], jobs: [] })
  } finally {
    await jobs.close()
  }
}

test('numbers, terms and claims of a server that was replaced are not given again, and it is not used again', {
  skip: withoutPrograms,
}, async () => {
  const primary = await startCluster()
  const standby = await startCluster({ from: primary })
  const address = (host: string) =>
    `postgres://postgres@${host}:${primary.port},${host}:${standby.port}/postgres`
  const feedIds = async (on: typeof primary) =>
    (await on.query('SELECT id FROM tapeline_test.feeds ORDER BY id')).map(({ id }) => Number(id))
  try {
    await makeOne(address('127.0.0.1'), 'first')
    await until('the standby has it', async () => {
      const rows = await primary.query(
        'SELECT 1 FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()',
      )
      return rows.length === 1
    })
    await standby.crash()
    const lost = await makeOne(address('127.0.0.1'), 'lost')
    const lostFeeds = await feedIds(primary)
    await primary.crash()
    await standby.restart()
    await standby.query('SELECT pg_promote()')
    assert.equal(
      await planAfterRotation(address('127.0.0.1'), lost.version),
      false,
      'a plan for subscriptions that this server has not seen',
    )
    const found = await makeOne(address('127.0.0.1'), 'found')
    for (const [name, number] of Object.entries(found))
      assert.ok(number > lost[name as keyof typeof lost], `${name}: ${number} after ${JSON.stringify(lost)}`)
    const newFeed = (await feedIds(standby)).at(-1) ?? 0
    assert.ok(!lostFeeds.includes(newFeed), `feed ${newFeed} was given before: ${lostFeeds}`)
    const next = await makeOne(address('127.0.0.1'), 'next')
    for (const [name, number] of Object.entries(next))
      assert.ok(number > found[name as keyof typeof found], name)

    await primary.restart()
    // Under another host name nothing is remembered of the server, as in a process that starts.
    const { client } = await connect(parsePostgresAddress(address('localhost'), 8), ['tapeline'])
    const { rows } = await client.query<{ port: number }>('SELECT inet_server_port() AS port')
    await client.end()
    assert.equal(rows[0]?.port, standby.port, 'the server that was replaced is first, and is not taken')
  } finally {
    await standby.stop()
    await primary.stop()
  }
})
