/** The stream over real sockets, with the log of the running service. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gapEvent } from '../../src/events/gap-event.ts'
import { EVENT_KINDS } from '../../src/events/kinds.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { openEventWriter, testAddress } from '../fakes/event-writer.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { connectStream, type StreamClient } from '../fakes/stream-client.ts'
import { promisedMs } from '../promised-ms.ts'
import { until } from '../until.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined
const CUTS = SOAK ? 1_000 : 20

let service: TestService
let writer: ReturnType<typeof openEventWriter>

before(async () => {
  service = await startTestService()
  writer = openEventWriter(service.folder)
})
after(async () => {
  await writer.close()
  await service.stop()
})

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('welcome, subscribed at once, live when in step, then events as they are in the log', async () => {
  const client = connectStream(service.url, await service.key(), { header: true })
  const welcome = await client.next('welcome')
  assert.equal(welcome.network, 'testnet-10')
  assert.equal(welcome.ping_seconds, 20)
  client.send({ op: 'subscribe', kinds: ['block_added'] })
  const subscribed = await client.next('subscribed')
  assert.equal(subscribed.state, 'syncing')
  assert.equal((await client.next('live')).id, subscribed.id)
  const seq = await writer.blocks(3)
  await until('three events', () => client.events.length === 3)
  const stored = await writer.events.after({ afterSeq: seq - 3, limit: 3 })
  assert.deepEqual(
    client.events,
    stored.events.map(({ text }) => JSON.parse(text)),
  )
  client.close()
})

test(`a client that is cut off ${CUTS} times and resumes sees exactly what one that never dropped sees`, {
  timeout: SOAK ? 900_000 : 300_000,
}, async () => {
  const random = seeded(42)
  const key = await service.key()
  const start = await writer.blocks(1)
  const order = { op: 'subscribe', kinds: ['block_added', 'virtual_daa_score_changed'], resume_after: start }
  const steady = connectStream(service.url, key)
  steady.send(order)
  await steady.next('live')

  let writing = true
  const writes = (async () => {
    while (writing) {
      await (random() < 0.5
        ? writer.blocks(1 + Math.floor(random() * 8))
        : writer.scores(1 + Math.floor(random() * 8)))
      await new Promise((resolve) => setTimeout(resolve, random() * 12))
    }
  })()
  const seen: number[] = []
  let client: StreamClient | undefined
  for (let cut = 0; cut <= CUTS; cut++) {
    const stopAfter = 1 + Math.floor(random() * 30)
    let count = 0
    let cutAt = () => {}
    const enough = new Promise<void>((resolve) => {
      cutAt = resolve
    })
    const fresh: StreamClient = connectStream(service.url, key, {
      onEvent: (event) => {
        // What arrives after the cut was not processed: the client requests it again.
        if (count >= stopAfter && cut < CUTS) return
        seen.push(event.seq)
        if (++count === stopAfter) cutAt()
      },
    })
    client = fresh
    fresh.send({ ...order, resume_after: seen.at(-1) ?? start })
    if (cut === CUTS) break
    await enough
    fresh.cut()
  }
  writing = false
  await writes
  const { newestSeq } = await writer.events.bounds()
  await until('both have all', () => steady.events.at(-1)?.seq === newestSeq && seen.at(-1) === newestSeq)
  assert.deepEqual(
    seen,
    steady.events.map((event) => event.seq),
  )
  assert.deepEqual(
    seen,
    Array.from({ length: newestSeq - start }, (_, index) => start + 1 + index),
  )
  assert.deepEqual(
    client?.frames.filter((frame) => frame.type === 'gap'),
    [],
  )
  steady.close()
  client?.close()
})

test('addresses narrow what has addresses and leave the chain alone; several subscriptions give an event once', async () => {
  const [mine, other] = [testAddress(1), testAddress(2)]
  const client = connectStream(service.url, await service.key())
  client.send({
    op: 'subscribe',
    id: 'a',
    kinds: ['utxos_changed', 'virtual_daa_score_changed'],
    addresses: [mine],
  })
  client.send({ op: 'subscribe', id: 'b', kinds: ['utxos_changed'], addresses: [mine] })
  await client.next('live')
  await client.next('live')
  await writer.utxos([mine, other, mine])
  await writer.scores(1)
  await until('the score', () => client.events.some((event) => event.kind === 'virtual_daa_score_changed'))
  assert.deepEqual(
    client.events.map((event) => event.addresses),
    [[mine], [mine], []],
  )
  client.send({ op: 'unsubscribe', id: 'a' })
  assert.equal((await client.next('unsubscribed')).id, 'a')
  await writer.scores(1)
  await writer.utxos([mine])
  await until('the last one', () => client.events.length === 4)
  assert.equal(client.events[3]?.kind, 'utxos_changed')
  client.send({ op: 'ping', id: 'x' })
  assert.equal((await client.next('pong')).id, 'x')
  client.close()
})

test('a subscription added later with resume_after repeats nothing that the connection has sent', async () => {
  const start = (await writer.events.bounds()).newestSeq
  const client = connectStream(service.url, await service.key())
  client.send({ op: 'subscribe', kinds: ['block_added'] })
  await client.next('live')
  await writer.blocks(5)
  await writer.scores(5)
  await until('five blocks', () => client.events.length === 5)
  client.send({ op: 'subscribe', kinds: ['block_added', 'virtual_daa_score_changed'], resume_after: start })
  await client.next('live')
  await until('the scores', () => client.events.length >= 10)
  assert.equal(new Set(client.events.map((event) => event.seq)).size, client.events.length)
  client.close()
})

test('a gap is announced when the log no longer reaches, and for a number that it never gave', async () => {
  const key = await service.key()
  await writer.blocks(20)
  const { newestSeq } = await writer.events.bounds()
  await new Promise((resolve) => setTimeout(resolve, 20))
  const forget = { maxAgeMs: 0, maxBytes: Number.MAX_SAFE_INTEGER }
  while ((await writer.events.retain(forget)).more) {}
  await writer.blocks(5)
  await new Promise((resolve) => setTimeout(resolve, 300))
  const client = connectStream(service.url, key)
  client.send({ op: 'subscribe', kinds: ['block_added'], resume_after: 0 })
  const gap = await client.next('gap')
  const { oldestSeq } = await writer.events.bounds()
  assert.equal(gap.after_seq, 0)
  assert.equal(gap.up_to_seq, oldestSeq - 1)
  assert.equal(oldestSeq, newestSeq + 1)
  await client.next('live')
  client.send({ op: 'subscribe', kinds: ['block_added'], resume_after: 999_999_999 })
  assert.equal((await client.next('gap')).reason, 'unknown_position')
  client.close()
})

test('while the log forgets under a client that is cut off and resumes, whatever it is not sent is announced', async () => {
  const random = seeded(11)
  const key = await service.key()
  const start = await writer.blocks(1)
  const padding = 'a'.repeat(1_000)
  const mine = testAddress(8)
  const order = { op: 'subscribe', kinds: ['block_added', 'utxos_changed'], addresses: [mine] }
  let running = true
  const churn = (async () => {
    while (running) {
      await writer.utxos(new Array(1 + Math.floor(random() * 40)).fill(mine), padding)
      await writer.blocks(1 + Math.floor(random() * 5))
      // Sometimes all but the newest few are dropped, sometimes nothing.
      const { bytes } = await writer.events.bounds()
      if (random() < 0.3)
        await writer.events.retain({ maxAgeMs: Number.MAX_SAFE_INTEGER, maxBytes: bytes * random() })
    }
  })()
  const has = new Set<number>()
  let last = start
  let announced = 0
  const note = (client: StreamClient) => {
    for (const { seq } of client.events) {
      assert.ok(seq > last || !has.has(seq), `${seq} came twice`)
      has.add(seq)
    }
    for (const frame of client.frames) {
      if (frame.type !== 'gap') continue
      announced++
      for (let seq = Number(frame.after_seq) + 1; seq <= Number(frame.up_to_seq); seq++) has.add(seq)
    }
    last = client.events.at(-1)?.seq ?? last
  }
  for (let round = 0; round < (SOAK ? 300 : 15); round++) {
    const client = connectStream(service.url, key)
    client.send({ ...order, resume_after: last })
    await client.next('subscribed')
    await new Promise((resolve) => setTimeout(resolve, random() * 60))
    client.cut()
    await client.closed
    note(client)
  }
  running = false
  await churn
  // The last retention may have left nothing at all.
  const newestSeq = await writer.blocks(1)
  const end = connectStream(service.url, key)
  end.send({ ...order, resume_after: last })
  await end.next('live')
  await until('the end', () => (end.events.at(-1)?.seq ?? last) === newestSeq)
  note(end)
  const missing = Array.from({ length: newestSeq - start }, (_, index) => start + 1 + index).filter(
    (seq) => !has.has(seq),
  )
  assert.deepEqual(missing, [], 'neither sent nor announced')
  assert.ok(announced > 0, 'something was dropped')
  end.close()
})

test('a gap of the chain is sent to those whose kinds it concerns, live and resumed, in its place', async () => {
  const start = await writer.blocks(1)
  const ends = { fromHash: 'a'.repeat(64), fromBlueScore: 1, toHash: 'b'.repeat(64) }
  const gap = (reason: 'pruned' | 'blocks_pruned' | 'unreadable') =>
    gapEvent({ ...ends, atMs: Date.now(), fromTimeMs: 1_000, toTimeMs: 2_000, reason })
  const watch = () => {
    const client = connectStream(service.url, key)
    const resume = { resume_after: start }
    client.send({ op: 'subscribe', id: 'blocks', kinds: ['block_added'], ...resume })
    client.send({
      op: 'subscribe',
      id: 'coins',
      kinds: ['utxos_changed'],
      addresses: [testAddress(5)],
      ...resume,
    })
    client.send({ op: 'subscribe', id: 'score', kinds: ['virtual_daa_score_changed'], ...resume })
    return client
  }
  const key = await service.key()
  const client = watch()
  for (let count = 0; count < 3; count++) await client.next('live')
  await writer.blocks(1)
  const first = await appendEvents(writer.chain, [gap('blocks_pruned')])
  await appendEvents(writer.chain, [gap('unreadable')])
  const last = await appendEvents(writer.chain, [gap('pruned')])
  await writer.blocks(1)
  const gapsOf = (from: StreamClient) =>
    from.frames
      .filter(({ type }) => type === 'gap')
      .map(({ id, reason, after_seq, up_to_seq }) => [id, reason, after_seq, up_to_seq])
      .sort()
  const expected = [
    ['blocks', 'blocks_pruned', first - 1, first],
    ['blocks', 'pruned', last - 1, last],
    ['coins', 'pruned', last - 1, last],
    ['coins', 'unreadable', first, first + 1],
    ['score', 'pruned', last - 1, last],
  ]
  await until('the block behind it', () => client.events.length === 2)
  assert.deepEqual(gapsOf(client), expected)
  assert.deepEqual(client.frames.find(({ reason }) => reason === 'blocks_pruned')?.kinds, ['block_added'])
  const resumed = watch()
  for (let count = 0; count < 3; count++) await resumed.next('live')
  assert.deepEqual(gapsOf(resumed), expected)
  assert.deepEqual(
    resumed.events.map(({ kind }) => kind),
    ['block_added', 'block_added'],
  )
  client.close()
  resumed.close()
})

test('every fault of a message is reported, and the connection stays', async () => {
  const client = connectStream(service.url, await service.key({ plan: 'free' }))
  const cases: [object | string, RegExp][] = [
    ['nonsense', /not JSON/],
    [[1], /JSON object/],
    [{ op: 'shout' }, /op must be one of/],
    [{ op: 'subscribe' }, /kinds must be an array/],
    [{ op: 'subscribe', kinds: [] }, /at least one kind/],
    [{ op: 'subscribe', kinds: ['block_add'] }, /Did you mean block_added/],
    [{ op: 'subscribe', kinds: ['utxos_changed'] }, /at least one address/],
    [{ op: 'subscribe', kinds: ['utxos_changed'], addresses: ['kaspatest:qqqq'] }, /addresses\.0/],
    [{ op: 'subscribe', kinds: ['block_added'], resume_after: -1 }, /resume_after/],
    [{ op: 'subscribe', kinds: ['block_added'], adresses: [] }, /Did you mean addresses/],
    [{ op: 'unsubscribe', id: 'none' }, /no subscription none/],
  ]
  for (const [message, expected] of cases) {
    client.send(message)
    const error = await client.next('error')
    assert.match(String(error.message), expected)
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const eleven = Array.from({ length: 11 }, (_, index) => testAddress(index))
  client.send({ op: 'subscribe', kinds: ['utxos_changed'], addresses: eleven })
  assert.match(String((await client.next('error')).message), /the plan allows 10/)
  client.send({ op: 'subscribe', kinds: ['utxos_changed'], addresses: eleven.slice(1) })
  await client.next('live')
  client.close()
})

test('close codes: 4401 without a good key, 4403 for a paused one, 4429 above the plan or too chatty', async () => {
  assert.equal((await connectStream(service.url, undefined).closed).code, 4401)
  assert.equal((await connectStream(service.url, 'svc_test_nonsense').closed).code, 4401)
  const paused = await service.account('free')
  const pausedKey = await service.key({ accountId: paused })
  await service.parts.accounts.pause(paused, 'payment_past_due')
  assert.equal((await connectStream(service.url, pausedKey).closed).code, 4403)
  const market = await service.key({ scopes: ['market'] })
  assert.equal((await connectStream(service.url, market).closed).code, 4403)
  const live = await service.key({ environment: 'live' })
  assert.equal((await connectStream(service.url, live).closed).code, 4403)

  const freeKey = await service.key({ plan: 'free' })
  const first = connectStream(service.url, freeKey)
  const second = connectStream(service.url, freeKey)
  await first.next('welcome')
  await second.next('welcome')
  assert.equal((await connectStream(service.url, freeKey).closed).code, 4429)
  first.close()
  await first.closed
  await until('a place', async () => {
    const again = connectStream(service.url, freeKey)
    const outcome = await Promise.race([again.closed, again.next('welcome').then(() => 'open')])
    again.close()
    return outcome === 'open'
  })
  for (let count = 0; count < 40; count++) second.send({ op: 'ping' })
  assert.equal((await second.closed).code, 4429)
})

test('a revoked or paused key loses its connection within five seconds', async () => {
  const accountId = await service.account()
  const { key, record } = await service.parts.accounts.createKey({
    accountId,
    environment: 'test',
    name: 'r',
  })
  const revoked = connectStream(service.url, key)
  await revoked.next('welcome')
  const pausedAccount = await service.account()
  const paused = connectStream(service.url, await service.key({ accountId: pausedAccount }))
  await paused.next('welcome')
  const startedMs = performance.now()
  await service.parts.accounts.revokeKey(record.id)
  await service.parts.accounts.pause(pausedAccount, 'operator')
  assert.equal((await revoked.closed).code, 4401)
  assert.equal((await paused.closed).code, 4403)
  assert.ok(performance.now() - startedMs < promisedMs(5_000))
})

test('a key that expires loses its connection within five seconds', async () => {
  const expiresAtMs = Date.now() + 5_000
  const client = connectStream(service.url, await service.key({ expiresAtMs }))
  await client.next('welcome')
  assert.equal((await client.closed).code, 4401)
  const lateMs = Date.now() - expiresAtMs
  assert.ok(lateMs >= 0 && lateMs < promisedMs(5_000), `${lateMs} ms after its end`)
})

test('a client that does not read is closed as too slow, and another one misses nothing', async () => {
  const slow = connectStream(service.url, await service.key())
  const quick = connectStream(service.url, await service.key())
  const mine = testAddress(9)
  for (const client of [slow, quick])
    client.send({ op: 'subscribe', kinds: ['utxos_changed'], addresses: [mine] })
  await slow.next('live')
  await quick.next('live')
  slow.socket.pause()
  const padding = 'a'.repeat(64_000)
  for (let batch = 0; batch < 30; batch++) await writer.utxos(new Array(10).fill(mine), padding)
  await until('the quick one has all', () => quick.events.length === 300)
  slow.socket.resume()
  assert.equal((await slow.closed).code, 4408)
  assert.ok(slow.events.length < 300)
  quick.close()
})

test('the path without an upgrade answers 426, and the AsyncAPI document needs no key', async () => {
  const plain = await fetch(`${service.url}/v1/ws`)
  assert.equal(plain.status, 426)
  assert.equal(((await plain.json()) as { error: string }).error, 'upgrade_required')
  const document = await fetch(`${service.url}/asyncapi.json`)
  assert.equal(document.status, 200)
  const { asyncapi, components } = (await document.json()) as {
    asyncapi: string
    components: { schemas: object; messages: object }
  }
  assert.equal(asyncapi, '3.0.0')
  assert.deepEqual(Object.keys(components.schemas).sort(), [...EVENT_KINDS].sort())
  for (const type of ['welcome', 'subscribed', 'live', 'event', 'gap', 'unsubscribed', 'pong', 'error']) {
    assert.ok(type in components.messages, type)
  }
})
