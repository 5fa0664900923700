/** Deliveries from the event log to real receivers: what arrives, what is charged, and what happens to failures. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { testAddress } from '../../test/fakes/event-writer.ts'
import { accept, hang, type Receiver, startReceiver, status } from '../../test/fakes/receiver.ts'
import { type Rig, type RigOptions, startRig } from '../../test/fakes/webhook-rig.ts'
import { until } from '../../test/until.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { newEvent } from '../events/event.ts'
import { systemClock } from '../kit/clock.ts'
import { appendEvents } from '../store/conformance/chain-engine.ts'
import type { JobClaim } from '../store/jobs.ts'
import type { Credits } from './credits.ts'
import { CLAIM_MS } from './work.ts'

const QUICK = { retryDelaysMs: [50, 50, 50, 50, 50, 50, 50] }
/** A time limit for answers that even a shared machine does not reach. */
const PATIENT_MS = 40_000
const MIB = 1024 * 1024
const BLOCK = { daa_score: 1n, blue_score: 1n, timestamp: '2026-03-14T04:00:00.000Z', transaction_ids: [] }
const IMPATIENT = { ...QUICK, answerLimitMs: 400 }

/** Deliveries that cost nothing. */
const FREE: Credits = {
  reserve: async (_, count) => ({ ok: true, count, charge: async () => {}, release: () => {} }),
  endOf: async () => undefined,
  currentEndOf: async () => undefined,
  available: async () => 1_000,
  pauseOf: async () => undefined,
  forget() {},
}

async function setUp(t: TestContext, webhooks: RigOptions['webhooks'] = QUICK) {
  const rig = await startRig({ webhooks })
  t.after(() => rig.close())
  const owner = await rig.createOwner()
  const subscribe = async (receiver: Receiver, extra: { batch?: boolean } = {}) => {
    t.after(() => receiver.close())
    const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: extra.batch ?? false }
    return rig.webhooks.subscriptions.create(owner, asked)
  }
  return { rig, owner, subscribe }
}

type Owner = Awaited<ReturnType<Rig['createOwner']>>

const stateOf = async (rig: Rig, accountId: string, id: string) =>
  (await rig.webhooks.subscriptions.deliveries(accountId, id, { limit: 100 })).map((row) => row.state)

test('every event arrives once over kept connections, signed both ways, and costs one credit', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const receiver = await startReceiver()
  const { secret, subscription } = await subscribe(receiver)
  await rig.emitBlocks(300)
  await until('300 events', () => receiver.accepted.size === 300)
  assert.equal(receiver.received.length, 300)
  assert.ok(receiver.connections() <= 16, `${receiver.connections()} connections`)
  for (const { headers, body } of receiver.received) {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    const expected = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
    assert.equal(headers['x-svc-signature'], expected)
    assert.equal(headers['x-svc-event'], 'block_added')
    assert.match(String(headers['x-svc-delivery']), /^dlv_/)
  }
  await until('history', async () => (await rig.webhooks.status()).pending === 0)
  assert.equal(await rig.creditsUsed(owner.accountId), 300)
  assert.deepEqual(new Set(await stateOf(rig, owner.accountId, subscription.id)), new Set(['delivered']))
})

for (const batch of [false, true]) {
  test(`long events are claimed and sent about 1 MiB at a time (${batch ? 'batches' : 'one by one'})`, async (t) => {
    const { rig, subscribe } = await setUp(t)
    const receiver = await startReceiver()
    const claim = rig.jobs.claim.bind(rig.jobs)
    const claimed: number[] = []
    t.mock.method(rig.jobs, 'claim', async (asked: JobClaim) => {
      const jobs = await claim(asked)
      claimed.push(jobs.reduce((sum, { event }) => sum + event.text.length, 0))
      return jobs
    })
    const { secret } = await subscribe(receiver, { batch })
    const longest = 300_000
    const lengths = [...Array.from({ length: 30 }, () => 100_000), longest, ...Array(10).fill(200_000)]
    const events = lengths.map((length) =>
      newEvent({
        ...{ kind: 'block_added', network: 'testnet-10', createdAtMs: 1 },
        data: { ...BLOCK, hash: 'é'.repeat(length / 2) },
      }),
    )
    rig.tail.announce(await appendEvents(rig.chain, events))
    await until('all events', () => receiver.accepted.size === events.length)
    const bodies = receiver.received.map(({ body }) => Buffer.byteLength(body))
    assert.ok(Math.max(...bodies) <= MIB + 100, `${bodies}`)
    if (batch) assert.ok(receiver.received.length <= 8, `${receiver.received.length} batches`)
    assert.ok(Math.max(...claimed) <= MIB + longest, `${claimed}`)
    for (const { headers, body } of receiver.received)
      new Webhook(secret).verify(body, headers as Record<string, string>)
  })
}

test('a creation that is repeated finds the webhook of the first try, also where the store was away right after it', async (t) => {
  const { rig, owner } = await setUp(t)
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const { subscriptions } = rig.webhooks
  const create = (once: string) =>
    subscriptions.create(
      owner,
      { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false },
      once,
    )
  const away = t.mock.method(rig.jobs, 'subscriptionsVersion', () =>
    Promise.reject(new StoreUnavailableError('away')),
  )
  const first = await create('a')
  assert.ok(away.mock.callCount() > 0)
  away.mock.restore()
  assert.deepEqual(await create('a'), first)
  const second = await create('b')
  assert.notEqual(second.secret, first.secret)
  const { records } = await subscriptions.list(owner.accountId, { limit: 10 })
  assert.deepEqual(
    records.map(({ id }) => id).sort(),
    [first, second].map((one) => one.subscription.id).sort(),
  )
})

for (const [name, answer, error] of [
  ['500', status(500), /answered 500/],
  ['a hanging receiver', hang, /no answer within/],
  ['301', status(301, { Location: 'http://169.254.169.254/' }), /redirects are not followed/],
  ['429', status(429, { 'Retry-After': '0' }), /answered 429/],
] as const) {
  test(`${name} is a failure that costs nothing and is retried until it is accepted`, async (t) => {
    const { rig, owner, subscribe } = await setUp(t, answer === hang ? IMPATIENT : QUICK)
    const receiver = await startReceiver(answer)
    const { subscription } = await subscribe(receiver)
    await rig.emitBlocks(1)
    await until('a failed try', async () => {
      const [row] = await rig.webhooks.subscriptions.deliveries(owner.accountId, subscription.id, {
        limit: 1,
      })
      return row?.attempts === 1 && row.state === 'pending' && error.test(row.lastError ?? '')
    })
    assert.equal(await rig.creditsUsed(owner.accountId), 0)
    receiver.answer = accept
    await until('delivery', () => receiver.accepted.size === 1)
    await until('settled', async () => (await rig.webhooks.status()).pending === 0)
    assert.equal(await rig.creditsUsed(owner.accountId), 1)
  })
}

test('Retry-After delays the next attempt', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const receiver = await startReceiver(status(429, { 'Retry-After': '3600' }))
  const { subscription } = await subscribe(receiver)
  await rig.emitBlocks(1)
  await until('a failed try', async () => {
    const [row] = await rig.webhooks.subscriptions.deliveries(owner.accountId, subscription.id, { limit: 1 })
    return row?.attempts === 1 && (row.nextAttemptAtMs ?? 0) > Date.now() + 3_500_000
  })
})

test('after the last retry the delivery is shown as failed, and a replay delivers it', async (t) => {
  const { rig, owner, subscribe } = await setUp(t, { ...QUICK, retryDelaysMs: [10] })
  const receiver = await startReceiver(status(500))
  const { subscription } = await subscribe(receiver)
  const { accountId } = owner
  await rig.emitBlocks(1)
  await until('failed', async () => (await stateOf(rig, accountId, subscription.id))[0] === 'failed')
  assert.equal(receiver.received.length, 2)
  receiver.answer = accept
  const replay = await rig.webhooks.subscriptions.replay(accountId, subscription.id, { afterSeq: 0 })
  assert.equal(replay.events, 1)
  await until('delivery', () => receiver.accepted.size === 1)
})

test('410 disables the subscription with the reason; pending deliveries continue when it is enabled again', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const receiver = await startReceiver(status(410))
  const { subscription } = await subscribe(receiver)
  const { subscriptions } = rig.webhooks
  await rig.emitBlocks(1)
  const first = async () => (await subscriptions.list(owner.accountId, { limit: 1 })).records[0]
  await until('switched off', async () => (await first())?.active === false)
  assert.equal((await first())?.disabledReason, 'gone')
  receiver.answer = accept
  const tries = receiver.received.length
  await rig.emitBlocks(1)
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  assert.equal(receiver.received.length, tries)
  await subscriptions.patch(owner, subscription.id, { active: true })
  await until('delivery', () => receiver.accepted.has(receiver.received[0]?.events[0]?.id ?? ''))
})

test('a 410 to a request from before the webhook was enabled again does not switch it off', async (t) => {
  const { rig, owner, subscribe } = await setUp(t, { ...QUICK, answerLimitMs: PATIENT_MS })
  const held: ServerResponse[] = []
  const receiver = await startReceiver((_received, response) => void held.push(response))
  const { subscription } = await subscribe(receiver)
  const { subscriptions } = rig.webhooks
  const isActive = async () => (await subscriptions.find(owner.accountId, subscription.id)).active
  await rig.emitBlocks(2)
  await until('both are under way', () => held.length === 2)
  held[0]?.writeHead(410).end()
  await until('switched off', async () => !(await isActive()))
  receiver.answer = accept
  await subscriptions.patch(owner, subscription.id, { active: true })
  held[1]?.writeHead(410).end()
  await until('both are delivered', () => receiver.accepted.size === 2)
  assert.equal(await isActive(), true)
  receiver.answer = status(410)
  await rig.emitBlocks(1)
  await until('switched off by a later one', async () => !(await isActive()))
})

test('a receiver that hangs does not delay another one', async (t) => {
  const { rig, subscribe } = await setUp(t, { ...QUICK, answerLimitMs: PATIENT_MS })
  const stuck = await startReceiver(hang)
  await subscribe(stuck)
  const quick = await startReceiver()
  await subscribe(quick)
  await rig.emitBlocks(50)
  await until('the stuck one is busy', () => stuck.received.length >= 2)
  const startedMs = performance.now()
  await rig.emitBlocks(200)
  await until('the quick one has all', () => quick.accepted.size === 250)
  // Less time than a single answer of the stuck receiver may take.
  assert.ok(performance.now() - startedMs < PATIENT_MS / 2, `${performance.now() - startedMs} ms`)
})

for (const [name, first] of [
  ['hang from the first event on', 0],
  ['answer quickly and then hang', 1],
] as const) {
  test(`seventy receivers that ${name} do not delay another one`, async (t) => {
    const { rig, subscribe } = await setUp(t, { ...QUICK, answerLimitMs: PATIENT_MS })
    const owners = await Promise.all([1, 2, 3, 4].map((n) => rig.createOwner(`many${n}@example.com`)))
    const dead = await startReceiver(first === 0 ? hang : accept)
    t.after(() => dead.close())
    for (let n = 0; n < 70; n++) {
      const owner = owners[n % owners.length]
      assert.ok(owner)
      const asked = { url: `${dead.url}/${n}`, kinds: ['block_added'], addresses: [], batch: false }
      await rig.webhooks.subscriptions.create(owner, asked)
    }
    await rig.emitBlocks(first)
    await until('the quick beginning', () => dead.received.length === 70 * first)
    dead.answer = hang
    const quick = await startReceiver()
    await subscribe(quick)
    const startedMs = performance.now()
    await rig.emitBlocks(100)
    await until('100 events at the quick one', () => quick.accepted.size === 100)
    const tookMs = performance.now() - startedMs
    // Far less than a receiver may take.
    assert.ok(tookMs < PATIENT_MS / 2, `${tookMs} ms`)
    t.diagnostic(`${Math.round(tookMs)} ms`)
    assert.ok(dead.received.length > 70 * first, 'the others were tried as well')
    // A receiver that is added when all attempts of the others are old gets as many slots.
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    const late = await startReceiver()
    await subscribe(late)
    await rig.emitBlocks(50)
    await until('50 events at the late one', () => late.accepted.size === 50, PATIENT_MS / 2)
  })
}

test('a batch subscription gets up to 100 events in one POST with one signature', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const receiver = await startReceiver()
  const { secret } = await subscribe(receiver, { batch: true })
  await rig.emitBlocks(250)
  await until('250 events', () => receiver.accepted.size === 250)
  assert.ok(receiver.received.length <= 6, `${receiver.received.length} posts`)
  assert.equal(Math.max(...receiver.received.map(({ events }) => events.length)), 100)
  for (const { headers, body } of receiver.received) {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    assert.equal(headers['x-svc-event'], 'batch')
  }
  await until('settled', async () => (await rig.webhooks.status()).pending === 0)
  assert.equal(await rig.creditsUsed(owner.accountId), 250)
})

test('events of a batch that come one by one leave together, 200 ms after the first or when there are 100', async (t) => {
  const { rig, subscribe } = await setUp(t)
  const receiver = await startReceiver()
  await subscribe(receiver, { batch: true })
  const startedMs = performance.now()
  for (let i = 0; i < 8; i++) {
    await rig.emitBlocks(1)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await until('8 events', () => receiver.accepted.size === 8)
  const tookMs = performance.now() - startedMs
  assert.ok(receiver.received.length <= Math.ceil(tookMs / 200) + 1, `${receiver.received.length} posts`)
  assert.ok(tookMs >= 200, 'the first waits for the others')

  const before = receiver.received.length
  await rig.emitBlocks(1)
  await until('one event alone', () => receiver.accepted.size === 9)
  assert.equal(receiver.received.length, before + 1)
  assert.ok(receiver.received.at(-1)?.body.startsWith('['), 'an array too')
})

test('a batch that fails is tried again as one batch', async (t) => {
  const { rig, subscribe } = await setUp(t, { retryDelaysMs: [1_000] })
  const receiver = await startReceiver(status(503))
  await subscribe(receiver, { batch: true })
  await rig.emitBlocks(60)
  await until('a failed try', () => receiver.received.length >= 1)
  receiver.answer = accept
  await until('60 events', () => receiver.accepted.size === 60)
  assert.deepEqual(
    receiver.received.map(({ events }) => events.length),
    [60, 60],
  )
})

test('exhausted credits pause delivery and events stay pending; new credits resume it', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const { accountId } = owner
  const receiver = await startReceiver()
  const { subscription } = await subscribe(receiver)
  await rig.accounts.setCredits(accountId, 5)
  await rig.emitBlocks(40)
  await until('a pause', async () => (await rig.webhooks.pauseOf(subscription)) === 'credits_exhausted')
  await until('five events', () => receiver.accepted.size === 5)
  await until('35 kept', async () => (await rig.webhooks.status()).pending === 35)
  await rig.accounts.setCredits(accountId, 1_000)
  await until('the rest', () => receiver.accepted.size === 40)
})

test('a batch that the credits do not cover is sent in part, and the rest stays pending', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  await rig.accounts.setCredits(owner.accountId, 99)
  const receiver = await startReceiver()
  const { subscription } = await subscribe(receiver, { batch: true })
  await rig.emitBlocks(100)
  await until('99 events', () => receiver.accepted.size === 99)
  await until('pause', async () => (await rig.webhooks.pauseOf(subscription)) === 'credits_exhausted')
  await until('99 credits', async () => (await rig.creditsUsed(owner.accountId)) === 99)
  await rig.accounts.setCredits(owner.accountId, 10)
  await until('the last one', () => receiver.accepted.size === 100)
})

test('after a rotation both secrets verify, until the old one expires', async (t) => {
  let shiftMs = 0
  const clock = { now: () => Date.now() + shiftMs, sleep: systemClock.sleep }
  const { rig, owner, subscribe } = await setUp(t, { ...QUICK, clock })
  const receiver = await startReceiver()
  const { secret: old, subscription } = await subscribe(receiver)
  const { secret: fresh } = await rig.webhooks.subscriptions.rotate(owner.accountId, subscription.id)
  assert.notEqual(fresh, old)
  await rig.emitBlocks(1)
  await until('one event', () => receiver.accepted.size === 1)
  const [first] = receiver.received
  assert.ok(first)
  new Webhook(old).verify(first.body, first.headers as Record<string, string>)
  new Webhook(fresh).verify(first.body, first.headers as Record<string, string>)
  shiftMs = 24 * 3_600_000 + 1_000
  await rig.emitBlocks(1)
  await until('another event', () => receiver.accepted.size === 2)
  const second = receiver.received[1]
  assert.equal(second?.headers['x-svc-signature-previous'], undefined)
  assert.equal(String(second?.headers['webhook-signature']).split(' ').length, 1)
})

test('a second rotation within the overlap keeps the secret of before the first, also of rotations at the same moment', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const receiver = await startReceiver()
  const { secret: old, subscription } = await subscribe(receiver)
  const rotate = () => rig.webhooks.subscriptions.rotate(owner.accountId, subscription.id)
  const first = await rotate()
  const both = await Promise.all([rotate(), rotate()])
  for (const { previousUntilMs } of both) assert.equal(previousUntilMs, first.previousUntilMs)
  await rig.emitBlocks(1)
  await until('one event', () => receiver.accepted.size === 1)
  const [received] = receiver.received
  assert.ok(received)
  const verifies = (secret: string) => {
    try {
      new Webhook(secret).verify(received.body, received.headers as Record<string, string>)
      return true
    } catch {
      return false
    }
  }
  assert.equal(verifies(old), true)
  assert.deepEqual(both.map(({ secret }) => verifies(secret)).sort(), [false, true])
})

test('of two changes at the same moment, one to the kinds and one to the addresses, both last', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const { subscription } = await subscribe(await startReceiver())
  const kinds = ['block_added', 'utxos_changed']
  const { id } = subscription
  const { subscriptions } = rig.webhooks
  await subscriptions.patch(owner, id, { addresses: [testAddress(1)] })
  await Promise.all([
    subscriptions.patch(owner, id, { kinds }),
    subscriptions.patch(owner, id, { addresses: [testAddress(2)] }),
  ])
  const found = await subscriptions.find(owner.accountId, id)
  assert.deepEqual([[...found.kinds].sort(), found.addresses], [kinds, [testAddress(2)]])
})

test('after a deletion nothing more is sent of what was claimed for a slow receiver', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const receiver = await startReceiver()
  const { subscription } = await subscribe(receiver)
  await rig.emitBlocks(1)
  await until('a quick answer', () => receiver.accepted.size === 1)
  const waiting: (() => void)[] = []
  receiver.answer = (received, response) => waiting.push(() => accept(received, response))
  await rig.emitBlocks(100)
  await until('attempts', () => waiting.length === 16)
  await rig.webhooks.subscriptions.remove(owner.accountId, subscription.id)
  for (const answer of waiting.splice(0)) answer()
  await until('answers', () => receiver.accepted.size === 17)
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.equal(receiver.received.length, 17)
  assert.equal(await rig.creditsUsed(owner.accountId), 17)
})

test('why deliveries wait is the same in a process that does not deliver', async (t) => {
  const { rig, owner, subscribe } = await setUp(t, { delivers: false })
  const receiver = await startReceiver()
  const { subscription } = await subscribe(receiver)
  assert.equal(await rig.webhooks.pauseOf(subscription), undefined)
  await rig.accounts.setCredits(owner.accountId, 0)
  await until('the pause', async () => (await rig.webhooks.pauseOf(subscription)) === 'credits_exhausted')
  assert.equal(await rig.webhooks.pauseOf({ ...subscription, active: false }), undefined)
  assert.equal(await rig.webhooks.pauseOf({ ...subscription, accountId: 'acc_none' }), 'account_missing')
})

test('a webhook that another process creates while events flow is delivered to', async (t) => {
  const { rig, subscribe } = await setUp(t)
  const first = await startReceiver()
  const second = await startReceiver()
  t.after(() => second.close())
  const { subscription } = await subscribe(first)
  const { accountId, keyId, kinds, addresses, batch, createdAtMs, secret } = subscription
  const about = { accountId, keyId, kinds, addresses, batch, createdAtMs, secret }
  await rig.jobs.createSubscription({ ...about, id: `wh_${'0'.repeat(20)}`, url: second.url }, 10)
  // The events are planned before the subscriptions are read for another reason.
  await rig.emitBlocks(3)
  await until('three events', () => second.accepted.size === 3)
})

test('nothing is sent to a webhook that was switched off while its credits were reserved', async (t) => {
  const reserving = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  let released = 0
  const credits: Credits = {
    ...FREE,
    async reserve(_, count) {
      reserving.resolve()
      await going.promise
      return { ok: true, count, charge: async () => {}, release: () => void released++ }
    },
  }
  const { rig, owner, subscribe } = await setUp(t, { ...QUICK, credits })
  const receiver = await startReceiver()
  const { subscription } = await subscribe(receiver)
  await rig.emitBlocks(1)
  await reserving.promise
  await rig.webhooks.subscriptions.patch(owner, subscription.id, { active: false })
  going.resolve()
  await until('the release', () => released === 1)
  await rig.webhooks.subscriptions.patch(owner, subscription.id, { active: true })
  await until('the delivery', () => receiver.accepted.size === 1)
  assert.equal(receiver.received.length, 1)
})

test('batches that are switched off while the credits of one are reserved: each of its events is sent', async (t) => {
  const reserving = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  let charged = 0
  const credits: Credits = {
    ...FREE,
    async reserve(_, count) {
      reserving.resolve()
      await going.promise
      const charge = async (ids: readonly string[]) => {
        charged += ids.length
      }
      return { ok: true, count, charge, release: () => {} }
    },
  }
  const { rig, owner, subscribe } = await setUp(t, { ...QUICK, credits })
  const receiver = await startReceiver()
  const { subscription } = await subscribe(receiver, { batch: true })
  await rig.emitBlocks(3)
  await reserving.promise
  await rig.webhooks.subscriptions.patch(owner, subscription.id, { batch: false })
  going.resolve()
  await until('settled', async () => (await rig.webhooks.status()).pending === 0)
  assert.deepEqual([receiver.accepted.size, charged], [3, 3])
})

test('a count of very many pending deliveries is kept for a while', async (t) => {
  const { rig } = await setUp(t)
  const counted = t.mock.method(rig.jobs, 'pending', async () => ({ count: 60_000, oldestAtMs: null }))
  const pending = async () => (await rig.webhooks.status()).pending
  assert.deepEqual([await pending(), await pending(), counted.mock.callCount()], [60_000, 60_000, 1])
})

test('a new subscription is answered as it is stored, although a standby may not show it yet', async (t) => {
  const { rig, owner } = await setUp(t)
  const { getSubscription } = rig.jobs
  rig.jobs.getSubscription = async () => undefined
  const asked = { url: 'http://127.0.0.1:65000/', kinds: ['block_added'], addresses: [], batch: true }
  const { subscription } = await rig.webhooks.subscriptions.create(owner, asked)
  rig.jobs.getSubscription = getSubscription
  assert.deepEqual(subscription, await rig.webhooks.subscriptions.find(owner.accountId, subscription.id))
})

test('a name that becomes private after creation is not connected to', async (t) => {
  let address = '93.184.216.34'
  const resolve = async () => [{ address, family: 4 }]
  const { rig, owner } = await setUp(t, { ...QUICK, allowPrivate: false, resolve })
  const inside = await startReceiver()
  t.after(() => inside.close())
  const { subscription } = await rig.webhooks.subscriptions.create(owner, {
    url: `https://rebinding.example:${new URL(inside.url).port}/hook`,
    kinds: ['block_added'],
    addresses: [],
    batch: false,
  })
  address = '127.0.0.1'
  await rig.emitBlocks(1)
  await until('a refused try', async () => {
    const [row] = await rig.webhooks.subscriptions.deliveries(owner.accountId, subscription.id, { limit: 1 })
    return /target refused: the host has an address that is not public/.test(row?.lastError ?? '')
  })
  assert.equal(inside.connections(), 0)
})

test('a test event is sent at once, signed, and costs nothing', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const receiver = await startReceiver()
  const { secret, subscription } = await subscribe(receiver)
  const attempt = await rig.webhooks.subscriptions.test(owner.accountId, subscription.id)
  assert.equal(attempt.delivered, true)
  const [first] = receiver.received
  assert.ok(first)
  new Webhook(secret).verify(first.body, first.headers as Record<string, string>)
  assert.equal(first.events[0]?.seq, 0)
  assert.equal(await rig.creditsUsed(owner.accountId), 0)
})

test('ten test events of an account wait for their receivers at a time', async (t) => {
  const { rig, owner, subscribe } = await setUp(t)
  const waiting: (() => void)[] = []
  const receiver = await startReceiver((_entry, response) => {
    waiting.push(() => response.end())
  })
  const { subscription } = await subscribe(receiver)
  const send = () => rig.webhooks.subscriptions.test(owner.accountId, subscription.id)
  const sent = Array.from({ length: 10 }, send)
  await until('ten tests', () => waiting.length === 10)
  await assert.rejects(send(), { kind: 'rate_limited', message: /^10 tests .* are under way/ })
  for (const end of waiting.splice(0)) end()
  for (const attempt of await Promise.all(sent)) assert.equal(attempt.delivered, true)
  const next = send()
  await until('another test', () => waiting.length === 1)
  waiting[0]?.()
  assert.equal((await next).delivered, true)
})

test('a test event to a target that is no longer allowed is an attempt that failed, with its reason', async (t) => {
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const before = await startRig()
  const owner = await before.createOwner()
  const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false }
  const { subscription } = await before.webhooks.subscriptions.create(owner, asked)
  await before.close({ keepFiles: true })
  const rig = await startRig({ folder: before.folder, webhooks: { allowPrivate: false } })
  t.after(() => rig.close())
  const attempt = await rig.webhooks.subscriptions.test(owner.accountId, subscription.id)
  assert.deepEqual([attempt.delivered, attempt.status, attempt.error], [false, null, 'url must be https'])
  assert.equal(receiver.received.length, 0)
})

test('a webhook whose end could not be written goes on', async (t) => {
  const { rig, subscribe } = await setUp(t)
  const receiver = await startReceiver(status(410))
  await subscribe(receiver)
  const away = () => Promise.reject(new StoreUnavailableError('away'))
  const version = t.mock.method(rig.jobs, 'subscriptionsVersion')
  const settle = t.mock.method(rig.jobs, 'settle', () => {
    // The state of the store cannot be read at first, either.
    version.mock.mockImplementation(away)
    version.mock.resetCalls()
    return Promise.reject(new Error('refused'))
  })
  await rig.emitBlocks(1)
  await until('an end that is not written', () => settle.mock.callCount() > 0 && version.mock.callCount() > 0)
  version.mock.restore()
  settle.mock.restore()
  receiver.answer = accept
  await until('delivery', async () => {
    await rig.emitBlocks(1)
    return receiver.accepted.size > 0
  })
})

test('jobs whose credits could not be reserved are tried again before their claim runs out', async (t) => {
  let calls = 0
  const credits: Credits = {
    ...FREE,
    reserve: async (owner, count) => {
      if (++calls === 1) throw new StoreUnavailableError('away')
      return FREE.reserve(owner, count)
    },
  }
  const { rig, subscribe } = await setUp(t, { ...QUICK, credits })
  const receiver = await startReceiver()
  await subscribe(receiver)
  const startedMs = performance.now()
  await rig.emitBlocks(1)
  await until('delivery', () => receiver.accepted.size === 1)
  assert.ok(calls > 1)
  assert.ok(performance.now() - startedMs < CLAIM_MS / 2)
})

for (const [what, end] of [
  [
    'deleted',
    ({ webhooks }: Rig, { accountId }: Owner, id: string) => webhooks.subscriptions.remove(accountId, id),
  ],
  [
    'disabled',
    ({ webhooks }: Rig, owner: Owner, id: string) =>
      webhooks.subscriptions.patch(owner, id, { active: false }),
  ],
] as const) {
  test(`nothing is sent to a webhook that is ${what} while a connection to it is opened`, async (t) => {
    const looking = Promise.withResolvers<void>()
    const found = Promise.withResolvers<void>()
    let isSlow = false
    let outcome: 'charged' | 'released' | undefined
    const credits: Credits = {
      ...FREE,
      reserve: async (_, count) => ({
        ...{ ok: true, count },
        charge: async () => {
          outcome = 'charged'
        },
        release: () => {
          outcome = 'released'
        },
      }),
    }
    const { rig, owner } = await setUp(t, {
      ...QUICK,
      credits,
      async resolve() {
        if (isSlow) {
          looking.resolve()
          await found.promise
        }
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })
    const receiver = await startReceiver()
    t.after(() => receiver.close())
    const url = receiver.url.replace('127.0.0.1', 'hook.example')
    const { subscription } = await rig.webhooks.subscriptions.create(owner, {
      ...{ url, kinds: ['block_added'], addresses: [], batch: false },
    })
    isSlow = true
    await rig.emitBlocks(1)
    await looking.promise
    await end(rig, owner, subscription.id)
    found.resolve()
    await until('the attempt is over', () => outcome !== undefined)
    assert.deepEqual([outcome, receiver.received.length], ['released', 0])
  })
}

test('jobs whose claim has almost run out while credits were reserved are claimed again before they are sent', async (t) => {
  let shiftMs = 0
  const clock = { ...systemClock, elapsed: () => performance.now() + shiftMs }
  const credits: Credits = {
    ...FREE,
    reserve: async (owner, count) => {
      if (shiftMs === 0) shiftMs = CLAIM_MS / 2
      return FREE.reserve(owner, count)
    },
  }
  const { rig, subscribe } = await setUp(t, { ...QUICK, credits, clock })
  const claim = t.mock.method(rig.jobs, 'claim')
  let claims = 0
  const receiver = await startReceiver((_, response) => {
    claims = claim.mock.callCount()
    response.writeHead(204).end()
  })
  await subscribe(receiver)
  await rig.emitBlocks(1)
  await until('delivery', () => receiver.accepted.size === 1)
  assert.ok(claims > 1, `${claims} claims`)
})
