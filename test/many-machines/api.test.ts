/**
 * Three processes that serve requests in turn: callers notice no difference. Keys, credits and limits are tested in
 * test/e2e/three-processes.test.ts.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, ask as askOnce } from '../fakes/client.ts'
import type { ChildService } from '../fakes/service.ts'
import { connectStream } from '../fakes/stream-client.ts'
import { withoutPostgres } from '../postgres/test-postgres.ts'
import { until } from '../until.ts'
import { type Machines, startMachines, WORKER } from './machines.ts'

const WALKED_MINUTES = 180
/** How often a stream is resumed, and after how many events of each connection. */
const [ROUNDS, EVENTS] = process.env.TAPELINE_SOAK === undefined ? [3, 5] : [4, 10]
/** Of a day that the first fill has read. */
const PAST = '/v1/candles?symbol=BTC&source=cexa&interval=1m&limit=50'

/** Repeats a request like a client if a shared machine is too slow to answer in time. */
async function ask(url: string, options: Parameters<typeof askOnce>[1]): Promise<Answer> {
  let answer = await askOnce(url, options)
  await until(
    'an answer',
    async () => {
      if (answer.status === 503) answer = await askOnce(url, options)
      return answer.status !== 503
    },
    60_000,
    100,
  )
  return answer
}

let machines: Machines
let apis: ChildService[]
let key: string
let turn = 0
/** The next process, as a load balancer would choose it. */
const next = () => apis[turn++ % apis.length] as ChildService

before(
  async () => {
    if (withoutPostgres !== false) return
    machines = await startMachines()
    ;[, ...apis] = await Promise.all([
      machines.start(WORKER),
      ...Array.from({ length: 3 }, () => machines.start('api')),
    ])
    key = await machines.key()
    await until(
      'the past is filled',
      async () => {
        // A process reads where a feed begins once in a second.
        const path = pastOf(WALKED_MINUTES).replace('limit=50', 'limit=500')
        const answers = await Promise.all(apis.map(({ url }) => ask(`${url}${path}`, { key })))
        return answers.every(({ json }) => (json.data as unknown[] | undefined)?.length === WALKED_MINUTES)
      },
      240_000,
      100,
    )
  },
  { timeout: 480_000 },
)
after(() => machines?.close())

function pastOf(minutes: number): string {
  const end = Math.floor(Date.now() / 60_000) * 60_000 - 30 * 60_000
  const time = (ms: number) => encodeURIComponent(new Date(ms).toISOString())
  return `${PAST}&start=${time(end - minutes * 60_000)}&end=${time(end)}`
}

test('a walk by cursor goes from process to process', { skip: withoutPostgres }, async () => {
  const path = pastOf(WALKED_MINUTES)
  const walk = async (service: () => ChildService) => {
    const rows: unknown[] = []
    let url = path
    for (let page = 0; page < 10; page++) {
      const { status, json } = await ask(`${service().url}${url}`, { key })
      assert.equal(status, 200)
      rows.push(...(json.data as unknown[]))
      const cursor = Object(json.meta).next_cursor as string | null
      if (cursor === null || cursor === undefined) return rows
      url = `${path}&after=${encodeURIComponent(cursor)}`
    }
    return rows
  }
  const together = await walk(next)
  assert.equal(together.length, WALKED_MINUTES)
  assert.deepEqual(together, await walk(() => apis[0] as ChildService))
})

test('a page has the same bytes and tag everywhere, and the tag of one process is good for all', {
  skip: withoutPostgres,
}, async () => {
  const path = pastOf(45)
  const answers = await Promise.all(apis.map(({ url }) => ask(`${url}${path}`, { key })))
  const [first] = answers
  for (const answer of answers) {
    assert.equal(answer.status, 200)
    assert.equal(
      answer.text.replace(/"request_id":"[^"]+"/, ''),
      first?.text.replace(/"request_id":"[^"]+"/, ''),
    )
    assert.equal(answer.headers.get('etag'), first?.headers.get('etag'))
  }
  const tag = first?.headers.get('etag')
  assert.ok(tag)
  for (const { url } of apis)
    assert.equal((await ask(`${url}${path}`, { key, headers: { 'If-None-Match': tag } })).status, 304)
})

test('a stream goes on at another process without loss or repetition', {
  skip: withoutPostgres,
}, async () => {
  const order = { op: 'subscribe', kinds: ['block_added'] }
  const steady = connectStream(next().url, key)
  steady.send(order)
  await until('a first event', () => steady.events.length > 0)
  const seqs = [steady.events[0]?.seq ?? 0]
  for (let round = 0; round < ROUNDS; round++) {
    const client = connectStream(next().url, key)
    client.send({ ...order, resume_after: seqs.at(-1) })
    await until('some events', () => client.events.length >= EVENTS)
    client.cut()
    seqs.push(...client.events.map(({ seq }) => seq))
  }
  await until('all of them', () => (steady.events.at(-1)?.seq ?? 0) >= (seqs.at(-1) ?? 0))
  steady.close()
  assert.deepEqual(
    seqs,
    steady.events.map(({ seq }) => seq).filter((seq) => seq <= (seqs.at(-1) ?? 0)),
  )
})
