/**
 * What every engine must guarantee about subscriptions and jobs despite crashes, several workers and repeated plans.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManualClock } from '../../../test/fakes/manual-clock.ts'
import type { DeliveryRecord, Job, JobOutcome, JobsStore, NewSubscription } from '../jobs.ts'
import { ENGINES, type StoreEngine, withFreshStore } from './engines.ts'

/** Jobs are planned at 1 s; `claimAt` claims at a given time. */
const withJobs = (
  engine: StoreEngine,
  run: (store: JobsStore, claimAt: (nowMs: number) => Promise<Job[]>, clock: ManualClock) => Promise<void>,
) =>
  withFreshStore(
    engine,
    (stores) => stores.jobs('test'),
    async (store, { clock }) => {
      clock.set(1_000)
      const claimAt = (nowMs: number) => {
        clock.set(nowMs)
        return claim(store)
      }
      await run(store, claimAt, clock)
    },
  )

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
  })
const startAt = async (store: JobsStore, id: string, newestSeq: number) =>
  store.startAt({ id, newestSeq }, await store.position())
const claim = (store: JobsStore, limit = 10) =>
  store.claim({ subscriptionId: 'wh_a', limit, claimMs: 25_000 })

for (const engine of ENGINES) {
  test(`${engine.name}: jobs and position are written together, and a plan from an old position writes nothing`, () =>
    withJobs(engine, async (store) => {
      await store.createSubscription(subscription('wh_a'), 10)
      assert.equal(await store.position(), undefined)
      assert.equal(await startAt(store, 'log', 5), 5)
      assert.equal(await startAt(store, 'log', 9), 5)
      assert.equal(await plan(store, 5, [6, 7]), true)
      assert.equal(await plan(store, 5, [6, 7]), false)
      assert.equal(await store.position(), 7)
      assert.equal((await store.pending()).count, 2)
    }))

  test(`${engine.name}: a plan for subscriptions that have changed since writes nothing`, () =>
    withJobs(engine, async (store) => {
      await store.createSubscription(subscription('wh_a'), 10)
      await startAt(store, 'log', 5)
      const before = await store.subscriptionsVersion()
      await store.createSubscription(subscription('wh_b'), 10)
      const planned = { after: 5, upTo: 6, events: [], jobs: [] }
      assert.equal(await store.plan({ ...planned, subscriptions: before }), false)
      assert.equal(await store.position(), 5)
      const now = await store.subscriptionsVersion()
      assert.equal(await store.plan({ ...planned, subscriptions: now }), true)
      assert.equal(await store.position(), 6)
    }))

  test(`${engine.name}: a change that lets nobody want other events leaves a plan valid, and one that changes nothing is none`, () =>
    withJobs(engine, async (store) => {
      await store.createSubscription(subscription('wh_a'), 10)
      await startAt(store, 'log', 5)
      const version = await store.subscriptionsVersion()
      const planAt = (upTo: number, subscriptions: number) =>
        store.plan({ after: upTo - 1, upTo, subscriptions, events: [], jobs: [] })
      const same = { active: true, kinds: ['block_added'], addresses: [], batch: false }
      assert.deepEqual(await store.updateSubscription('wh_a', same), await store.getSubscription('wh_a'))
      assert.equal(await store.subscriptionsVersion(), version)
      await store.updateSubscription('wh_a', { ...same, batch: true, secret: 'another' })
      assert.ok((await store.subscriptionsVersion()) > version, 'others read it again')
      assert.equal(await planAt(6, version), true)
      for (const [index, patch] of [{ kinds: ['x'] }, { addresses: ['y'] }, { active: false }].entries()) {
        const before = await store.subscriptionsVersion()
        await store.updateSubscription('wh_a', patch)
        assert.equal(await planAt(7 + index, before), false, JSON.stringify(patch))
        assert.equal(await planAt(7 + index, await store.subscriptionsVersion()), true)
      }
      const before = await store.subscriptionsVersion()
      await store.deleteSubscription('wh_a')
      assert.equal(await planAt(10, before), false)
      const unknown = (await store.subscriptionsVersion()) + 1
      assert.equal(await planAt(10, unknown), false, 'a version that this store never had')
    }))

  test(`${engine.name}: what was created, changed, disabled and deleted is listed, unless that is too long ago`, () =>
    withJobs(engine, async (store) => {
      const start = await store.subscriptionsVersion()
      for (const id of ['wh_a', 'wh_b', 'wh_c', 'wh_d']) await store.createSubscription(subscription(id), 10)
      const after = await store.subscriptionsVersion()
      const since = async (from: number) =>
        (
          await store.subscriptionChanges({ after: from, upTo: await store.subscriptionsVersion() })
        )?.toSorted()
      assert.deepEqual(await since(start), ['wh_a', 'wh_b', 'wh_c', 'wh_d'])
      assert.deepEqual(await since(after), [])
      await store.updateSubscription('wh_a', { batch: true })
      await store.updateSubscription('wh_a', { kinds: ['x'] })
      const failure = { ok: false, atMs: 5, disable: 'gone' }
      await store.settle(
        [],
        [
          { ...failure, subscriptionId: 'wh_b' },
          { ...failure, subscriptionId: 'wh_c' },
        ],
      )
      await store.deleteSubscription('wh_d')
      assert.deepEqual(await since(after), ['wh_a', 'wh_b', 'wh_c', 'wh_d'])
      assert.equal(await since(-1), undefined, 'a reader that knows none')
      assert.equal(await since((await store.subscriptionsVersion()) + 1), undefined)
      const secrets = Array.from({ length: 1_001 }, (_, each) => `sealed ${each}`)
      await Promise.all(secrets.map((secret) => store.updateSubscription('wh_a', { secret })))
      assert.equal(await since(after), undefined)
      const recent = (await store.subscriptionsVersion()) - 1_000
      assert.deepEqual(await since(recent), ['wh_a'])
    }))

  test(`${engine.name}: a claimed job belongs to one worker until the claim expires; then it is due again under the same id`, () =>
    withJobs(engine, async (store, claimAt) => {
      await store.createSubscription(subscription('wh_a'), 10)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1])
      const [first] = await claimAt(2_000)
      assert.ok(first)
      assert.deepEqual(await claimAt(2_000), [])
      assert.deepEqual(await claimAt(26_999), [])
      const [again] = await claimAt(27_000)
      assert.equal(again?.id, first.id)
      assert.equal(again?.event.text, '{"seq":1}')
    }))

  test(`${engine.name}: a claim ends with the event that reaches its length, and leaves the rest to the next one`, () =>
    withJobs(engine, async (store) => {
      await store.createSubscription(subscription('wh_a'), 10)
      await startAt(store, 'log', 0)
      const texts = ['a'.repeat(400), 'é'.repeat(400), 'c'.repeat(10), 'd'.repeat(5_000), 'e']
      const events = texts.map((text, index) => ({ ...event(index + 1), text }))
      const jobs = events.map(({ seq }) => ({ subscriptionId: 'wh_a', seq }))
      await store.plan({ after: 0, upTo: events.length, events, jobs })
      const next = async (limit: number) =>
        (await store.claim({ subscriptionId: 'wh_a', limit, maxBytes: 1_000, claimMs: 25_000 })).map(
          (job) => job.event.seq,
        )
      assert.deepEqual(await next(10), [1, 2], 'bytes count, not characters')
      assert.deepEqual(await next(10), [3, 4])
      assert.deepEqual(await next(10), [5])
      assert.deepEqual(await next(10), [])
    }))

  test(`${engine.name}: a worker whose claim expired cannot settle a job that another one has claimed`, () =>
    withJobs(engine, async (store, claimAt) => {
      await store.createSubscription(subscription('wh_a'), 10)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1])
      const [late] = await claimAt(2_000)
      const [current] = await claimAt(30_000)
      assert.ok(late && current)
      const tried = { atMs: 31_000, status: 500, error: 'answered 500', durationMs: 5, ...HEADS }
      await store.settle([{ kind: 'retry', job: late, delayMs: 1, ...tried }], [])
      assert.deepEqual(await claimAt(32_000), [])
      await store.settle([{ kind: 'retry', job: current, delayMs: 1_000, ...tried }], [])
      const [waiting] = await store.deliveries({ subscriptionId: 'wh_a', limit: 1 })
      assert.deepEqual(headsOf(waiting), HEADS)
      const [next] = await claimAt(33_000)
      assert.equal(next?.failures, 1)
    }))

  test(`${engine.name}: the history records the outcome of a delivery, and the text of an event is deleted with its last job`, () =>
    withJobs(engine, async (store, claimAt, clock) => {
      await store.createSubscription(subscription('wh_a'), 10)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1, 2, 3])
      const jobs = await claimAt(2_000)
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
      // A repeated settlement changes nothing.
      await store.settle([{ kind: 'delivered', job: one, ...tried }], [])
      assert.equal((await store.pending()).count, 1)
      clock.set(5_000)
      assert.equal(await store.prune(2_900), 0)
      assert.equal(await store.prune(2_899), 2)
    }))

  test(`${engine.name}: the cap holds for each account, a deletion removes its jobs, and every change raises the version`, () =>
    withJobs(engine, async (store, _, clock) => {
      assert.equal((await store.createSubscription(subscription('wh_a'), 1))?.id, 'wh_a')
      assert.equal(await store.createSubscription(subscription('wh_b'), 1), undefined)
      assert.equal((await store.createSubscription(subscription('wh_c', 'other'), 1))?.id, 'wh_c')
      const before = await store.subscriptionsVersion()
      const again = { ...subscription('wh_a'), url: 'https://other.example/hook' }
      assert.deepEqual(await store.createSubscription(again, 1), await store.getSubscription('wh_a'))
      assert.notEqual((await store.getSubscription('wh_a'))?.url, again.url)
      assert.equal(await store.subscriptionsVersion(), before)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1])
      assert.deepEqual(await store.due(), [{ id: 'wh_a', overdueMs: 0 }])
      clock.set(1_700)
      assert.deepEqual(await store.due(), [{ id: 'wh_a', overdueMs: 700 }])
      clock.set(999)
      assert.deepEqual(await store.due(), [])
      clock.set(1_000)
      assert.equal(await store.deleteSubscription('wh_a'), true)
      assert.deepEqual(await store.due(), [])
      assert.equal((await store.subscriptionPage({ afterId: '', limit: 9, maxChars: 1_000 })).length, 1)
      assert.ok((await store.subscriptionsVersion()) > before)
    }))

  test(`${engine.name}: pending jobs fail after the retention time, but not under way, and are listed as failed`, () =>
    withJobs(engine, async (store, claimAt, clock) => {
      await store.createSubscription(subscription('wh_a'), 1)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1])
      await claimAt(10_000)
      assert.equal(await store.prune(5_000), 0)
      clock.set(36_000)
      assert.equal(await store.prune(35_000), 0)
      await store.prune(5_000)
      const [row] = await store.deliveries({ subscriptionId: 'wh_a', limit: 1 })
      assert.equal(row?.state, 'failed')
      assert.equal(row?.lastError, 'not delivered in time')
      assert.equal((await store.pending()).count, 0)
      clock.set(37_000)
      assert.equal(await store.prune(5_000), 0)
      assert.deepEqual(await store.deliveries({ subscriptionId: 'wh_a', limit: 1 }), [row], 'still listed')
      clock.set(42_000)
      assert.equal(await store.prune(5_000), 1)
    }))

  test(`${engine.name}: what a deleted subscription has left is pruned, and nothing of the others`, () =>
    withJobs(engine, async (store, claimAt) => {
      for (const id of ['wh_a', 'wh_b', 'wh_c']) await store.createSubscription(subscription(id), 10)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1, 2])
      const attempt = { atMs: 2_000, status: 204, error: null, durationMs: 5, ...HEADS }
      const [job] = await claimAt(2_000)
      assert.ok(job)
      await store.settle([{ kind: 'delivered', job, ...attempt }], [])
      const add = (subscriptionId: string) =>
        store.enqueue({ events: [event(2)], jobs: [{ subscriptionId, seq: 2 }] })
      await add('wh_b')
      await store.deleteSubscription('wh_a')
      // Written by a process that does not know of the deletion yet.
      await add('wh_a')
      assert.equal((await store.pending()).count, 2)
      assert.ok((await store.prune(60_000)) > 0)
      assert.equal(await store.prune(60_000), 0)
      assert.deepEqual(await store.deliveries({ subscriptionId: 'wh_a', limit: 10 }), [])
      assert.equal((await store.deliveries({ subscriptionId: 'wh_b', limit: 10 })).length, 1)
      assert.equal((await store.pending()).count, 1)
    }))

  test(`${engine.name}: a change that needs a secret is made only while the subscription has it`, () =>
    withJobs(engine, async (store) => {
      await store.createSubscription(subscription('wh_a'), 10)
      const change = (secret: string, before: string) =>
        store.updateSubscription('wh_a', { secret, previousSecret: before }, { secret: before })
      const both = await Promise.all([change('one', 'sealed'), change('two', 'sealed')])
      assert.equal(both.filter((changed) => changed !== undefined).length, 1)
      const found = await store.getSubscription('wh_a')
      assert.equal(found?.previousSecret, 'sealed')
      assert.equal((await change('three', found?.secret ?? ''))?.secret, 'three')
    }))

  test(`${engine.name}: a change that is meant for a key is made only while the subscription belongs to it`, () =>
    withJobs(engine, async (store) => {
      await store.createSubscription(subscription('wh_a'), 10)
      const { keyId = '' } = (await store.getSubscription('wh_a')) ?? {}
      assert.equal(await store.updateSubscription('wh_a', { active: false }, { keyId: 'other' }), undefined)
      assert.equal((await store.getSubscription('wh_a'))?.active, true)
      assert.equal((await store.updateSubscription('wh_a', { active: false }, { keyId }))?.active, false)
      assert.equal(await store.updateSubscription('wh_z', { active: false }, { keyId }), undefined)
    }))

  test(`${engine.name}: a change that needs a selection is made only while the subscription has it`, () =>
    withJobs(engine, async (store) => {
      await store.createSubscription(subscription('wh_a'), 10)
      const { kinds = [], addresses = [] } = (await store.getSubscription('wh_a')) ?? {}
      const changed = await store.updateSubscription('wh_a', { kinds: ['x'] }, { kinds, addresses })
      assert.deepEqual(changed?.kinds, ['x'])
      assert.equal(await store.updateSubscription('wh_a', { addresses: ['y'] }, { kinds }), undefined)
      assert.deepEqual((await store.getSubscription('wh_a'))?.addresses, addresses)
    }))

  test(`${engine.name}: when two logs give the same number to two events, each job keeps the text it was planned with`, () =>
    withJobs(engine, async (store, claimAt) => {
      await store.createSubscription(subscription('wh_a'), 10)
      await startAt(store, 'old', 0)
      await plan(store, 0, [1, 2])
      assert.equal(await store.highestSeq(), 2)
      assert.equal(await startAt(store, 'new', 1), 0, 'all of another log is new')
      const other = { seq: 1, id: 'evt_other', kind: 'block_added', text: '{"other":1}' }
      const job = { subscriptionId: 'wh_a', seq: 1 }
      assert.equal(await store.plan({ after: 0, upTo: 1, events: [other], jobs: [job] }), true)
      const texts = async () => (await claimAt(2_000)).map(({ event: { id, text } }) => [id, text])
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
    }))

  test(`${engine.name}: a text is stored once for all its jobs, and a job without its event is refused`, () =>
    withJobs(engine, async (store) => {
      await store.createSubscription(subscription('wh_a'), 10)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1])
      const job = { subscriptionId: 'wh_a', seq: 1 }
      const others = ['wh_b', 'wh_c']
      for (const id of others) await store.createSubscription(subscription(id), 10)
      await store.enqueue({
        events: [event(1)],
        jobs: others.map((subscriptionId) => ({ subscriptionId, seq: 1 })),
      })
      const claimOf = (subscriptionId: string) => store.claim({ subscriptionId, limit: 10, claimMs: 7_000 })
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
      await assert.rejects(store.enqueue({ events: [], jobs: [job] }), /was not given/)
    }))

  test(`${engine.name}: when several workers claim at the same time, each job is claimed by one of them`, () =>
    withFreshStore(
      engine,
      (stores) => stores.jobs('test'),
      async (store, { again }) => {
        await store.createSubscription(subscription('wh_a'), 10)
        await startAt(store, 'log', 0)
        const seqs = Array.from({ length: 200 }, (_, index) => index + 1)
        await plan(store, 0, seqs)
        const work = async (worker: JobsStore) => {
          const claimed: Job[] = []
          for (let more = await claim(worker, 7); more.length > 0; more = await claim(worker, 7))
            claimed.push(...more)
          return claimed
        }
        const claimed = (await Promise.all([store, again(), again()].map(work))).flat()
        // A worker may find nothing while another one is taking the rest.
        claimed.push(...(await work(store)))
        assert.deepEqual(
          claimed.map(({ event: { seq } }) => seq).sort((a, b) => a - b),
          seqs,
        )
      },
    ))

  test(`${engine.name}: a job has the text of its event, also when it is added while the last other one is settled`, () =>
    withFreshStore(
      engine,
      (stores) => stores.jobs('test'),
      async (store, { again }) => {
        const other = again()
        const ids = ['wh_a', 'wh_b']
        for (const id of ids) await store.createSubscription(subscription(id), 10)
        const add = (to: JobsStore, subscriptionId: string) =>
          to.enqueue({ events: [event(1)], jobs: [{ subscriptionId, seq: 1 }] })
        const tried = { atMs: 2_100, status: 204, error: null, durationMs: 5, ...HEADS }
        await add(store, 'wh_a')
        for (let round = 0; round < 12; round++) {
          const [from = '', to = ''] = round % 2 === 0 ? ids : ids.toReversed()
          const [job] = await store.claim({ subscriptionId: from, limit: 10, claimMs: 1_000 })
          assert.equal(job?.event.text, '{"seq":1}', `round ${round}`)
          await Promise.all([add(other, to), store.settle([{ kind: 'delivered', job, ...tried }], [])])
        }
      },
    ))

  test(`${engine.name}: an event that is pending for a subscription is not added again, however often it is enqueued`, () =>
    withJobs(engine, async (store) => {
      for (const id of ['wh_a', 'wh_b']) await store.createSubscription(subscription(id), 10)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1])
      const job = { subscriptionId: 'wh_a', seq: 1 }
      const again = await Promise.all(
        Array.from({ length: 5 }, () =>
          store.enqueue({ events: [event(1), event(2)], jobs: [job, job, { ...job, seq: 2 }] }),
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
    }))

  test(`${engine.name}: reading starts at the end of the first log, resumes at its position in the same one, and never beyond its end`, () =>
    withJobs(engine, async (store) => {
      assert.equal(await store.highestSeq(), 0)
      assert.equal(await startAt(store, 'a', 40), 40)
      assert.equal(await startAt(store, 'a', 50), 40)
      assert.equal(await startAt(store, 'a', 30), 30, 'a log that went back')
      assert.equal(await startAt(store, 'b', 90), 0, 'another log, although it reaches further')
      assert.equal(await store.position(), 0)
      await store.startAt({ id: 'b', newestSeq: 90 }, 0)
      await store.plan({ after: 0, upTo: 95, events: [], jobs: [] })
      assert.equal(
        await store.startAt({ id: 'b', newestSeq: 90 }, 0),
        95,
        'somebody else has read on meanwhile',
      )
      assert.equal(await store.startAt({ id: 'c', newestSeq: 90 }, 0), 95)
      assert.equal(await store.position(), 95)
    }))

  test(`${engine.name}: a delivery is found by its own id only, listed in pages, and can be retried at once`, () =>
    withJobs(engine, async (store, claimAt) => {
      for (const id of ['wh_a', 'wh_b']) await store.createSubscription(subscription(id), 10)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1, 2, 3])
      const jobs = await claimAt(2_000)
      const all = await store.deliveries({ subscriptionId: 'wh_a', limit: 10 })
      assert.deepEqual(
        all.map(({ id }) => id),
        jobs.map(({ id }) => id).reverse(),
      )
      const [newest, middle] = all
      assert.ok(newest && middle)
      assert.deepEqual(await store.deliveries({ subscriptionId: 'wh_a', limit: 1, before: newest.place }), [
        middle,
      ])
      assert.deepEqual(await store.delivery('wh_a', middle.id), middle)
      for (const id of ['', 'dlv_a_', 'dlv_a_zz', `${middle.id}0`, middle.id.replace('_a_', '_b_')])
        assert.equal(await store.delivery('wh_a', id), undefined, id)
      assert.equal(await store.delivery('wh_b', middle.id), undefined)
      assert.deepEqual(await claimAt(3_000), [])
      assert.equal(await store.retryNow('wh_a', middle.id), true)
      assert.deepEqual(
        (await claimAt(3_000)).map(({ id }) => id),
        [middle.id],
      )
      assert.equal(await store.retryNow('wh_b', middle.id), false)
      const attempt = { atMs: 3_000, status: 204, error: null, durationMs: 5, ...HEADS }
      const [first] = jobs
      assert.ok(first)
      await store.settle([{ kind: 'delivered', job: first, ...attempt }], [])
      assert.equal(await store.retryNow('wh_a', first.id), false, 'it is over')
      await store.probe()
    }))

  test(`${engine.name}: all subscriptions are read in pages, which end where their addresses become too many`, () =>
    withJobs(engine, async (store) => {
      const addresses = ['a'.repeat(40), 'b'.repeat(40)]
      for (const id of ['wh_d', 'wh_b', 'wh_a', 'wh_c'])
        await store.createSubscription({ ...subscription(id), addresses }, 10)
      const page = async (afterId: string, limit: number, maxChars: number) =>
        (await store.subscriptionPage({ afterId, limit, maxChars })).map(({ id }) => id)
      assert.deepEqual(await page('', 9, 1_000), ['wh_a', 'wh_b', 'wh_c', 'wh_d'])
      assert.deepEqual(await page('', 2, 1_000), ['wh_a', 'wh_b'])
      assert.deepEqual(await page('wh_b', 9, 1_000), ['wh_c', 'wh_d'])
      assert.deepEqual(await page('', 9, 200), ['wh_a', 'wh_b'])
      assert.deepEqual(await page('wh_a', 9, 1), ['wh_b'], 'at least one')
      assert.deepEqual(await page('wh_d', 9, 1_000), [])
      const [first] = await store.subscriptionPage({ afterId: '', limit: 1, maxChars: 1 })
      assert.deepEqual(first, await store.getSubscription('wh_a'))
    }))

  test(`${engine.name}: subscriptions are listed in order of creation, can be changed, and store since when they fail`, () =>
    withJobs(engine, async (store) => {
      for (const [index, id] of ['wh_c', 'wh_a', 'wh_b'].entries())
        await store.createSubscription({ ...subscription(id), createdAtMs: index }, 10)
      const [first, second] = await store.subscriptionPlaces({ accountId: 'acc', limit: 2 })
      assert.deepEqual([first?.id, second?.id], ['wh_c', 'wh_a'])
      const rest = await store.subscriptionPlaces({
        accountId: 'acc',
        limit: 9,
        ...(second && { after: second }),
      })
      assert.deepEqual(
        rest.map(({ id }) => id),
        ['wh_b'],
      )
      await store.updateSubscription('wh_c', { active: false })
      const active = await store.subscriptionPlaces({ accountId: 'acc', limit: 2, activeOnly: true })
      assert.deepEqual(
        active.map(({ id }) => id),
        ['wh_a', 'wh_b'],
      )
      const changed = await store.updateSubscription('wh_a', { kinds: ['x'], addresses: ['y'], batch: true })
      assert.deepEqual([changed?.kinds, changed?.addresses, changed?.batch], [['x'], ['y'], true])
      assert.equal(await store.updateSubscription('wh_z', { batch: true }), undefined)
      const failure = { subscriptionId: 'wh_a', ok: false, atMs: 5, disable: null }
      await store.settle([], [failure, { ...failure, atMs: 9 }])
      assert.equal((await store.getSubscription('wh_a'))?.failingSinceMs, 5)
      await store.settle([], [{ ...failure, atMs: 10, disable: 'failing' }])
      const disabled = await store.getSubscription('wh_a')
      assert.deepEqual(
        [disabled?.active, disabled?.disabledReason, disabled?.disabledAtMs],
        [false, 'failing', 10],
      )
      await store.settle([], [{ ...failure, ok: true, atMs: 5_000 }])
      assert.equal((await store.getSubscription('wh_a'))?.failingSinceMs, null)
    }))

  test(`${engine.name}: a subscription is switched off for the time that it fails only where no other worker had a success`, () =>
    withJobs(engine, async (store) => {
      await store.createSubscription(subscription('wh_a'), 10)
      const failure = { subscriptionId: 'wh_a', ok: false, atMs: 5, disable: null }
      const disabling = { ...failure, disable: 'failing' }
      const isActive = async () => (await store.getSubscription('wh_a'))?.active
      await store.settle([], [failure])
      await store.settle([], [{ ...failure, ok: true, atMs: 2_000 }])
      const before = await store.subscriptionsVersion()
      await store.settle([], [{ ...disabling, atMs: 3_000, failingBeforeMs: 2_500 }])
      assert.equal(await isActive(), true)
      assert.equal((await store.getSubscription('wh_a'))?.failingSinceMs, 3_000)
      assert.ok((await store.subscriptionsVersion()) > before, 'the worker that stopped reads it again')
      await store.settle([], [{ ...disabling, atMs: 5_500, failingBeforeMs: 3_000 }])
      assert.equal(await isActive(), false)
      await store.updateSubscription('wh_a', { active: true, failingSinceMs: null })
      const both = [
        { ...disabling, atMs: 6_000, failingBeforeMs: 3_000 },
        { ...disabling, atMs: 6_000, disable: 'gone' },
      ]
      await store.settle([], both)
      assert.equal((await store.getSubscription('wh_a'))?.disabledReason, 'gone')
    }))

  test(`${engine.name}: outcomes that are written again do not switch off what its owner has switched on meanwhile`, () =>
    withJobs(engine, async (store, claimAt) => {
      await store.createSubscription(subscription('wh_a'), 10)
      await startAt(store, 'log', 0)
      await plan(store, 0, [1, 2, 3])
      const [gone, again, untried] = await claimAt(2_000)
      assert.ok(gone && again && untried)
      const tried = { atMs: 2_100, status: 410, error: 'answered 410', durationMs: 5, ...HEADS }
      const outcomes: JobOutcome[] = [
        { kind: 'failed', job: gone, ...tried },
        { kind: 'retry', job: again, delayMs: 1_000, ...tried },
        { kind: 'release', job: untried },
      ]
      const health = { subscriptionId: 'wh_a', ok: false, atMs: 2_100, disable: 'gone' }
      await store.settle(outcomes, [health])
      assert.equal((await store.getSubscription('wh_a'))?.disabledReason, 'gone')
      await store.updateSubscription('wh_a', { active: true, failingSinceMs: null })
      const before = await store.subscriptionsVersion()
      await store.settle(outcomes, [health])
      const enabled = await store.getSubscription('wh_a')
      assert.deepEqual([enabled?.active, enabled?.failingSinceMs], [true, null])
      assert.ok((await store.subscriptionsVersion()) > before, 'the worker that stopped reads it again')
    }))
}
