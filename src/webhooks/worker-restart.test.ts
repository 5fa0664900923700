/** What survives the end of a worker: claims that expire, and for how long a receiver has been failing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accept, startReceiver, status } from '../../test/fakes/receiver.ts'
import { startRig } from '../../test/fakes/webhook-rig.ts'
import { until } from '../../test/until.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import { createPoster } from './post.ts'
import type { OpenPoster } from './poster.ts'
import { CLAIM_MS, POLL_MS } from './work.ts'

const selection = (url: string) => ({ url, kinds: ['block_added'], addresses: [], batch: false })

test('the jobs of a worker that died return when their claim runs out, by default within 30 s', async (t) => {
  assert.ok(CLAIM_MS + 2 * POLL_MS < 30_000)
  const rig = await startRig({ webhooks: { retryDelaysMs: [3_600_000] } })
  t.after(() => rig.close())
  const owner = await rig.createOwner()
  const receiver = await startReceiver(status(500))
  t.after(() => receiver.close())
  const { subscription } = await rig.webhooks.subscriptions.create(owner, selection(receiver.url))
  await rig.emitBlocks(1)
  const attempts = async () => {
    const rows = await rig.webhooks.subscriptions.deliveries(owner.accountId, subscription.id, { limit: 1 })
    return rows[0]?.attempts
  }
  await until('a failed try', async () => (await attempts()) === 1)
  receiver.answer = accept
  // Claims the job like a worker that then dies: nobody settles it.
  const [delivery] = await rig.jobs.deliveries({ subscriptionId: subscription.id, limit: 1 })
  const claimUntilMs = Date.now() + 2_000
  // Both at once, because the rig's worker looks for due jobs, too.
  const [isDue, claimed] = await Promise.all([
    rig.jobs.retryNow(subscription.id, delivery?.id ?? ''),
    rig.jobs.claim({ subscriptionId: subscription.id, limit: 1, claimMs: 2_000 }),
  ])
  assert.deepEqual([isDue, claimed.length], [true, 1])
  await until('the delivery', () => receiver.accepted.size === 1)
  assert.ok(Date.now() >= claimUntilMs, 'not before the claim ran out')
})

test('an attempt is not begun with a claim that another worker could take over before it ends', async (t) => {
  let shiftMs = 0
  const clock: Clock = { ...systemClock, elapsed: () => performance.now() + shiftMs }
  const rig = await startRig({ webhooks: { clock } })
  t.after(() => rig.close())
  const owner = await rig.createOwner()
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const claim = rig.jobs.claim.bind(rig.jobs)
  t.mock.method(rig.jobs, 'claim', async (...asked: Parameters<typeof claim>) => {
    const jobs = await claim(...asked)
    // The first answer takes so long that an attempt must not start after it.
    if (jobs.length > 0 && shiftMs === 0) shiftMs = 0.4 * CLAIM_MS
    return jobs
  })
  const settle = t.mock.method(rig.jobs, 'settle')
  await rig.webhooks.subscriptions.create(owner, selection(receiver.url))
  await rig.emitBlocks(1)
  await until('the delivery', () => receiver.accepted.size === 1)
  await until('it is written', () => settle.mock.callCount() > 1)
  const kinds = settle.mock.calls.flatMap(({ arguments: [outcomes] }) => outcomes.map(({ kind }) => kind))
  assert.deepEqual([kinds, receiver.received.length], [['release', 'delivered'], 1])
})

test('five days of failures disable a subscription, also across a restart, and not earlier', async (t) => {
  let shiftMs = 0
  const clock: Clock = { now: () => Date.now() + shiftMs, sleep: systemClock.sleep }
  const webhooks = { clock, retryDelaysMs: Array.from({ length: 7 }, () => 300) }
  const receiver = await startReceiver(status(500))
  t.after(() => receiver.close())
  const first = await startRig({ webhooks })
  const owner = await first.createOwner()
  const { subscription } = await first.webhooks.subscriptions.create(owner, selection(receiver.url))
  await first.emitBlocks(1)
  await until('a failed try', () => receiver.received.length > 0)
  await until(
    'it is written',
    async () => (await first.jobs.getSubscription(subscription.id))?.failingSinceMs != null,
  )
  await first.close({ keepFiles: true })

  const days = (count: number) => count * 24 * 3_600_000
  shiftMs = days(5) - 60_000
  const second = await startRig({ folder: first.folder, webhooks })
  t.after(() => second.close())
  const read = () => second.jobs.getSubscription(subscription.id)
  const before = receiver.received.length
  await until('a failure short of five days', () => receiver.received.length > before)
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal((await read())?.active, true)
  shiftMs = days(5) + 60_000
  await until('it is switched off', async () => (await read())?.active === false)
  assert.match(String((await read())?.disabledReason), /failing/)
})

test('five days of a pause without a success switch a subscription off, and not earlier', async (t) => {
  let shiftMs = 0
  const clock: Clock = { now: () => Date.now() + shiftMs, sleep: systemClock.sleep }
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const rig = await startRig({ webhooks: { clock } })
  t.after(() => rig.close())
  const owner = await rig.createOwner()
  await rig.accounts.setCredits(owner.accountId, 0)
  const { subscription } = await rig.webhooks.subscriptions.create(owner, selection(receiver.url))
  const read = () => rig.jobs.getSubscription(subscription.id)
  await rig.emitBlocks(1)
  await until('the pause is written', async () => (await read())?.failingSinceMs != null)
  const sinceMs = (await read())?.failingSinceMs ?? 0
  const pauses = t.mock.method(rig.jobs, 'settle')
  shiftMs = 5 * 24 * 3_600_000 - 60_000
  await until('another pause', () => pauses.mock.callCount() > 0)
  assert.deepEqual([(await read())?.active, (await read())?.failingSinceMs], [true, sinceMs])
  shiftMs = 5 * 24 * 3_600_000 + 60_000
  await until('it is switched off', async () => (await read())?.active === false)
  assert.equal((await read())?.disabledReason, 'paused')
  assert.equal(receiver.received.length, 0)
})

test('how long a receiver has been failing is not forgotten when another webhook goes on', async (t) => {
  let shiftMs = 0
  const clock: Clock = { now: () => Date.now() + shiftMs, sleep: systemClock.sleep }
  const rig = await startRig({ webhooks: { clock, retryDelaysMs: Array(7).fill(3_600_000) } })
  t.after(() => rig.close())
  const owner = await rig.createOwner()
  const receivers = [await startReceiver(status(500)), await startReceiver(status(500))] as const
  for (const receiver of receivers) t.after(() => receiver.close())
  const create = async ({ url }: { url: string }) =>
    (await rig.webhooks.subscriptions.create(owner, selection(url))).subscription.id
  const [failing, gone] = [await create(receivers[0]), await create(receivers[1])]
  const read = (id: string) => rig.jobs.getSubscription(id)
  await rig.emitBlocks(1)
  for (const id of [failing, gone])
    await until('a failure is written', async () => (await read(id))?.failingSinceMs != null)

  // Disabling the other one cannot be written, so it continues.
  const refused = t.mock.method(rig.jobs, 'settle', () => Promise.reject(new Error('refused')))
  const version = t.mock.method(rig.jobs, 'subscriptionsVersion')
  receivers[1].answer = status(410)
  const [delivery] = await rig.jobs.deliveries({ subscriptionId: gone, limit: 1 })
  await rig.jobs.retryNow(gone, delivery?.id ?? '')
  await until('an end that is not written', () => refused.mock.callCount() > 0)
  version.mock.resetCalls()
  await until('the book was looked at', () => version.mock.callCount() > 2)
  refused.mock.restore()

  shiftMs = 5 * 24 * 3_600_000 + 60_000
  await until('the first is switched off', async () => (await read(failing))?.active === false)
  assert.equal((await read(failing))?.disabledReason, 'failing')
})

test('only a process that delivers, and has webhooks at its start, prepares for the first delivery', async (t) => {
  let prepared = 0
  const openPoster: OpenPoster = (options) => ({ ...createPoster(options), prepare: () => prepared++ })
  const first = await startRig({ webhooks: { openPoster } })
  await first.webhooks.subscriptions.create(await first.createOwner(), selection('https://127.0.0.1/'))
  await first.close({ keepFiles: true })
  const { folder } = first
  const other = await startRig({ folder, webhooks: { openPoster, delivers: false } })
  await other.close({ keepFiles: true })
  assert.equal(prepared, 0)
  const second = await startRig({ folder, webhooks: { openPoster } })
  t.after(() => second.close())
  assert.equal(prepared, 1)
})
