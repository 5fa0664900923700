/** Replays are deliveries like any others: each event is pending once and is charged, and their number is bounded. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { accept, startReceiver, status } from '../../test/fakes/receiver.ts'
import { startRig } from '../../test/fakes/webhook-rig.ts'
import { until } from '../../test/until.ts'
import { ApiError } from '../core/errors.ts'
import type { SubscriptionRecord } from '../store/jobs.ts'
import { replayEvents } from './replay.ts'

async function setUp(t: TestContext, answer = accept) {
  const rig = await startRig({ webhooks: { retryDelaysMs: [3_600_000, 3_600_000] } })
  t.after(() => rig.close())
  const receiver = await startReceiver(answer)
  t.after(() => receiver.close())
  const owner = await rig.createOwner()
  const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: true }
  const { subscription } = await rig.webhooks.subscriptions.create(owner, asked)
  const replay = () => rig.webhooks.subscriptions.replay(owner.accountId, subscription.id, { afterSeq: 0 })
  const pending = async () => (await rig.webhooks.status()).pending
  return { rig, receiver, owner, subscription, replay, pending }
}

test('twenty replays of pending events add nothing', async (t) => {
  const { rig, replay, pending } = await setUp(t, status(503))
  await rig.emitBlocks(500)
  // The jobs are written a moment before the planner knows about it.
  await until('planned', async () => (await pending()) === 500 && (await replay()).alreadyPending === 500)
  const replays = await Promise.all(Array.from({ length: 20 }, replay))
  assert.equal(await pending(), 500)
  for (const one of replays) {
    assert.equal(one.events, 0)
    assert.equal(one.alreadyPending, 500)
    assert.equal(one.nextAfterSeq, null)
  }
})

test('events that arrive while a webhook is created, and are replayed right after, are delivered and charged once', async (t) => {
  const rig = await startRig()
  t.after(() => rig.close())
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const owner = await rig.createOwner()
  const create = rig.jobs.createSubscription.bind(rig.jobs)
  t.mock.method(rig.jobs, 'createSubscription', async (...asked: Parameters<typeof create>) => {
    await rig.emitBlocks(3)
    await until('the position in memory', () => rig.webhooks.delay()?.unplannedEvents === 0)
    return create(...asked)
  })
  const { subscriptions } = rig.webhooks
  const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false }
  const { subscription } = await subscriptions.create(owner, asked)
  await subscriptions.replay(owner.accountId, subscription.id, { afterSeq: 0 })
  await rig.emitBlocks(1)
  await until('planned', async () => (await rig.jobs.position()) === 4)
  await until('delivered', async () => (await rig.webhooks.status()).pending === 0)
  assert.deepEqual(receiver.received.map(({ events }) => events[0]?.seq).sort(), [1, 2, 3, 4])
  assert.equal(await rig.creditsUsed(owner.accountId), 4)
})

test('many concurrent replays give one delivery of each event, at one credit', async (t) => {
  const { rig, receiver, owner, replay, pending } = await setUp(t)
  await rig.emitBlocks(300)
  await until('delivered', async () => (await pending()) === 0 && receiver.accepted.size === 300)
  receiver.answer = status(503)
  const replays = await Promise.all(Array.from({ length: 20 }, replay))
  assert.equal(
    replays.reduce((sum, { events }) => sum + events, 0),
    300,
  )
  assert.equal(await pending(), 300)
  assert.equal(await rig.creditsUsed(owner.accountId), 300, 'nothing is charged before it is delivered')
})

test('delivered events may be replayed again, and are charged again', async (t) => {
  const { rig, receiver, owner, replay, pending } = await setUp(t)
  await rig.emitBlocks(10)
  await until('delivered', async () => (await pending()) === 0 && receiver.accepted.size === 10)
  for (const round of [1, 2]) {
    assert.equal((await replay()).events, 10)
    await until('delivered again', async () => (await pending()) === 0)
    assert.equal(await rig.creditsUsed(owner.accountId), 10 + 10 * round)
  }
})

test('no more is planned than the credits pay for, and nothing without any', async (t) => {
  const { rig, receiver, owner, replay, pending } = await setUp(t)
  await rig.accounts.setCredits(owner.accountId, 70)
  await rig.emitBlocks(50)
  await until('delivered', async () => (await pending()) === 0 && receiver.accepted.size === 50)
  receiver.answer = status(503)
  const part = await replay()
  assert.equal(part.events, 20)
  assert.equal(part.nextAfterSeq, 20)
  assert.equal(await pending(), 20)
  await assert.rejects(replay(), (error) => error instanceof ApiError && error.kind === 'credits_exhausted')
  assert.equal(await pending(), 20)
})

test('replays of different ranges at once plan no more than the credits pay for', async (t) => {
  const { rig, receiver, owner, subscription, pending } = await setUp(t)
  await rig.accounts.setCredits(owner.accountId, 70)
  await rig.emitBlocks(50)
  await until('delivered', async () => (await pending()) === 0 && receiver.accepted.size === 50)
  receiver.answer = status(503)
  const replays = await Promise.allSettled(
    [0, 10, 20, 30, 40].map((afterSeq) =>
      rig.webhooks.subscriptions.replay(owner.accountId, subscription.id, {
        ...{ afterSeq, upToSeq: afterSeq + 10 },
      }),
    ),
  )
  assert.deepEqual(
    replays.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected'],
  )
  assert.equal(await pending(), 20)
})

test('with 10,000 events pending for a webhook a replay is refused', async (t) => {
  const { rig, subscription, replay, pending } = await setUp(t, status(503))
  await rig.webhooks.subscriptions.patch(
    { accountId: subscription.accountId, keyId: subscription.keyId, plan: rig.plans.get('business') },
    subscription.id,
    { active: false },
  )
  await rig.emitBlocks(9_999)
  await until('read', async () => (await rig.jobs.position()) === 9_999)
  const events = Array.from({ length: 9_990 }, (_, i) => ({
    seq: 20_000 + i,
    id: `evt_${i}`,
    kind: 'block_added',
    text: '{}',
  }))
  const jobs = events.map(({ seq }) => ({ subscriptionId: subscription.id, seq }))
  await rig.jobs.enqueue({ events, jobs })
  const part = await replay()
  assert.equal(part.events, 10, 'as many as there is room for')
  assert.equal(part.nextAfterSeq, 10)
  assert.equal(await pending(), 10_000)
  await assert.rejects(
    replay(),
    (error) => error instanceof ApiError && error.status === 429 && error.detail.reason === 'replay_backlog',
  )
  assert.equal(await pending(), 10_000)
})

for (const [range, oldestSeq, gap] of [
  [{ sinceMs: 1 }, 1, false],
  [{ sinceMs: 1 }, 500, true],
  [{ afterSeq: 0 }, 500, true],
  [{ afterSeq: 499 }, 500, false],
] as const) {
  test(`a replay of ${JSON.stringify(range)} from a log that begins with ${oldestSeq}: gap ${gap}`, async (t) => {
    const { subscription } = await setUp(t)
    const replay = await replayEvents(
      {
        store: {
          enqueue: async () => assert.fail('there is nothing to plan'),
          backlog: async () => ({ ofSubscription: 0, ofAccount: 0 }),
        },
        events: {
          after: async () => ({ events: [], upToSeq: 600, more: false }),
          bounds: async () => ({ oldestSeq, newestSeq: 600, bytes: 0 }),
          seqBefore: async () => 0,
        },
        credits: { available: async () => 1_000 },
        plannedSeq: async () => 600,
        onPlanned: () => assert.fail('nothing was planned'),
      },
      subscription,
      range,
    )
    assert.equal(replay.gap, gap)
  })
}

test('a replay of what a long log hardly has ends after a bounded number of reads and says where to go on', async (t) => {
  const { owner, subscription } = await setUp(t)
  let reads = 0
  const replay = await replayEvents(
    {
      store: {
        enqueue: async () => assert.fail('there is nothing to plan'),
        backlog: async () => ({ ofSubscription: 0, ofAccount: 0 }),
      },
      events: {
        after: async ({ afterSeq }) => ({ events: [], upToSeq: afterSeq + 100, more: ++reads < 2_000 }),
        bounds: async () => ({ oldestSeq: 1, newestSeq: 200_000, bytes: 0 }),
        seqBefore: async () => 0,
      },
      credits: { available: async () => 1_000 },
      plannedSeq: async () => 200_000,
      onPlanned: () => assert.fail('nothing was planned'),
    },
    { ...subscription, accountId: owner.accountId },
    { afterSeq: 0 },
  )
  assert.equal(reads, 500)
  assert.deepEqual(replay, {
    ...{ events: 0, alreadyPending: 0, afterSeq: 0, gap: false },
    ...{ upToSeq: 50_000, nextAfterSeq: 50_000 },
  })
})

test('a replay ends where the log is planned, whatever is asked for: the rest is delivered anyway', async () => {
  for (const end of [{}, { upToSeq: 8 }, { untilMs: 9 }]) {
    const ends: (number | undefined)[] = []
    const replay = await replayEvents(
      {
        store: {
          enqueue: async () => assert.fail('there is nothing to plan'),
          backlog: async () => ({ ofSubscription: 0, ofAccount: 0 }),
        },
        events: {
          after: async ({ untilSeq }) => {
            ends.push(untilSeq)
            return { events: [], upToSeq: untilSeq ?? 8, more: false }
          },
          bounds: async () => ({ oldestSeq: 1, newestSeq: 8, bytes: 0 }),
          seqBefore: async () => 8,
        },
        credits: { available: async () => 1_000 },
        plannedSeq: async () => 5,
        onPlanned: () => assert.fail('nothing was planned'),
      },
      { id: 'wh_a', accountId: 'a', kinds: ['block_added'], addresses: [] } as unknown as SubscriptionRecord,
      { afterSeq: 0, ...end },
    )
    assert.deepEqual([ends, replay.upToSeq], [[5], 5])
  }
})

/** A log in which every event is selected, in pages of ten. */
function fullLog(deps: { backlog: () => number }) {
  const planned: number[] = []
  const replay = (isGone?: () => boolean) =>
    replayEvents(
      {
        store: {
          enqueue: async ({ jobs }) =>
            jobs.map(({ seq }) => ({ deliveryId: `dlv_${planned.push(seq)}`, isNew: true })),
          backlog: async () => ({ ofSubscription: deps.backlog(), ofAccount: 0 }),
        },
        events: {
          after: async ({ afterSeq }) => ({
            events: Array.from({ length: 10 }, (_, i) => ({ ...EVENT, seq: afterSeq + 1 + i })),
            ...{ upToSeq: afterSeq + 10, more: true },
          }),
          bounds: async () => ({ oldestSeq: 1, newestSeq: 1_000, bytes: 0 }),
          seqBefore: async () => 0,
        },
        credits: { available: async () => 1_000 },
        plannedSeq: async () => 1_000,
        onPlanned: () => {},
      },
      { id: 'wh_a', accountId: 'a', kinds: ['block_added'], addresses: [] } as unknown as SubscriptionRecord,
      { afterSeq: 0 },
      isGone,
    )
  return { planned, replay }
}

const EVENT = { id: 'evt_a', kind: 'block_added', text: '{}', addresses: [], createdAtMs: 0 } as const

test('a replay plans no more than there is room for while other processes replay too', async () => {
  const { planned, replay } = fullLog({
    backlog: () => planned.length + (planned.length < 20 ? 9_900 : 9_955),
  })
  const { events, nextAfterSeq } = await replay()
  assert.deepEqual([events, nextAfterSeq, planned.length], [45, 45, 45])
})

test('what is pending is counted again after some pages, not for each', async () => {
  let counts = 0
  const { planned, replay } = fullLog({ backlog: () => counts++ && planned.length })
  await replay(() => planned.length >= 400)
  assert.equal(planned.length, 400)
  assert.ok(counts >= 4 && counts <= 6, `${counts} counts for 40 pages`)
})

test('a replay ends when its caller has left', async () => {
  const { planned, replay } = fullLog({ backlog: () => 0 })
  const { events, nextAfterSeq } = await replay(() => planned.length >= 30)
  assert.deepEqual([events, nextAfterSeq, planned.length], [30, 30, 30])
})
