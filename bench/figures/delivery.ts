import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { createMatcher } from '../../src/events/match.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { blockEvent, startRig } from '../../test/fakes/webhook-rig.ts'
import { type Figure, ratio } from '../frame.ts'

const FOLDER = join(import.meta.dirname, '..')

async function startChild(file: string, ...args: string[]) {
  const child = fork(join(FOLDER, file), args)
  const [port] = (await once(child, 'message')) as [number]
  return { child, port, stop: () => child.disconnect() }
}

const CLIENTS = 1_000
const EVENTS_PER_ROUND = 20
const STREAM_ROUNDS = 5

/** The stream to many clients against a bare broadcast of the same frames. */
export async function streamFigures(): Promise<Figure[]> {
  const hub = await startCrowd('hub')
  const bare = await startCrowd('bare')
  try {
    const measured = await ratio(STREAM_ROUNDS, { limit: bare.round, subject: hub.round })
    return [
      {
        name: `stream to ${CLIENTS} clients / bare ws broadcast`,
        atLeast: 0.6,
        value: measured.ratio,
        detail: `${Math.round(measured.subject)} of ${Math.round(measured.limit)} deliveries/s`,
      },
    ]
  } finally {
    hub.stop()
    bare.stop()
  }
}

async function startCrowd(mode: 'hub' | 'bare') {
  const server = await startChild('stream-server.ts', mode)
  let received = 0
  let wanted = Number.POSITIVE_INFINITY
  let done = () => {}
  const sockets: WebSocket[] = []
  for (let opened = 0; opened < CLIENTS; opened += 50) {
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const socket = new WebSocket(`ws://127.0.0.1:${server.port}/v1/ws`, { perMessageDeflate: false })
        sockets.push(socket)
        await once(socket, 'open')
        if (mode === 'hub') {
          const live = new Promise<void>((resolve) => {
            socket.on('message', function look(data: Buffer) {
              if (!data.includes('"type":"live"')) return
              socket.off('message', look)
              resolve()
            })
          })
          socket.send(JSON.stringify({ op: 'subscribe', kinds: ['block_added'] }))
          await live
        }
        socket.on('message', () => {
          if (++received === wanted) done()
        })
      }),
    )
  }
  return {
    async round(): Promise<number> {
      received = 0
      wanted = CLIENTS * EVENTS_PER_ROUND
      const all = new Promise<void>((resolve) => {
        done = resolve
      })
      const startedMs = performance.now()
      server.child.send(EVENTS_PER_ROUND)
      await all
      return wanted / ((performance.now() - startedMs) / 1_000)
    },
    stop() {
      for (const socket of sockets) socket.terminate()
      server.stop()
    },
  }
}

const MATCHES_PER_ROUND = 200_000
const FEW = 100
const MANY = 100_000
/** Coprime to the numbers of subscriptions, so that neighbours never follow each other and every one is used. */
const SPREAD = 48_271

/**
 * Finding the subscriptions of an event among few and among many. First with the same events, so that only the number
 * of subscriptions differs. Then with events for all of them in turn: many subscriptions no longer fit into the
 * processor's caches, which is shown without a bound.
 */
export async function matchFigures(): Promise<Figure[]> {
  const perEvent = (ms: number) => `${((ms / MATCHES_PER_ROUND) * 1e6).toFixed(0)} ns`
  const figure = async (name: string, busy: number, bound: { atMost?: number }): Promise<Figure> => {
    const measured = await ratio(7, { limit: matchTime(FEW, FEW), subject: matchTime(MANY, busy) })
    const detail = `${perEvent(measured.subject)} against ${perEvent(measured.limit)} per event`
    return { name, ...bound, value: measured.ratio, detail }
  }
  return [
    await figure(`matching with ${MANY} subscriptions / with ${FEW}, the same events`, FEW, { atMost: 2 }),
    await figure(`matching with ${MANY} subscriptions / with ${FEW}, events for all`, MANY, {}),
  ]
}

/** @param busy how many of the addresses have events; they are spread out. */
function matchTime(subscriptions: number, busy: number): () => Promise<number> {
  const matcher = createMatcher<number>()
  // Flat strings, as they come from the log and the database, not ropes that are joined when they are read.
  const address = (index: number) =>
    Buffer.from(`kaspatest:q${index.toString().padStart(60, 'q')}`).toString('latin1')
  for (let index = 0; index < subscriptions; index++) {
    matcher.add(index, { kinds: ['utxos_changed'], addresses: [address(index)] })
  }
  const events = Array.from({ length: MANY }, (_, index) => ({
    kind: 'utxos_changed',
    addresses: [address(((index % busy) * SPREAD) % subscriptions)],
  }))
  return async () => {
    const startedMs = performance.now()
    let found = 0
    for (let count = 0; count < MATCHES_PER_ROUND; count++) {
      const event = events[count % MANY]
      if (event !== undefined) for (const _ of matcher.match(event)) found++
    }
    if (found !== MATCHES_PER_ROUND) throw new Error(`${found} matches`)
    return performance.now() - startedMs
  }
}

const POSTS_PER_ROUND = 2_000
const POSTS_AT_ONCE = 16
const POST_ROUNDS = 5

/** Deliveries from the log, signed, charged and settled, against a loop of bare POSTs on keep-alive connections. */
export async function webhookFigures(): Promise<Figure[]> {
  const sink = await startChild('post-sink.ts')
  const rig = await startRig()
  try {
    const owner = await rig.createOwner()
    await rig.webhooks.subscriptions.create(owner, {
      url: `http://127.0.0.1:${sink.port}/hook`,
      kinds: ['block_added'],
      addresses: [],
      batch: false,
    })
    const measured = await ratio(POST_ROUNDS, {
      limit: () => barePosts(sink.port),
      subject: async () => {
        // Creating the events is the indexer's work; only the path from the log to the receiver is measured.
        const events = Array.from({ length: POSTS_PER_ROUND }, (_, index) => blockEvent(index))
        const seq = await appendEvents(rig.chain, events)
        const startedMs = performance.now()
        rig.tail.announce(seq)
        do await new Promise((resolve) => setTimeout(resolve, 5))
        while ((await rig.jobs.position()) !== seq || (await rig.webhooks.status()).pending > 0)
        return POSTS_PER_ROUND / ((performance.now() - startedMs) / 1_000)
      },
    })
    return [
      {
        name: 'webhook deliveries / bare keep-alive POST loop',
        atLeast: 0.5,
        value: measured.ratio,
        detail: `${Math.round(measured.subject)} of ${Math.round(measured.limit)} per second`,
      },
    ]
  } finally {
    await rig.close()
    sink.stop()
  }
}

/** Only the POST: no signature, no store, but the same concurrency and body size as a delivery. */
async function barePosts(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const body = `{"id":"evt_e12bbaf400000001","seq":1,${blockEvent(1).tail}`
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  let left = POSTS_PER_ROUND
  const post = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request(
        { agent, port, host: '127.0.0.1', method: 'POST', path: '/hook', headers },
        (response) => {
          response.resume()
          response.on('end', resolve)
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: POSTS_AT_ONCE }, async () => {
      while (left-- > 0) await post()
    }),
  )
  agent.destroy()
  return POSTS_PER_ROUND / ((performance.now() - startedMs) / 1_000)
}
