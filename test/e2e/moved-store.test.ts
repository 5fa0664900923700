/** A service on a data folder is stopped, its store is copied into PostgreSQL, and a service continues from there. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Feed } from '../../src/core/feed.ts'
import { DAY_MS } from '../../src/core/time.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { observed } from '../../src/store/coverage.ts'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import { type Answer, ask } from '../fakes/client.ts'
import { cliJson, dataFolder, printedKey, spawnService } from '../fakes/service.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'

const FEED: Feed<'candles'> = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1m' }
const FROM_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - 2 * DAY_MS
const MINUTES = 300
const MINUTE_MS = 60_000
const SECRET = 'a secret of more than thirty-two characters'
const embedded = { TAPELINE_STORE: '', TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' }

const [folder, other] = [dataFolder(), dataFolder()]
after(() => {
  folder.remove()
  other.remove()
})

async function record(): Promise<void> {
  const store = await openStores(parseStoreAddress(folder.path), systemClock).environment('test')
  const toMs = FROM_MS + MINUTES * MINUTE_MS
  const rows = Array.from({ length: MINUTES }, (_, i) => ({
    ...{
      time: FROM_MS + i * MINUTE_MS,
      open: 100,
      high: 110,
      low: 90,
      close: 100 + (i % 9),
      volume: i,
      closed: true,
    },
  }))
  await store.write({
    rows: [{ feed: FEED, rows }],
    coverage: [observed(FEED, FROM_MS - DAY_MS, toMs)],
    finalize: [{ feed: FEED, before: toMs }],
  })
  await store.close()
}

const query = new URLSearchParams({
  ...{ symbol: 'BTC', source: 'cexa', interval: '1m', limit: '100', order: 'asc' },
  ...{ start: new Date(FROM_MS).toISOString(), end: new Date(FROM_MS + MINUTES * MINUTE_MS).toISOString() },
})
const PATH = `/v1/candles?${query}`
const cursorOf = ({ json }: Answer) => String((json.meta as { next_cursor?: string }).next_cursor)
const creditsOf = ({ headers }: Answer) => Number(headers.get('x-credits-remaining'))

test('keys, credits, sealed pages, cursors and webhooks go on in the copy', {
  skip: withoutPostgres,
}, async () => {
  await record()
  const place = postgresPlace()
  try {
    const first = await spawnService(folder.path, { env: embedded })
    const key = await printedKey(first)
    const page = await ask(`${first.url}${PATH}`, { key })
    assert.equal(page.status, 200, page.text)
    const next = await ask(`${first.url}${PATH}&after=${cursorOf(page)}`, { key })
    const created = await ask(`${first.url}/v1/webhooks`, {
      ...{ key, method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ url: 'http://127.0.0.1:1999/', kinds: ['block_added'] }),
    })
    assert.ok([200, 201].includes(created.status), created.text)
    const spent = creditsOf(next)
    await first.kill('SIGTERM')

    const copied = await cliJson<{ result: string }>(
      folder.path,
      ['store', 'copy', '--from', folder.path, '--to', place.address],
      { ...embedded, TAPELINE_SECRET: SECRET },
    )
    assert.equal(copied.result, 'the same in both')

    const second = await spawnService(other.path, {
      env: { TAPELINE_STORE: place.address, TAPELINE_SECRET: SECRET, TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' },
    })
    try {
      const again = await ask(`${second.url}${PATH}`, { key })
      assert.equal(again.text, page.text, 'the same bytes')
      const onward = await ask(`${second.url}${PATH}&after=${cursorOf(page)}`, { key })
      assert.equal(onward.text, next.text, 'a cursor of the old service')
      assert.ok(creditsOf(again) < spent && creditsOf(onward) < creditsOf(again), 'the balance goes on')
      const webhooks = await ask(`${second.url}/v1/webhooks`, { key })
      assert.ok(webhooks.text.includes(String(created.json.id)), webhooks.text)
      assert.equal((await ask(`${second.url}/ready`)).status, 200)
    } finally {
      await second.kill('SIGTERM')
    }
  } finally {
    await place.remove()
  }
})
