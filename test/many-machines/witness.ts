/**
 * A caller who records what was acknowledged, and at the end checks that all of it is there exactly once:
 *
 *   paid requests ──▶ the balance            webhooks that were created ──▶ the list of webhooks
 *   stream        ──▶ the event log          deliveries                 ──▶ the event log
 *   the venue and the chain themselves ──▶ rows, coverage and index
 */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import type { StoredEvent } from '../../src/store/events.ts'
import { allEvents, settled } from '../fakes/chain-rig.ts'
import { acceptances, assertAddress, assertLog } from '../fakes/chain-truth.ts'
import { type Answer, ask } from '../fakes/client.ts'
import { testAddress } from '../fakes/event-writer.ts'
import { startReceiver } from '../fakes/receiver.ts'
import { connectStream } from '../fakes/stream-client.ts'
import { compareAll } from '../ingest/compare.ts'
import { until } from '../until.ts'
import type { Machines } from './machines.ts'

const PAID = '/v1/sources'
const PAID_CREDITS = 25
const CREATE_CREDITS = 10
const SOAK = process.env.TAPELINE_SOAK !== undefined
const PAY_EVERY_MS = SOAK ? 40 : 250
const CREATE_EVERY_MS = SOAK ? 250 : 1_000
/** If a caller gets no answer for this long, something is wrong, even on a shared machine. */
const MAX_ANSWER_MS = 60_000
/** For things that happen without a request; how soon they happen is tested elsewhere. */
const PATIENCE_MS = 180_000
/** 409: an earlier request with the same idempotency key is not over yet. */
const EXPECTED = [200, 201, 409, 503]
const KINDS = ['block_added']
/** A killed process loses the charges of its last moments: for deliveries one credit each. */
const LOST_WITH_KILL = 10
/**
 * Quotes of the spot exchange carry no time and get it from the frames before and after them: on a slow machine both
 * may be this far away.
 */
const SLACK_MS = 15_000
/** Fewer than the plan allows. */
const MAX_CREATED = 200

export interface Witness {
  /** The longest time for which paid requests were not answered with 200 while there was load. */
  readonly longestOutageMs: number
  readonly statuses: ReadonlyMap<number, number>
  /** How many requests were answered and paid for. */
  readonly paid: number
  /** Ends the load and compares. */
  judge(range: { fromMs: number }): Promise<{ events: number; deliveries: number; repeated: number }>
  close(): Promise<void>
}

export async function startWitness(
  machines: Machines,
  urls: () => readonly string[],
  { mayJump = false, kills = 0 }: { mayJump?: boolean /** Of workers. */; kills?: number } = {},
): Promise<Witness> {
  const credits = 100_000_000
  const accountId = (await machines.accounts.accounts.create({ email: 'witness@example.com', plan: 'wide' }))
    .id
  await machines.accounts.accounts.setCredits(accountId, credits)
  const key = await machines.key({ accountId })
  const statuses = new Map<number, number>()
  const odd: string[] = []
  const stop = new AbortController()
  let turn = 0
  const next = () => urls()[turn++ % urls().length] as string
  const asked = async (path: string, options: Parameters<typeof ask>[1] = {}): Promise<Answer> => {
    const startedMs = performance.now()
    const answer = await ask(`${next()}${path}`, { key, ...options })
    const tookMs = performance.now() - startedMs
    assert.ok(tookMs < MAX_ANSWER_MS, `${path} took ${Math.round(tookMs)} ms`)
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    if (!EXPECTED.includes(answer.status)) odd.push(`${path}: ${answer.status} ${answer.text}`)
    return answer
  }

  let paid = 0
  let lastOkMs = performance.now()
  let longestMs = 0
  const pay = async () => {
    const { status } = await asked(PAID)
    if (status !== 200) return
    paid++
    longestMs = Math.max(longestMs, performance.now() - lastOkMs)
    lastOkMs = performance.now()
  }

  const receiver = await startReceiver()
  const create = (url: string, once: string, more: object = {}) =>
    asked('/v1/webhooks', {
      method: 'POST',
      headers: { 'Idempotency-Key': once, 'Content-Type': 'application/json' },
      body: JSON.stringify({ url, kinds: KINDS, ...more }),
    })
  const created: string[] = []
  /** An address at which nothing happens. */
  const nobody = testAddress(1)
  /** Repeats the request with the same key until it is acknowledged, like a client. */
  const createOne = async (number: number) => {
    while (!stop.signal.aborted && number < MAX_CREATED) {
      const answer = await create(`${receiver.url}?${number}`, `create-${number}`, {
        kinds: ['utxos_changed'],
        addresses: [nobody],
      })
      if (answer.status === 201) return void created.push(String(answer.json.id))
      await wait(CREATE_EVERY_MS)
    }
  }

  const bounds = async () => {
    const database = machines.stores.chain('live')
    try {
      return await database.events.bounds()
    } finally {
      await database.close()
    }
  }
  const made = await create(receiver.url, 'deliver')
  assert.equal(made.status, 201, made.text)
  const deliverAfter = (await bounds()).newestSeq

  const streamed: { seq: number; id: string }[] = []
  let stream = connectStream(next(), key)
  const follow = async () => {
    while (!stop.signal.aborted) {
      const from = streamed.at(-1)?.seq
      stream = connectStream(next(), key, { onEvent: ({ seq, id }) => void streamed.push({ seq, id }) })
      stream.send({ op: 'subscribe', kinds: KINDS, ...(from === undefined ? {} : { resume_after: from }) })
      await stream.closed
      await wait(100)
    }
  }

  const repeat = async (everyMs: number, act: (number: number) => Promise<void>) => {
    for (let number = 0; !stop.signal.aborted; number++) {
      await act(number)
      await wait(everyMs)
    }
  }
  const load = [
    repeat(PAY_EVERY_MS, pay),
    repeat(PAY_EVERY_MS, pay),
    repeat(CREATE_EVERY_MS, createOne),
    follow(),
  ]
  // Reported by `judge`; until then a failure must not end the test's process.
  for (const each of load) each.catch(() => {})

  async function judge({ fromMs }: { fromMs: number }) {
    // Stops new blocks, so that the log has an end that can be compared.
    machines.chain.chain.skipTo(Date.now() + 3_600_000)
    const chain = machines.stores.chain('live')
    const store = await machines.stores.environment('live')
    try {
      await until(
        'the index has reached the end of the chain',
        async () => (await chain.chain.checkpoint())?.hash === machines.node.truth.sink(),
        PATIENCE_MS,
        100,
      )
      // Blocks are recorded beside the chain, on a busy machine after it.
      const last = machines.node.truth.chain().slice(-20)
      await until(
        'the last blocks are in the log',
        async () => {
          const recorded = blocksOf(await allEvents(chain))
          return last.every(({ mergeSet }) => mergeSet.every((hash) => recorded.has(hash)))
        },
        PATIENCE_MS,
        // The whole log is read for it.
        500,
      )
      await settled(chain)
      const events = await allEvents(chain)
      const wanted = events.filter(({ kind }) => KINDS.includes(kind))
      await until(
        'the stream has brought all',
        () => streamed.at(-1)?.seq === wanted.at(-1)?.seq,
        PATIENCE_MS,
      )
      stop.abort()
      stream.close()
      await Promise.all(load)
      judgeStream(wanted)
      await judgeChain(events, chain)
      const repeated = await judgeDeliveries(wanted)
      await judgeRows(store, fromMs)
      await judgeWebhooks()
      await judgeBalance(receiver.accepted.size)
      assert.deepEqual(odd, [])
      return { events: events.length, deliveries: receiver.accepted.size, repeated }
    } finally {
      await store.close()
      await chain.close()
    }
  }

  function judgeStream(wanted: readonly StoredEvent[]): void {
    const first = streamed[0]?.seq ?? 0
    const expected = wanted.filter(({ seq }) => seq >= first).map(({ seq, id }) => ({ seq, id }))
    assert.deepEqual(streamed, expected, 'the stream has brought every event once, in order')
  }

  async function judgeChain(events: readonly StoredEvent[], chain: ReturnType<typeof machines.stores.chain>) {
    const { startScore } = assertLog(events, machines.node, { mayJump })
    assert.deepEqual(await chain.chain.gaps(), [])
    const truth = { blueScore: startScore, accepted: acceptances(machines.node) }
    for (const { address } of machines.node.wallets())
      await assertAddress(chain, machines.node, address, truth)
  }

  async function judgeDeliveries(wanted: readonly StoredEvent[]): Promise<number> {
    const due = wanted.filter(({ seq }) => seq > deliverAfter).map(({ id }) => id)
    await until(
      'every event is delivered',
      () => due.every((id) => receiver.accepted.has(id)),
      // The claims of a dead worker have to expire.
      PATIENCE_MS,
    )
    const byEvent = Map.groupBy(receiver.received, ({ events }) => events[0]?.id)
    for (const [id, attempts] of byEvent) {
      const names = new Set(attempts.map(({ headers }) => headers['x-svc-delivery']))
      assert.equal(names.size, 1, `event ${id} is one delivery, however often it was tried`)
    }
    return receiver.received.length - byEvent.size
  }

  async function judgeRows(store: Awaited<ReturnType<typeof machines.stores.environment>>, fromMs: number) {
    const toMs = Math.floor((Date.now() - 5_000) / 1_000) * 1_000
    const subject = { store, truth: machines.exchanges.truth, venue: 'spot', symbol: 'BTC' } as const
    let wrong: string[] = []
    // What is repaired by request takes a moment.
    await until(
      'rows and gaps are what happened',
      async () => {
        const all = await compareAll({
          ...subject,
          range: { fromMs, toMs },
          slackMs: SLACK_MS,
          aheadMs: SLACK_MS,
        })
        // A second in which the simulated venue got no processor time has no quote. Tests with their own clock check
        // quotes.
        wrong = all.filter((each) => !/^ticker .* no row at/.test(each))
        return wrong.length === 0
      },
      PATIENCE_MS,
      500,
    ).catch(() => assert.deepEqual(wrong, []))
  }

  async function judgeWebhooks(): Promise<void> {
    const { json } = await ask(`${next()}/v1/webhooks`, { key })
    const listed = (json.webhooks as { id: string }[]).map(({ id }) => id)
    assert.equal(new Set(created).size, created.length)
    const own = listed.filter((id) => id !== made.json.id)
    // The last one may have been created without an answer, when the test ended.
    assert.deepEqual(
      created.filter((id) => !own.includes(id)),
      [],
      'everything that was acknowledged is there',
    )
    assert.ok(own.length <= created.length + 1, 'and nothing twice')
  }

  async function judgeBalance(deliveries: number): Promise<void> {
    const expected = () =>
      PAID_CREDITS * paid + CREATE_CREDITS * (created.length + 1) + receiver.accepted.size
    const account = await machines.accounts.accounts.get(accountId)
    let used = 0
    await until(
      'all charges are settled',
      async () => {
        used = (await machines.accounts.accounts.balance(account, 'live')).used
        return used <= expected() && used >= expected() - kills * LOST_WITH_KILL
      },
      // A delivery whose end could not be stored is charged when its claim has run out and it was sent again.
      120_000,
      100,
    ).catch(async () => {
      const rows = await machines.accounts.accounts.usage(accountId, Date.now() - 86_400_000, Date.now())
      const charged = rows.map(({ endpoint, credits, requests }) => `${endpoint}: ${credits} of ${requests}`)
      const made = `${paid} paid, ${created.length} created, ${deliveries} delivered`
      assert.equal(used, expected(), `${made}; charged: ${charged.join(', ')}`)
    })
  }

  return {
    statuses,
    get paid() {
      return paid
    },
    get longestOutageMs() {
      return stop.signal.aborted ? longestMs : Math.max(longestMs, performance.now() - lastOkMs)
    },
    judge,
    async close() {
      stop.abort()
      stream.cut()
      await Promise.allSettled(load)
      await receiver.close()
    },
  }
}

/** The hashes of the blocks that are in the log. */
function blocksOf(events: readonly StoredEvent[]): ReadonlySet<string> {
  const added = events.filter(({ kind }) => kind === 'block_added')
  return new Set(added.map(({ text }) => (JSON.parse(text) as { data: { hash: string } }).data.hash))
}
