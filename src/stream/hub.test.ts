/** Heartbeats, and how clients join and leave the hub. Connections are plain objects; the log is real. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testAddress } from '../../test/fakes/event-writer.ts'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { blockEvent, NETWORK } from '../../test/fakes/webhook-rig.ts'
import { until } from '../../test/until.ts'
import { BUILT_IN_PLANS } from '../core/plan.ts'
import { GAP_KIND } from '../events/gap-event.ts'
import { createEventTail } from '../events/publish.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import { createLogger } from '../kit/log.ts'
import { nextTurn } from '../kit/time-slices.ts'
import { appendEvents } from '../store/conformance/chain-engine.ts'
import { createStreamHub } from './hub.ts'
import type { StreamConnection } from './session.ts'

const [plan] = BUILT_IN_PLANS
assert.ok(plan)

function recordingConnection() {
  const log = { sent: [] as string[], buffers: [] as Buffer[], pings: 0, terminated: false, closedWith: 0 }
  const connection: StreamConnection = {
    send: (frame) => {
      log.sent.push(frame.toString())
      if (typeof frame !== 'string') log.buffers.push(frame)
    },
    unsentBytes: 0,
    hold: () => {},
    flush: () => {},
    close: (code) => {
      log.closedWith = code
    },
    pong: () => {},
    ping: () => {
      log.pings++
    },
    terminate: () => {
      log.terminated = true
    },
  }
  return { connection, log }
}

async function setUp(t: TestContext, pingMs: number) {
  const { chain, events, close } = storesIn(':memory:').chain('test')
  const tail = await createEventTail({ clock: systemClock, store: events })
  const log = createLogger({ level: 'silent' })
  const watching = { now: 0 }
  const watch = (addresses: readonly string[]) => {
    watching.now += addresses.length
    return () => {
      watching.now -= addresses.length
    }
  }
  const hub = createStreamHub({
    ...{ events, tail, network: NETWORK, watch, clock: systemClock, random: Math.random, log, pingMs },
  })
  t.after(async () => {
    await hub.close()
    await tail.close()
    await close()
  })
  const client = { accountId: 'a', plan: { ...(plan as NonNullable<typeof plan>), streamConnections: 10 } }
  return { hub, chain, tail, watching, client: { ...client, recheck: async () => undefined } }
}

/** A hub over a made-up log whose newest event has this sequence number. */
function hubOver(
  events: Parameters<typeof createStreamHub>[0]['events'],
  newestSeq: number,
  clock: Clock = systemClock,
  unwatch = () => {},
) {
  return createStreamHub({
    ...{ events, tail: { seq: newestSeq, listen: () => () => {} }, network: NETWORK, watch: () => unwatch },
    ...{ random: Math.random, clock, log: createLogger({ level: 'silent' }) },
  })
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('a client that answers pings stays; one that leaves two unanswered is ended', async (t) => {
  const { hub, client } = await setUp(t, 20)
  const lively = recordingConnection()
  const dead = recordingConnection()
  const answers = hub.open({ ...lively.connection, ping: () => answers?.alive() }, client)
  hub.open(dead.connection, client)
  await until('the dead one is ended', () => dead.log.terminated)
  assert.equal(dead.log.terminated, true)
  assert.equal(dead.log.pings, 2)
  assert.equal(lively.log.terminated, false)
  assert.equal(hub.connections, 1)
})

test('an event is serialised once: every client gets the same bytes', async (t) => {
  const { hub, client, chain, tail } = await setUp(t, 60_000)
  const clients = [recordingConnection(), recordingConnection(), recordingConnection()]
  for (const { connection } of clients) {
    hub.open(connection, client)?.receive('{"op":"subscribe","kinds":["block_added"]}')
  }
  await until('all are live', () => clients.every(({ log }) => /"type":"live"/.test(log.sent.join())))
  tail.announce(await appendEvents(chain, [blockEvent(1)]))
  await until('all have the event', () => clients.every(({ log }) => log.buffers.length > 0))
  const [first, ...others] = clients.map(({ log }) => log.buffers[0])
  assert.ok(first)
  for (const buffer of others) assert.equal(buffer, first)
})

test('a closed connection releases its addresses and receives nothing more', async (t) => {
  const { hub, client, chain, tail, watching } = await setUp(t, 60_000)
  const { connection, log } = recordingConnection()
  const member = hub.open(connection, client)
  const address = testAddress(3)
  member?.receive(
    JSON.stringify({ op: 'subscribe', kinds: ['block_added', 'utxos_changed'], addresses: [address] }),
  )
  await until('live', () => /"type":"live"/.test(log.sent.join()))
  assert.equal(watching.now, 1)
  await nextTurn()
  member?.closed()
  assert.equal(watching.now, 0)
  const before = log.sent.length
  tail.announce(await appendEvents(chain, [blockEvent(1)]))
  await sleep(20)
  assert.equal(log.sent.length, before)
  assert.equal(hub.connections, 0)
})

test('connections that end at the same moment release their addresses in turns of their own', async (t) => {
  const { client } = await setUp(t, 60_000)
  const empty = {
    after: async () => ({ events: [], upToSeq: 1, more: false }),
    bounds: async () => ({ oldestSeq: 1, newestSeq: 1, bytes: 0 }),
  }
  let turn = 0
  const next = () => {
    turn++
    counting = setImmediate(next)
  }
  let counting = setImmediate(next)
  const turns: number[] = []
  const hub = hubOver(empty, 1, systemClock, () => {
    turns.push(turn)
    // As long as many addresses take.
    for (const endMs = performance.now() + 10; performance.now() < endMs; ) {}
  })
  t.after(() => {
    clearImmediate(counting)
    return hub.close()
  })
  const clients = Array.from({ length: 8 }, recordingConnection)
  const members = clients.map(({ connection }) => hub.open(connection, client))
  const order = { op: 'subscribe', kinds: ['utxos_changed'], addresses: [testAddress(3)] }
  for (const member of members) member?.receive(JSON.stringify(order))
  await until('all are live', () => clients.every(({ log }) => /"type":"live"/.test(log.sent.join())))
  for (const member of members) member?.closed()
  assert.equal(hub.connections, 0)
  await until('all are released', () => turns.length === 8)
  assert.equal(new Set(turns).size, 8)
})

test('while a client reads a long past, the thread gets its turns', async (t) => {
  const { client } = await setUp(t, 60_000)
  let turn = 0
  const next = () => {
    turn++
    counting = setImmediate(next)
  }
  let counting = setImmediate(next)
  const turns: number[] = []
  const hub = hubOver(
    {
      // Answers at once, like an embedded log.
      async after({ afterSeq }) {
        turns.push(turn)
        return { events: [], upToSeq: afterSeq + 1, more: afterSeq < 49 }
      },
      bounds: async () => ({ oldestSeq: 1, newestSeq: 50, bytes: 0 }),
    },
    50,
  )
  t.after(() => {
    clearImmediate(counting)
    return hub.close()
  })
  const { connection, log } = recordingConnection()
  hub.open(connection, client)?.receive('{"op":"subscribe","kinds":["block_added"],"resume_after":0}')
  await until('live', () => /"type":"live"/.test(log.sent.join()))
  assert.equal(turns.length, 50)
  assert.equal(new Set(turns).size, 50)
})

test('many subscriptions of an account that read a long past wait for each other, and not others for all of them', async (t) => {
  const { client } = await setUp(t, 60_000)
  let [reading, most, pages] = [0, 0, 0]
  const hub = hubOver(
    {
      async after({ afterSeq }) {
        most = Math.max(most, ++reading)
        pages++
        await sleep(0)
        reading--
        return { events: [], upToSeq: afterSeq + 1, more: true }
      },
      bounds: async () => ({ oldestSeq: 1, newestSeq: 1e9, bytes: 0 }),
    },
    1e9,
  )
  t.after(() => hub.close())
  const clients = Array.from({ length: 10 }, recordingConnection)
  for (const { connection } of clients) {
    const member = hub.open(connection, client)
    for (let id = 0; id < 20; id++) {
      member?.receive(`{"op":"subscribe","id":"s${id}","kinds":["block_added"],"resume_after":0}`)
    }
  }
  const isSyncing = ({ log }: (typeof clients)[0]) => log.sent.join().split('"syncing"').length === 21
  await until('all are syncing', () => clients.every(isSyncing))
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  await nextTurn()
  clearInterval(counting)
  assert.ok(turns <= 5, `another caller waited for ${turns} turns`)
  await until('the log is read', () => pages > 300)
  assert.equal(most, 1)
})

test('pongs that nobody asked for count as messages', async (t) => {
  const { hub, client } = await setUp(t, 60_000)
  const { connection, log } = recordingConnection()
  const member = hub.open(connection, client)
  for (let index = 0; index < 200 && log.closedWith === 0; index++) member?.pong()
  assert.equal(log.closedWith, 4429)
})

test('what the log drops after it was read is sent, and is in no gap', async (t) => {
  const { client } = await setUp(t, 60_000)
  const stored = (seq: number) => ({ seq, kind: 'block_added', id: `evt_${seq}`, text: `{"seq":${seq}}` })
  const hub = hubOver(
    {
      after: async () => ({
        events: [6, 7, 8].map((seq) => ({ ...stored(seq), createdAtMs: 0, addresses: [] })),
        upToSeq: 8,
        more: false,
      }),
      bounds: async () => ({ oldestSeq: 8, newestSeq: 8, bytes: 0 }),
    },
    8,
  )
  t.after(() => hub.close())
  const framesAfter = async (seq: number) => {
    const { connection, log } = recordingConnection()
    const order = { op: 'subscribe', kinds: ['block_added'], resume_after: seq }
    hub.open(connection, client)?.receive(JSON.stringify(order))
    await until('live', () => /"type":"live"/.test(log.sent.join()))
    return log.sent.map(
      (text) => JSON.parse(text) as { type: string; after_seq?: number; up_to_seq?: number },
    )
  }
  const typesOf = (frames: { type: string }[]) => frames.map(({ type }) => type).slice(-5)
  assert.deepEqual(typesOf(await framesAfter(5)).slice(-4), ['event', 'event', 'event', 'live'])
  assert.ok(!(await framesAfter(5)).some(({ type }) => type === 'gap'))
  const later = await framesAfter(3)
  assert.deepEqual(typesOf(later), ['gap', 'event', 'event', 'event', 'live'])
  const gap = later.find(({ type }) => type === 'gap')
  assert.deepEqual([gap?.after_seq, gap?.up_to_seq], [3, 5], 'it ends before the first event')
})

test('a client that reads slowly has its time, even if the system clock is set forward', async (t) => {
  const { client } = await setUp(t, 60_000)
  const time = manualClock(0)
  let setMs = 0
  const clock = { ...time, now: () => time.now() + setMs, elapsed: () => time.now() }
  const unread = {
    after: () => assert.fail('read'),
    bounds: async () => ({ oldestSeq: 1, newestSeq: 9, bytes: 0 }),
  }
  const hub = hubOver(unread, 9, clock)
  const { connection, log } = recordingConnection()
  const member = hub.open({ ...connection, unsentBytes: 1024 * 1024 }, client)
  member?.receive('{"op":"subscribe","kinds":["block_added"],"resume_after":0}')
  await until('subscribed', () => /"type":"subscribed"/.test(log.sent.join()))
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await nextTurn()
      time.advance(1_000)
    }
    await nextTurn()
  }
  await pass(5)
  setMs = 3_600_000
  await pass(20)
  assert.equal(log.closedWith, 0)
  await pass(10)
  assert.notEqual(log.closedWith, 0)
  member?.closed()
})

/** A connection of which as much is unsent as `unsentBytes` says. */
function slowConnection(unsentBytes: () => number) {
  const { connection, log } = recordingConnection()
  const slow: StreamConnection = {
    ...connection,
    get unsentBytes() {
      return unsentBytes()
    },
  }
  return { connection: slow, log }
}

const UNREAD = {
  after: () => assert.fail('read'),
  bounds: async () => ({ oldestSeq: 1, newestSeq: 9, bytes: 0 }),
}

test('all subscriptions of a client that does not read wait as one', async (t) => {
  const { client } = await setUp(t, 60_000)
  const hub = hubOver(UNREAD, 9)
  t.after(() => hub.close())
  let looks = 0
  const { connection, log } = slowConnection(() => {
    looks++
    return 1024 * 1024
  })
  const member = hub.open(connection, client)
  for (let id = 0; id < 20; id++)
    member?.receive(`{"op":"subscribe","id":"s${id}","kinds":["block_added"],"resume_after":0}`)
  await until('all are syncing', () => log.sent.join().split('"syncing"').length === 21)
  looks = 0
  await sleep(500)
  assert.ok(looks < 150, `looked at ${looks} times`)
})

test('a client that reads slowly but steadily has its time; one that stops, or takes minutes, is too slow', async (t) => {
  const { client } = await setUp(t, 60_000)
  for (const [readSeconds, expected] of [
    [60, 'later'],
    [1_000, 'at last'],
  ] as const) {
    const time = manualClock(0)
    const clock = { ...time, elapsed: () => time.now() }
    const hub = hubOver(UNREAD, 9, clock)
    let unsent = 3_000_000
    const { connection, log } = slowConnection(() => unsent)
    const member = hub.open(connection, client)
    member?.receive('{"op":"subscribe","kinds":["block_added"],"resume_after":0}')
    await until('subscribed', () => /"type":"subscribed"/.test(log.sent.join()))
    let second = 0
    for (; log.closedWith === 0 && second < 2_000; second++) {
      member?.alive()
      if (second < readSeconds && second % 10 === 0) unsent -= 1_000
      await nextTurn()
      time.advance(1_000)
    }
    assert.equal(log.closedWith, 4408)
    if (expected === 'later') assert.ok(second > 80 && second < 90, `after ${second} s`)
    else assert.ok(second > 295 && second < 310, `after ${second} s`)
    member?.closed()
  }
})

test('what was held back is sent also where an event after it cannot be read', async (t) => {
  const { client } = await setUp(t, 60_000)
  const about = { createdAtMs: 0, addresses: [] }
  const hub = hubOver(
    {
      after: async () => ({
        events: [
          { ...about, seq: 1, id: 'evt_1', kind: 'block_added', text: '{"seq":1}' },
          { ...about, seq: 2, id: 'evt_2', kind: GAP_KIND, text: 'damaged' },
        ],
        upToSeq: 2,
        more: false,
      }),
      bounds: async () => ({ oldestSeq: 1, newestSeq: 2, bytes: 0 }),
    },
    2,
  )
  t.after(() => hub.close())
  let [held, isHeld] = [0, false]
  const { connection } = recordingConnection()
  const corked = {
    ...connection,
    hold: () => {
      held++
      isHeld = true
    },
    flush: () => {
      isHeld = false
    },
  }
  const member = hub.open(corked, client)
  member?.receive('{"op":"subscribe","kinds":["block_added"],"resume_after":0}')
  await until('a try', () => held > 0)
  await nextTurn()
  assert.equal(isHeld, false)
  member?.closed()
})
