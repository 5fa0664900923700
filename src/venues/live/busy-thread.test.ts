/** A busy thread reads its sockets late, which must not count as silence of the venue. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { afterEach, test } from 'node:test'
import { setTimeout as rest } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { endAfterTest, endAll, scriptedVenue } from '../../../test/venues/scripted-venue.ts'
import { BTC, frameOf, listen, QUICK, toyProtocol } from '../../../test/venues/toy-feed.ts'
import { systemClock } from '../../kit/clock.ts'
import { sleepReading } from '../../kit/reading-time.ts'
import { seeded } from '../../store/conformance/engine.ts'

afterEach(endAll)

const SEED = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000)
const SILENCE_MS = 600
const MAX_TRIES = 5

interface TalkingVenue {
  readonly url: string
  /**
   * The venue's longest pause between two frames, including the current one: a busy machine holds up the venue's thread
   * as well.
   */
  longestPauseMs(): Promise<number>
}

/** A venue in its own thread, which keeps sending while this one is busy. */
async function talkingVenue(): Promise<TalkingVenue> {
  /** The longest pause, and the number of frames. */
  const told = new Int32Array(new SharedArrayBuffer(8))
  const frames = Array.from({ length: 5_000 }, (_, id) => frameOf(id))
  const worker = new Worker(
    `const { parentPort, workerData: { frames, told } } = require('node:worker_threads')
    const { WebSocketServer } = require('ws')
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () =>
      parentPort.postMessage(server.address().port))
    let next = 0
    server.on('connection', (socket) => {
      socket.on('error', () => {})
      let lastMs = performance.now()
      const timer = setInterval(() => {
        const nowMs = performance.now()
        told[0] = Math.max(told[0], nowMs - lastMs)
        told[1]++
        lastMs = nowMs
        socket.send(frames[next++ % frames.length])
      }, 20)
      socket.on('close', () => clearInterval(timer))
    })`,
    { eval: true, workerData: { frames, told } },
  )
  endAfterTest(async () => void (await worker.terminate()))
  const [port] = await once(worker, 'message')
  return {
    url: `ws://127.0.0.1:${port}`,
    async longestPauseMs() {
      const words = Atomics.load(told, 1)
      while (Atomics.load(told, 1) === words) await rest(5)
      return Atomics.load(told, 0)
    },
  }
}

function hold(ms: number): void {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}

test(`a line stays up however long this thread is held by other work (seed ${SEED})`, async (t) => {
  const random = seeded(SEED)
  for (let tries = 1; ; tries++) {
    const { kinds, longestPauseMs } = await heldLine(random)
    if (longestPauseMs < SILENCE_MS / 2) {
      assert.deepEqual(kinds, ['connected', 'subscribed'])
      return
    }
    t.diagnostic(`the venue itself was held for ${longestPauseMs} ms: this says nothing`)
    if (tries === MAX_TRIES) return t.skip('the machine has no time for the venue')
  }
})

/** What a feed reports about a venue that keeps sending while this thread is held up repeatedly. */
async function heldLine(random: ReturnType<typeof seeded>) {
  const limits = {
    ...QUICK,
    socket: { ...QUICK.socket, openWithinMs: 30_000, trafficSilenceMs: SILENCE_MS },
    dataSilenceFloorMs: SILENCE_MS,
  }
  const venue = await talkingVenue()
  const feed = listen(venue.url, { limits, silenceOf: () => SILENCE_MS })
  await feed.until(() => feed.ids().length > 0)
  for (let times = 0; times < 4; times++) {
    // After other work in the same turn, timers run first and sockets are read only then.
    if (random.below(4) > 0) await new Promise<void>((resolve) => setImmediate(resolve))
    hold(SILENCE_MS * 1.2 + random.below(SILENCE_MS / 2))
    await rest(random.below(120))
  }
  await rest(100)
  const seen = { kinds: feed.kinds(), longestPauseMs: await venue.longestPauseMs() }
  await feed.close()
  await endAll()
  return seen
}

test('a socket on which nothing is subscribed is not expected to talk; from the subscription on it is', async () => {
  const venue = await scriptedVenue()
  let isSubscribed = false
  const route = { name: 'toy', url: `${venue.url}/toy`, channels: [BTC], greeting: [] }
  const feed = listen(venue.url, {
    routes: [{ ...route, expectsData: () => isSubscribed }],
    limits: { ...QUICK, dataSilenceFloorMs: 150 },
    silenceOf: () => 100,
  })
  await feed.until(() => venue.open().length === 1)
  await rest(600)
  assert.deepEqual(feed.kinds(), ['connected', 'subscribed'], 'neither cut nor called silent')
  isSubscribed = true
  await feed.until(() => feed.kinds().includes('disconnected'))
  assert.equal(feed.seen.find((each) => each.kind === 'disconnected')?.reason, 'no data')
  await feed.close()
  await venue.close()
})

test('a socket that talks is not cut for an answer to our ping that is missing', async () => {
  const venue = await scriptedVenue()
  const heartbeat = { everyMs: 200, frame: 'ping', answerWithinMs: 1_500 }
  const feed = listen(venue.url, { protocol: { ...toyProtocol, heartbeat } })
  await feed.until(() => venue.open().length === 1)
  let id = 0
  const talk = setInterval(() => venue.broadcast(frameOf(++id)), 10)
  await rest(3_500)
  assert.deepEqual(feed.kinds(), ['connected', 'subscribed'])
  clearInterval(talk)
  await feed.until(() => feed.kinds().includes('disconnected'))
  assert.equal(feed.seen.find((each) => each.kind === 'disconnected')?.reason, 'no pong')
  await feed.close()
  await venue.close()
})

test('of a deadline only the time counts in which this thread could read', async () => {
  const startedMs = performance.now()
  const deadline = sleepReading(systemClock, 2_200)
  let isOver = false
  deadline.then(() => {
    isOver = true
  })
  await rest(100)
  hold(2_600)
  // Lets every due timer run, and everything that follows from it.
  for (let turn = 0; turn < 4; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  assert.equal(isOver, false, 'the held time does not count')
  await deadline
  assert.ok(performance.now() - startedMs > 3_000)
})
