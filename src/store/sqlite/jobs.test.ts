/** The store of subscriptions and jobs: what a crash, a second worker and a repeated plan may not break. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { DeliveryRecord, JobsStore, NewSubscription } from '../jobs.ts'
import { openSqliteJobs } from './jobs.ts'

function open(t: TestContext): JobsStore {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-jobs-'))
  const store = openSqliteJobs({ file: join(folder, 'jobs.db') })
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return store
}

const HEADS = { requestHead: 'X-Svc-Event: a\r\n', responseHead: 'HTTP/1.1 204 No Content', response: 'ok' }
const headsOf = (row: DeliveryRecord | undefined) => ({
  requestHead: row?.lastRequestHead,
  responseHead: row?.lastResponseHead,
  response: row?.lastResponse,
})

const subscription = (id: string, accountId = 'acc'): NewSubscription => ({
  id,
  accountId,
  keyId: 'key',
  url: 'https://example.com/',
  kinds: ['block_added'],
  addresses: [],
  batch: false,
  createdAtMs: 1,
  secret: 'sealed',
})
const event = (seq: number) => ({ seq, id: `evt_${seq}`, kind: 'block_added', text: `{"seq":${seq}}` })
const plan = (store: JobsStore, after: number, seqs: readonly number[]) =>
  store.plan({
    after,
    upTo: after + seqs.length,
    events: seqs.map(event),
    jobs: seqs.map((seq) => ({ subscriptionId: 'wh_a', seq })),
    nowMs: 1_000,
  })
const startAt = async (store: JobsStore, id: string, newestSeq: number) =>
  store.startAt({ id, newestSeq }, await store.position())
const claim = (store: JobsStore, nowMs: number, limit = 10) =>
  store.claim({ subscriptionId: 'wh_a', limit, nowMs, leaseUntilMs: nowMs + 25_000 })

test('jobs and position are written together, and a plan from an old position writes nothing', async (t) => {
  const store = open(t)
  await store.createSubscription(subscription('wh_a'), 10)
  assert.equal(await store.position(), undefined)
  assert.equal(await startAt(store, 'log', 5), 5)
  assert.equal(await startAt(store, 'log', 9), 5)
  assert.equal(await plan(store, 5, [6, 7]), true)
  assert.equal(await plan(store, 5, [6, 7]), false)
  assert.equal(await store.position(), 7)
  assert.equal((await store.pending()).count, 2)
})

test('a claimed job is nobody else’s until its lease has run out; then it comes again under the same id', async (t) => {
  const store = open(t)
  await store.createSubscription(subscription('wh_a'), 10)
  await startAt(store, 'log', 0)
  await plan(store, 0, [1])
  const [first] = await claim(store, 2_000)
  assert.ok(first)
  assert.deepEqual(await claim(store, 2_000), [])
  assert.deepEqual(await claim(store, 26_999), [])
  const [again] = await claim(store, 27_000)
  assert.equal(again?.id, first.id)
  assert.equal(again?.event.text, '{"seq":1}')
})

test('a worker whose lease ran out cannot move the job that another one holds', async (t) => {
  const store = open(t)
  await store.createSubscription(subscription('wh_a'), 10)
  await startAt(store, 'log', 0)
  await plan(store, 0, [1])
  const [late] = await claim(store, 2_000)
  const [current] = await claim(store, 30_000)
  assert.ok(late && current)
  const tried = { atMs: 31_000, status: 500, error: 'answered 500', durationMs: 5, ...HEADS }
  await store.settle([{ kind: 'retry', job: late, dueAtMs: 31_001, ...tried }], [])
  assert.deepEqual(await claim(store, 32_000), [])
  await store.settle([{ kind: 'retry', job: current, dueAtMs: 33_000, ...tried }], [])
  const [waiting] = await store.deliveries({ subscriptionId: 'wh_a', limit: 1 })
  assert.deepEqual(headsOf(waiting), HEADS)
  const [next] = await claim(store, 33_000)
  assert.equal(next?.failures, 1)
})

test('history keeps what became of a delivery, and the text of an event goes with its last job', async (t) => {
  const store = open(t)
  await store.createSubscription(subscription('wh_a'), 10)
  await startAt(store, 'log', 0)
  await plan(store, 0, [1, 2, 3])
  const jobs = await claim(store, 2_000)
  const tried = { atMs: 2_100, status: 204, error: null, durationMs: 5, ...HEADS }
  const [one, two] = jobs
  assert.ok(one && two)
  await store.settle(
    [
      { kind: 'delivered', job: one, ...tried },
      { kind: 'failed', job: two, ...tried, status: 500, error: 'answered 500' },
    ],
    [{ subscriptionId: 'wh_a', ok: true, atMs: 2_100, disable: null }],
  )
  const rows = await store.deliveries({ subscriptionId: 'wh_a', limit: 10 })
  assert.deepEqual(
    rows.map((row) => [row.seq, row.state, row.attempts]),
    [
      [3, 'pending', 0],
      [2, 'failed', 1],
      [1, 'delivered', 1],
    ],
  )
  assert.deepEqual(rows.slice(1).map(headsOf), [HEADS, HEADS])
  assert.equal((await store.getSubscription('wh_a'))?.lastSuccessAtMs, 2_100)
  // A settlement that is repeated changes nothing.
  await store.settle([{ kind: 'delivered', job: one, ...tried }], [])
  assert.equal((await store.pending()).count, 1)
  assert.equal(await store.prune(2_101), 2)
})

test('the cap holds for each account, a deletion takes the jobs along, versions tell of every change', async (t) => {
  const store = open(t)
  assert.equal(await store.createSubscription(subscription('wh_a'), 1), true)
  assert.equal(await store.createSubscription(subscription('wh_b'), 1), false)
  assert.equal(await store.createSubscription(subscription('wh_c', 'other'), 1), true)
  const before = await store.subscriptionsVersion()
  await startAt(store, 'log', 0)
  await plan(store, 0, [1])
  assert.deepEqual(await store.waiting(), [{ subscriptionId: 'wh_a', dueAtMs: 1_000 }])
  assert.equal(await store.deleteSubscription('wh_a'), true)
  assert.deepEqual(await store.waiting(), [])
  assert.equal((await store.subscriptionIds()).length, 1)
  assert.ok((await store.subscriptionsVersion()) > before)
})

test('what waits for a subscription that is switched off is given up after its time, visibly', async (t) => {
  const store = open(t)
  await store.createSubscription(subscription('wh_a'), 1)
  await startAt(store, 'log', 0)
  await plan(store, 0, [1])
  assert.equal(await store.prune(5_000), 0)
  await store.updateSubscription('wh_a', { active: false })
  await store.prune(5_000)
  const [row] = await store.deliveries({ subscriptionId: 'wh_a', limit: 1 })
  assert.equal(row?.state, 'failed')
  assert.equal(row?.lastError, 'not delivered in time')
})

test('two logs that give one number to two events: each job keeps the text that it was planned with', async (t) => {
  const store = open(t)
  await store.createSubscription(subscription('wh_a'), 10)
  await startAt(store, 'old', 0)
  await plan(store, 0, [1, 2])
  assert.equal(await store.highestSeq(), 2)
  assert.equal(await startAt(store, 'new', 1), 0, 'all of another log is new')
  const other = { seq: 1, id: 'evt_other', kind: 'block_added', text: '{"other":1}' }
  const job = { subscriptionId: 'wh_a', seq: 1 }
  assert.equal(await store.plan({ after: 0, upTo: 1, events: [other], jobs: [job], nowMs: 1_000 }), true)
  const texts = async () => (await claim(store, 2_000)).map(({ event: { id, text } }) => [id, text])
  assert.deepEqual(await texts(), [
    ['evt_1', '{"seq":1}'],
    ['evt_2', '{"seq":2}'],
    ['evt_other', '{"other":1}'],
  ])
  assert.deepEqual(await store.eventText({ seq: 1, eventId: 'evt_1' }), event(1))
  assert.deepEqual(await store.eventText({ seq: 1, eventId: 'evt_other' }), other)
  assert.equal(await store.eventText({ seq: 1, eventId: 'evt_third' }), undefined)
  const rows = await store.deliveries({ subscriptionId: 'wh_a', limit: 10 })
  assert.deepEqual(
    rows.map(({ eventId, seq }) => [eventId, seq]),
    [
      ['evt_other', 1],
      ['evt_2', 2],
      ['evt_1', 1],
    ],
  )
})

test('a text is kept once however many wait for it, and an event that a job names must be given', async (t) => {
  const store = open(t)
  await store.createSubscription(subscription('wh_a'), 10)
  await startAt(store, 'log', 0)
  await plan(store, 0, [1])
  const job = { subscriptionId: 'wh_a', seq: 1 }
  const others = ['wh_b', 'wh_c']
  for (const id of others) await store.createSubscription(subscription(id), 10)
  await store.enqueue({
    events: [event(1)],
    jobs: others.map((subscriptionId) => ({ subscriptionId, seq: 1 })),
    nowMs: 1_000,
  })
  const claimOf = (subscriptionId: string) =>
    store.claim({ subscriptionId, limit: 10, nowMs: 2_000, leaseUntilMs: 9_000 })
  const jobs = (await Promise.all(['wh_a', ...others].map(claimOf))).flat()
  assert.deepEqual(
    jobs.map(({ event: { text } }) => text),
    ['{"seq":1}', '{"seq":1}', '{"seq":1}'],
  )
  const tried = { atMs: 2_100, status: 204, error: null, durationMs: 5, ...HEADS }
  for (const [index, done] of jobs.entries()) {
    const isKept = (await store.eventText({ seq: 1, eventId: 'evt_1' })) !== undefined
    assert.equal(isKept, true, `while ${jobs.length - index} wait`)
    await store.settle([{ kind: 'delivered', job: done, ...tried }], [])
  }
  assert.equal(await store.eventText({ seq: 1, eventId: 'evt_1' }), undefined)
  await assert.rejects(store.enqueue({ events: [], jobs: [job], nowMs: 1_000 }), /was not given/)
})

test('an event that waits for a subscription is not added again, however often it is asked for', async (t) => {
  const store = open(t)
  for (const id of ['wh_a', 'wh_b']) await store.createSubscription(subscription(id), 10)
  await startAt(store, 'log', 0)
  await plan(store, 0, [1])
  const job = { subscriptionId: 'wh_a', seq: 1 }
  const again = await Promise.all(
    Array.from({ length: 5 }, () =>
      store.enqueue({ events: [event(1), event(2)], jobs: [job, job, { ...job, seq: 2 }], nowMs: 1_000 }),
    ),
  )
  assert.deepEqual(
    again.flat().filter(({ isNew }) => isNew).length,
    1,
    'only the second event is new, and that once',
  )
  assert.equal(new Set(again.flat().map(({ deliveryId }) => deliveryId)).size, 2)
  const [other] = await store.enqueue({
    events: [event(1)],
    jobs: [{ subscriptionId: 'wh_b', seq: 1 }],
    nowMs: 1_000,
  })
  assert.equal(other?.isNew, true, 'another subscription has its own')
  const accountId = subscription('wh_a').accountId
  assert.deepEqual(await store.backlog({ subscriptionId: 'wh_a', accountId, limit: 100 }), {
    ofSubscription: 2,
    ofAccount: 3,
  })
  assert.deepEqual(await store.backlog({ subscriptionId: 'wh_a', accountId, limit: 2 }), {
    ofSubscription: 2,
    ofAccount: 2,
  })
})

test('where reading goes on: at the end of the first log, at its place in the same one, never beyond its end', async (t) => {
  const store = open(t)
  assert.equal(await store.highestSeq(), 0)
  assert.equal(await startAt(store, 'a', 40), 40)
  assert.equal(await startAt(store, 'a', 50), 40)
  assert.equal(await startAt(store, 'a', 30), 30, 'a log that went back')
  assert.equal(await startAt(store, 'b', 90), 0, 'another log, although it reaches further')
  assert.equal(await store.position(), 0)
  await store.startAt({ id: 'b', newestSeq: 90 }, 0)
  await store.plan({ after: 0, upTo: 95, events: [], jobs: [], nowMs: 1 })
  assert.equal(await store.startAt({ id: 'b', newestSeq: 90 }, 0), 95, 'somebody else has read on meanwhile')
  assert.equal(await store.startAt({ id: 'c', newestSeq: 90 }, 0), 95)
  assert.equal(await store.position(), 95)
})
