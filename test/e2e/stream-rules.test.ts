/** The rules of the stream over real sockets, with short times: heartbeats, slow readers, limits of every plan. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { acceptStreams } from '../../src/api/http/websocket.ts'
import { BUILT_IN_PLANS, type Plan } from '../../src/core/plan.ts'
import { StoreUnavailableError } from '../../src/core/store-unavailable.ts'
import { createEventTail } from '../../src/events/publish.ts'
import type { AdmittedStream } from '../../src/gate/stream-gate.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { createStreamHub } from '../../src/stream/hub.ts'
import { MAX_STALLED_MS, PING_MS } from '../../src/stream/protocol.ts'
import { testAddress } from '../fakes/event-writer.ts'
import { silentLog } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { connectStream, type StreamClient } from '../fakes/stream-client.ts'
import { blockEvent, NETWORK } from '../fakes/webhook-rig.ts'
import { until } from '../until.ts'

const QUICK_PING_MS = 400

/** The stream on a real port. The key is the name of a plan, and each is a separate account. */
async function startStream(
  t: TestContext,
  options: { pingMs?: number; clock?: Clock; checkWithinMs?: number; beforeEntry?: Promise<unknown> } = {},
) {
  const { chain, events, close } = storesIn(':memory:').chain('test')
  const tail = await createEventTail({ clock: systemClock, store: events })
  const { clock = systemClock, pingMs } = options
  const deps = { events, tail, network: NETWORK, watch: () => () => {}, clock } as const
  const hub = createStreamHub({
    ...{ ...deps, random: Math.random, log: silentLog },
    ...(pingMs === undefined ? {} : { pingMs }),
  })
  const enter = async ({ search }: { search: string }): Promise<AdmittedStream> => {
    await options.beforeEntry
    const plan = planOf(new URLSearchParams(search).get('api_key') ?? '')
    const credential = { accountId: plan.name, plan, environment: 'test' } as AdmittedStream['credential']
    return { credential, recheck: async () => undefined }
  }
  const server = createServer()
  const streams = acceptStreams(server, {
    gate: { admit: enter },
    log: silentLog,
    nextId: () => 'req_1',
    hubs: { test: hub },
    isTrustedProxy: () => false,
    maxPendingPerAddress: 64,
    ...(options.checkWithinMs === undefined ? {} : { checkWithinMs: options.checkWithinMs }),
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    await streams.close()
    server.close()
    await tail.close()
    await close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, hub, chain, tail }
}

function planOf(name: string): Plan {
  const plan = BUILT_IN_PLANS.find((each) => each.name === name)
  if (plan === undefined) throw new Error(`no plan ${name}`)
  return plan
}

/** A key check that does not finish before the test does. */
const neverBefore = (t: TestContext) => new Promise<void>((resolve) => t.after(() => resolve()))
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('the server pings every 20 s: who answers stays, who leaves two unanswered is ended', async (t) => {
  assert.equal(PING_MS, 20_000)
  const { url, hub } = await startStream(t, { pingMs: QUICK_PING_MS })
  const lively = connectStream(url, 'business')
  let pings = 0
  lively.socket.on('ping', () => pings++)
  const mute = new WebSocket(`${url.replace('http', 'ws')}/v1/ws?api_key=business`, { autoPong: false })
  let unanswered = 0
  mute.on('ping', () => unanswered++)
  mute.on('error', () => {})
  const startedMs = performance.now()
  const code = await new Promise<number>((resolve) => mute.on('close', resolve))
  assert.equal(code, 1006, 'without a goodbye: the peer does not answer')
  assert.equal(unanswered, 2)
  assert.ok(performance.now() - startedMs >= 2 * QUICK_PING_MS, 'not before two went unanswered')
  await until('more pings', () => pings >= 6)
  assert.equal(lively.socket.readyState, WebSocket.OPEN)
  assert.equal(hub.connections, 1)
  lively.close()
})

test('a client asks for signs of life in both forms, and its own messages count as some', async (t) => {
  const { url } = await startStream(t, { pingMs: QUICK_PING_MS })
  const mute = new WebSocket(`${url.replace('http', 'ws')}/v1/ws?api_key=business`, { autoPong: false })
  const texts: string[] = []
  mute.on('message', (data) => texts.push(String(data)))
  await new Promise((resolve) => mute.on('open', resolve))
  const pong = new Promise<string>((resolve) => mute.on('pong', (data) => resolve(String(data))))
  mute.ping('are you there')
  assert.equal(await pong, 'are you there')
  for (let round = 0; round < 10; round++) {
    mute.send(`{"op":"ping","id":"p${round}"}`)
    await sleep(QUICK_PING_MS / 2)
  }
  assert.equal(mute.readyState, WebSocket.OPEN, 'it never answered a ping, but its messages count')
  const closed = new Promise((resolve) => mute.on('close', resolve))
  await until('the last answer', () => texts.includes('{"type":"pong","id":"p9"}'))
  await closed
})

test('past events wait for a reader that has stopped, for 30 s without progress; then it is too slow', async (t) => {
  const startedMs = Date.now()
  let shiftMs = 0
  const clock: Clock = { now: () => startedMs + shiftMs, sleep: systemClock.sleep }
  const { url, chain, tail, hub } = await startStream(t, { clock })
  const long = { ...blockEvent(1), tail: blockEvent(1).tail.replace('[]', `["${'a'.repeat(64_000)}"]`) }
  for (let batch = 0; batch < 40; batch++) tail.announce(await appendEvents(chain, new Array(10).fill(long)))
  await until('the log is read', () => tail.seq === 400)
  const stuck = connectStream(url, 'business')
  const quick = connectStream(url, 'business')
  await Promise.all([stuck.next('welcome'), quick.next('welcome')])
  stuck.socket.pause()
  for (const client of [stuck, quick]) {
    client.send({ op: 'subscribe', kinds: ['block_added'], resume_after: 0 })
  }
  await quick.next('live')
  assert.equal(quick.events.length, 400)
  shiftMs = MAX_STALLED_MS - 2_000
  await sleep(200)
  assert.equal(hub.connections, 2, 'not a moment earlier')
  shiftMs = MAX_STALLED_MS + 2_000
  // Longer than the longest pause between two looks at the client.
  await sleep(500)
  stuck.socket.resume()
  assert.equal((await stuck.closed).code, 4408)
  assert.ok(stuck.events.length < 400)
  const last = stuck.events.at(-1)?.seq ?? 0
  const again = connectStream(url, 'business')
  again.send({ op: 'subscribe', kinds: ['block_added'], resume_after: last })
  await again.next('live')
  assert.deepEqual(
    [...stuck.events, ...again.events].map(({ seq }) => seq),
    Array.from({ length: 400 }, (_, index) => index + 1),
    'with resume_after nothing is missing and nothing comes twice',
  )
  for (const client of [quick, again]) client.close()
})

/** A client whose key is not checked yet, and everything that it was sent. */
async function connectEarly(url: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/ws?api_key=business`)
  const got: string[] = []
  socket.on('message', (data) => got.push(String(data)))
  socket.on('pong', (data) => got.push(`pong ${data}`))
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  await new Promise((resolve) => socket.on('open', resolve))
  return { socket, got, closed }
}

test('before its key is accepted a client is sent nothing; what it sent is answered afterwards, in its order', async (t) => {
  const entry = Promise.withResolvers<void>()
  const { url } = await startStream(t, { beforeEntry: entry.promise })
  const { socket, got } = await connectEarly(url)
  for (let index = 0; index < 15; index++) socket.send(`{"op":"ping","id":"${index}"}`)
  socket.ping('early')
  await sleep(100)
  assert.equal(got.length, 0)
  entry.resolve()
  await until('all answers', () => got.length >= 17)
  assert.match(got[0] ?? '', /"type":"welcome"/)
  assert.ok(got.includes('pong early'))
  assert.deepEqual(
    got.filter((text) => text.includes('"pong"')),
    Array.from({ length: 15 }, (_, index) => `{"type":"pong","id":"${index}"}`),
  )
  socket.terminate()
})

for (const [what, flood] of [
  ['17 messages', (socket: WebSocket) => Array.from({ length: 17 }, () => socket.send('{"op":"ping"}'))],
  ['17 pings', (socket: WebSocket) => Array.from({ length: 17 }, () => socket.ping())],
  ['17 pongs', (socket: WebSocket) => Array.from({ length: 17 }, () => socket.pong())],
  ['more than a megabyte', (socket: WebSocket) => [1, 2].map(() => socket.send('x'.repeat(600_000)))],
] as const) {
  test(`${what} before the key is accepted end the connection with 4429`, async (t) => {
    const { url, hub } = await startStream(t, { beforeEntry: neverBefore(t) })
    const { socket, got, closed } = await connectEarly(url)
    flood(socket)
    assert.equal(await closed, 4429)
    assert.equal(got.length, 0)
    assert.equal(hub.connections, 0)
  })
}

test('a key that cannot be checked in time ends the connection with 1013', async (t) => {
  const { url } = await startStream(t, { beforeEntry: neverBefore(t), checkWithinMs: 100 })
  const { closed } = await connectEarly(url)
  assert.equal(await closed, 1013)
})

test('a key that cannot be checked because the store is away ends the connection with 1013', async (t) => {
  const away = Promise.reject(new StoreUnavailableError('away'))
  away.catch(() => {})
  const { url } = await startStream(t, { beforeEntry: away })
  const { closed } = await connectEarly(url)
  assert.equal(await closed, 1013)
})

test('WebSocket pings count as messages: 20 in a second are answered, one more ends the connection', async (t) => {
  const { url } = await startStream(t)
  const { socket, got, closed } = await connectEarly(url)
  await until('welcome', () => got.length === 1)
  for (let index = 0; index < 21; index++) socket.ping(String(index))
  assert.equal(await closed, 4429)
  assert.ok(got.filter((text) => text.startsWith('pong ')).length <= 20)
})

const CAPS = [
  { plan: 'free', connections: 2, addresses: 10 },
  { plan: 'developer', connections: 10, addresses: 1_000 },
  { plan: 'business', connections: 50, addresses: 10_000 },
]

for (const { plan, connections, addresses } of CAPS) {
  test(`${plan}: ${connections} connections, ${addresses} addresses, and not one more`, async (t) => {
    const { url } = await startStream(t)
    const open: StreamClient[] = []
    for (let count = 0; count < connections; count++) {
      const client = connectStream(url, plan)
      const welcome = await client.next('welcome')
      assert.deepEqual(welcome.limits, { connections, addresses })
      open.push(client)
    }
    assert.equal((await connectStream(url, plan).closed).code, 4429)
    const [client, leaving] = open
    assert.ok(client && leaving)
    leaving.close()
    await leaving.closed
    const late = connectStream(url, plan)
    await late.next('welcome')
    const many = Array.from({ length: addresses + 1 }, (_, index) => testAddress(index))
    client.send({ op: 'subscribe', id: 'x', kinds: ['utxos_changed'], addresses: many })
    assert.match(String((await client.next('error')).message), new RegExp(`the plan allows ${addresses}\\.`))
    client.send({ op: 'subscribe', id: 'a', kinds: ['utxos_changed'], addresses: many.slice(1) })
    assert.equal((await client.next('subscribed')).address_count, addresses)
    // The addresses of one subscription count against the limit of the other ones of the same connection.
    client.send({ op: 'subscribe', id: 'b', kinds: ['utxos_changed'], addresses: many.slice(0, 1) })
    assert.match(
      String((await client.next('error')).message),
      new RegExp(`the plan allows ${addresses}, of which other .* have ${addresses}: 0 are left\\.`),
    )
    client.send({ op: 'unsubscribe', id: 'a' })
    client.send({ op: 'subscribe', id: 'b', kinds: ['utxos_changed'], addresses: many.slice(0, 1) })
    await client.next('subscribed')
    for (const each of [...open, late]) each.close()
  })
}
