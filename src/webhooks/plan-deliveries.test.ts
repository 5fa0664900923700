import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openEventWriter, testAddress } from '../../test/fakes/event-writer.ts'
import { accept, startReceiver, status } from '../../test/fakes/receiver.ts'
import { silentLog } from '../../test/fakes/service.ts'
import { type Rig, startRig } from '../../test/fakes/webhook-rig.ts'
import { until } from '../../test/until.ts'
import { systemClock } from '../kit/clock.ts'
import { createLogger } from '../kit/log.ts'
import { startPlanner } from './plan-deliveries.ts'

test('when the event log is replaced, the webhooks read the new one from its beginning and log it', async (t) => {
  const first = await startRig()
  const owner = await first.createOwner()
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false }
  await first.webhooks.subscriptions.create(owner, asked)
  await first.emitBlocks(30)
  await until('the first log', () => receiver.accepted.size === 30)
  await until('settled', async () => (await first.webhooks.status()).pending === 0)
  await first.close({ keepFiles: true })
  loseLog(first)

  const lines: string[] = []
  const log = createLogger({ level: 'error', write: (line: string) => void lines.push(line) })
  const second = await startRig({ folder: first.folder, webhooks: { log } })
  t.after(() => second.close())
  await second.emitBlocks(5)
  await until('the new log', () => receiver.accepted.size === 35)
  assert.ok(
    lines.some((line) => line.includes('was replaced')),
    lines.join(''),
  )
})

test('without a subscription the position follows the log, and the first one gets what comes after it', async (t) => {
  const rig = await startRig()
  t.after(() => rig.close())
  await rig.emitBlocks(20)
  await until('the position', async () => (await rig.jobs.position()) === 20)
  await rig.emitBlocks(5)
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false }
  await rig.webhooks.subscriptions.create(await rig.createOwner(), asked)
  await rig.emitBlocks(3)
  await until('deliveries', () => receiver.accepted.size === 3)
  await until('settled', async () => (await rig.webhooks.status()).pending === 0)
  assert.deepEqual(
    receiver.received.flatMap(({ events }) => events.map(({ seq }) => seq)).sort((a, b) => a - b),
    [26, 27, 28],
  )
  assert.equal(await rig.jobs.position(), 28)
})

function loseLog({ folder }: Rig): void {
  for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `test-chain.db${end}`), { force: true })
}

/** The texts that are in the log now, by event id. */
async function logged({ events }: Rig): Promise<[id: string, text: string][]> {
  const page = await events.after({ afterSeq: 0, limit: 1_000 })
  return page.events.map(({ id, text }) => [id, text])
}

for (const [when, more] of [
  ['ends before the place that was read', 1],
  ['has outgrown the place that was read', 40],
] as const) {
  test(`a lost log with pending jobs: every body is that of its own event (the new log ${when})`, async (t) => {
    const webhooks = { retryDelaysMs: Array.from({ length: 7 }, () => 60_000) }
    const first = await startRig({ webhooks })
    const owner = await first.createOwner()
    const receiver = await startReceiver(status(500))
    t.after(() => receiver.close())
    const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false }
    const { subscription } = await first.webhooks.subscriptions.create(owner, asked)
    const { accountId } = owner
    await first.emitBlocks(5)
    await until('failed tries', () => receiver.received.length === 5)
    const oldLog = await logged(first)
    await first.close({ keepFiles: true })
    loseLog(first)

    // Something else writes into the new log before the webhooks start.
    const writer = openEventWriter(first.folder)
    await writer.scores(2)
    await writer.blocks(more)
    await writer.close()
    receiver.received.length = 0
    receiver.answer = accept
    const second = await startRig({ folder: first.folder, webhooks })
    t.after(() => second.close())
    await second.emitBlocks(2)
    const newLog = (await logged(second)).filter(([, text]) => text.includes('block_added'))
    const { subscriptions, deliveries } = second.webhooks
    for (const { id } of await subscriptions.deliveries(accountId, subscription.id, { limit: 200 })) {
      await deliveries.redeliver(accountId, subscription.id, id)
    }
    await until('both logs', () => receiver.accepted.size === oldLog.length + newLog.length)
    const expected = new Map([...oldLog, ...newLog])
    assert.equal(expected.size, 5 + more + 2, 'ids of two logs differ')
    for (const { events, body } of receiver.received) assert.equal(body, expected.get(events[0]?.id ?? ''))
    await until('settled', async () => (await second.webhooks.status()).pending === 0)
    for (const row of await subscriptions.deliveries(accountId, subscription.id, { limit: 200 })) {
      const { request } = await deliveries.find(accountId, subscription.id, row.id)
      // The lost log can no longer show its events, and another event's text must not be shown instead.
      assert.equal(request.body?.text, newLog.find(([id]) => id === row.eventId)?.[1], row.eventId)
    }
  })
}

/** A planner on a log of numbers. One subscription selects all of them from the moment it is known. */
async function startOnNumbers(
  t: TestContext,
  log: { newestSeq: number; tailSeq: number },
  selectedBy: readonly string[] = ['wh_a'],
) {
  const state = { position: 10, version: 0, known: 0, active: 0, reads: 0, planned: [] as number[] }
  const writes: number[] = []
  const about = { kind: 'block_added', addresses: [], createdAtMs: 1, text: '{}' }
  const eventOf = (seq: number) => ({ seq, id: `evt_${seq}`, ...about })
  const planner = await startPlanner({
    store: {
      position: async () => state.position,
      startAt: async ({ newestSeq }) => {
        state.position = Math.min(state.position, newestSeq)
        return state.position
      },
      plan: async ({ after, upTo, subscriptions, jobs }) => {
        if (after !== state.position || subscriptions !== state.version) return false
        state.planned.push(...jobs.map(({ seq }) => seq))
        writes.push(jobs.length)
        state.position = upTo
        return true
      },
    },
    events: {
      after: async ({ afterSeq }) => {
        const seqs = Array.from({ length: Math.max(0, log.newestSeq - afterSeq) }, (_, i) => afterSeq + 1 + i)
        return { events: seqs.map(eventOf), upToSeq: log.newestSeq, more: false }
      },
      bounds: async () => {
        state.reads++
        return { oldestSeq: 1, newestSeq: log.newestSeq, bytes: 0 }
      },
      logId: async () => 'log',
    },
    book: {
      match: () => (state.active > 0 ? selectedBy : []),
      get activeCount() {
        return state.active
      },
      get version() {
        return state.known
      },
    },
    reload: async () => {
      state.active = state.version
      state.known = state.version
    },
    tailSeq: () => log.tailSeq,
    clock: systemClock,
    log: silentLog,
    onPlanned: () => {},
  })
  t.after(() => planner.close())
  return { planner, state, writes }
}

test('without a subscription a log that is behind the announced end is read once per round', async (t) => {
  const { planner, state } = await startOnNumbers(t, { newestSeq: 8, tailSeq: 20 })
  planner.wakeAndWrite()
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.ok(state.reads < 5, `${state.reads} reads`)
  assert.equal(state.position, 8)
})

test('what happened between a creation in another process and its discovery here is planned', async (t) => {
  const log = { newestSeq: 12, tailSeq: 12 }
  const { planner, state } = await startOnNumbers(t, log)
  planner.wakeAndWrite()
  await until('the position', () => state.position === 12)
  state.version = 1
  log.newestSeq = 15
  log.tailSeq = 15
  planner.wake()
  state.active = 1
  state.known = 1
  planner.wakeAndWrite()
  await until('the plan', () => state.position === 15)
  assert.deepEqual(state.planned, [13, 14, 15])
})

test('a log that is replaced by a shorter one while its events are planned is read on from its end', async (t) => {
  const log = { newestSeq: 12, tailSeq: 12 }
  const { planner, state } = await startOnNumbers(t, log)
  Object.assign(state, { version: 1, known: 1, active: 1 })
  planner.wakeAndWrite()
  await until('the plan', () => state.position === 12)
  log.newestSeq = 5
  planner.wakeAndWrite()
  await until('the end of the new log', () => state.position === 5)
  log.newestSeq = 7
  planner.wakeAndWrite()
  await until('the plan of the new log', () => state.position === 7)
  assert.deepEqual(state.planned, [11, 12, 6, 7])
})

test('jobs for very many webhooks are written in parts of whole events', async (t) => {
  const webhooks = Array.from({ length: 700 }, (_, n) => `wh_${n}`)
  const log = { newestSeq: 10, tailSeq: 10 }
  const { planner, state, writes } = await startOnNumbers(t, log, webhooks)
  Object.assign(state, { version: 1, known: 1, active: 1 })
  Object.assign(log, { newestSeq: 20, tailSeq: 20 })
  planner.wakeAndWrite()
  await until('the plan', () => state.position === 20)
  assert.ok(Math.max(...writes) <= 2_100, `${writes}`)
  const expected = Array.from({ length: 10 }, (_, n) => webhooks.map(() => 11 + n))
  assert.deepEqual(state.planned, expected.flat())
})

test('a position that has moved in memory only is written at the end', async (t) => {
  const { planner, state } = await startOnNumbers(t, { newestSeq: 20, tailSeq: 20 })
  assert.deepEqual([planner.position, state.position], [20, 10])
  await planner.close()
  assert.equal(state.position, 20)
})

test('while one account changes its webhooks without a pause, the events of another one are delivered', async (t) => {
  const rig = await startRig()
  t.after(() => rig.close())
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false }
  await rig.webhooks.subscriptions.create(await rig.createOwner('quiet@example.com'), asked)
  const busy = await rig.createOwner('busy@example.com')
  const chosen = ['krc20_activity', 'covenant_execution'] as const
  const { subscription: changing } = await rig.webhooks.subscriptions.create(busy, {
    ...asked,
    kinds: [chosen[0]],
  })
  // With these, reading every webhook again takes longer than a change.
  const addresses = Array.from({ length: 5_000 }, (_, index) => testAddress(index))
  for (let index = 0; index < 30; index++) {
    const { accountId, keyId } = busy
    const owned = { accountId, keyId, url: receiver.url, kinds: ['utxos_changed'], addresses, batch: false }
    await rig.jobs.createSubscription(
      { ...owned, id: `wh_many${index}`, createdAtMs: index, secret: 'sealed' },
      1_000,
    )
  }
  let changes = 0
  const answers: Promise<unknown>[] = []
  const timer = setInterval(() => {
    const kinds = [chosen[++changes % 2] as string]
    answers.push(rig.webhooks.subscriptions.patch(busy, changing.id, { kinds }))
  }, 20)
  try {
    for (let round = 1; round <= 5; round++) {
      await rig.emitBlocks(1)
      await until('delivery', () => receiver.accepted.size === round, 15_000)
    }
  } finally {
    clearInterval(timer)
    await Promise.all(answers)
  }
  assert.ok(changes > 5, `${changes} changes`)
})
