/** The list of webhooks, of an account that has as many addresses as its plan allows. */
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { JobsStore } from '../../src/store/jobs.ts'
import { MAX_PAGE_ADDRESSES } from '../../src/webhooks/find-subscriptions.ts'
import { testAddress } from '../fakes/event-writer.ts'
import { watchTurns } from '../fakes/loop-hold.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'

const WEBHOOKS = 30
const ADDRESSES = 10_000
/** A loose bound for the best of several rounds: the code is not compiled yet, and the machine is shared. */
const MAX_HOLD_MS = 100
const ROUNDS = 3

let service: TestService
let store: JobsStore
const addresses = Array.from({ length: MAX_PAGE_ADDRESSES + 1 }, (_, index) => testAddress(index))

before(async () => {
  service = await startTestService()
  store = storesIn(service.folder).jobs('test')
})
after(async () => {
  await store.close()
  await service.stop()
})

const newId = () => `wh_${randomBytes(10).toString('hex')}`

/** Stored as by the service, but without checking every address; switched off, so that no event matches them. */
async function insert(accountId: string, count: number, createdAtMs: number): Promise<string> {
  const id = newId()
  const owned = { accountId, keyId: 'k', url: 'https://example.com/hook', secret: 's', batch: false }
  const selection = { kinds: ['utxos_changed'], addresses: addresses.slice(0, count), createdAtMs }
  assert.equal((await store.createSubscription({ ...owned, ...selection, id }, 1_000))?.id, id)
  await store.updateSubscription(id, { active: false })
  return id
}

interface Page {
  webhooks: { id: string; addresses: string[] }[]
  next_cursor?: string | null
  credits_used: number
}

async function read(key: string, query: string) {
  const response = await fetch(`${service.url}/v1/webhooks${query}`, { headers: { 'X-API-Key': key } })
  return { status: response.status, headers: response.headers, body: await response.text() }
}

/** Each page of the list, with the longest turn of the loop while it was read. */
async function* pages(key: string, params = '') {
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? params : `${params === '' ? '?' : `${params}&`}cursor=${cursor}`
    const stop = watchTurns()
    let holdMs = 0
    const answer = await read(key, query).finally(() => {
      holdMs = stop()
    })
    assert.equal(answer.status, 200, answer.body)
    const page = JSON.parse(answer.body) as Page
    cursor = page.next_cursor ?? null
    assert.equal(answer.headers.get('x-next-cursor') ?? null, cursor)
    assert.equal((answer.headers.get('link') ?? '').includes('rel="next"'), cursor !== null)
    yield { page, holdMs }
  } while (cursor !== null)
}

test('very many addresses come in bounded pages, each webhook once, and no page holds the loop', async (t) => {
  const accountId = await service.account()
  const key = await service.key({ accountId })
  const made: string[] = []
  for (let index = 0; index < WEBHOOKS; index++) made.push(await insert(accountId, ADDRESSES, index))
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS && best > MAX_HOLD_MS; round++) {
    const seen: string[] = []
    let longest = 0
    for await (const { page, holdMs } of pages(key)) {
      longest = Math.max(longest, holdMs)
      const held = page.webhooks.reduce((sum, webhook) => sum + webhook.addresses.length, 0)
      assert.ok(held <= MAX_PAGE_ADDRESSES, `a page holds ${held} addresses`)
      seen.push(...page.webhooks.map(({ id }) => id))
    }
    assert.deepEqual(seen, made)
    best = Math.min(best, longest)
  }
  t.diagnostic(`hold ${best.toFixed(1)} ms`)
  assert.ok(best < MAX_HOLD_MS, `held for ${best.toFixed(0)} ms`)
})

test('webhooks of any size, made at one instant and removed during the walk, are seen once; a page has one at least', async () => {
  const accountId = await service.account()
  const key = await service.key({ accountId })
  const sizes = [0, 1, MAX_PAGE_ADDRESSES, MAX_PAGE_ADDRESSES + 1, 0, randomInt(MAX_PAGE_ADDRESSES), 0, 0]
  const made: string[] = []
  for (const size of sizes) made.push(await insert(accountId, size, randomInt(2)))
  const limit = 1 + randomInt(3)
  const seen: string[] = []
  let removed: string | undefined
  for await (const { page } of pages(key, `?limit=${limit}`)) {
    assert.ok(page.webhooks.length >= 1 && page.webhooks.length <= limit)
    seen.push(...page.webhooks.map(({ id }) => id))
    // The webhook that the cursor names: the walk continues after its position.
    removed ??= page.webhooks.at(-1)?.id
    if (removed !== undefined) await store.deleteSubscription(removed)
  }
  assert.deepEqual([...seen].sort(), [...made].sort(), `sizes ${sizes.join(', ')}, limit ${limit}`)
})

test('few webhooks are one answer, and a cursor opens the list of its own account only', async () => {
  const accountId = await service.account()
  const key = await service.key({ accountId })
  assert.equal((await read(key, '')).body, '{"webhooks":[],"next_cursor":null,"credits_used":0}')
  const made = [await insert(accountId, 1, 1), await insert(accountId, 2, 2)]
  const whole = JSON.parse((await read(key, '')).body) as Page
  assert.deepEqual(
    whole.webhooks.map(({ id }) => id),
    made,
  )
  assert.equal(whole.next_cursor, null)
  const first = JSON.parse((await read(key, '?limit=1')).body) as Page
  const { next_cursor: cursor = '' } = first
  assert.equal((await read(key, `?limit=1&cursor=${cursor}`)).status, 200)
  assert.equal((await read(await service.key(), `?cursor=${cursor}`)).status, 422)
  assert.equal((await read(key, `?cursor=x${cursor}`)).status, 422)
  assert.equal((await read(key, '?limit=251')).status, 422)
})
