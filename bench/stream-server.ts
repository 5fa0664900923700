/**
 * One side of the stream figure, in a separate process: `hub` is the stream of the service on a real event log, `bare`
 * a plain broadcast of the same frames to all clients.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type WebSocket, WebSocketServer } from 'ws'
import { acceptStreams } from '../src/api/http/websocket.ts'
import { BUILT_IN_PLANS } from '../src/core/plan.ts'
import { createEventTail } from '../src/events/publish.ts'
import type { StreamGate } from '../src/gate/stream-gate.ts'
import { systemClock } from '../src/kit/clock.ts'
import { createLogger } from '../src/kit/log.ts'
import { appendEvents } from '../src/store/conformance/chain-engine.ts'
import { openStores, parseStoreAddress } from '../src/store/open-stores.ts'
import { createStreamHub } from '../src/stream/hub.ts'
import { eventFrame } from '../src/stream/protocol.ts'
import { blockEvent, NETWORK } from '../test/fakes/webhook-rig.ts'

const mode = process.argv[2]
const server = createServer()
const log = createLogger({ level: 'error' })

async function startHub(): Promise<(count: number) => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const { chain, events } = openStores(parseStoreAddress(folder), systemClock).chain('test')
  const tail = await createEventTail({ clock: systemClock, store: events })
  const hub = createStreamHub({
    events,
    tail,
    network: NETWORK,
    watch: () => () => {},
    clock: systemClock,
    random: Math.random,
    log,
  })
  const [plan] = BUILT_IN_PLANS.map((known) => ({ ...known, streamConnections: 100_000 }))
  // Keys are not measured here, so everybody is admitted.
  const credential = { accountId: 'bench', plan, environment: 'test' }
  const gate = {
    enter: async () => ({ credential, recheck: async () => undefined }),
  } as unknown as StreamGate
  acceptStreams(server, {
    gate,
    log,
    hubs: { test: hub },
    isTrustedProxy: () => false,
    nextId: () => 'req_1',
    maxPendingPerAddress: Number.MAX_SAFE_INTEGER,
  })
  return async (count) => tail.announce(await appendEvents(chain, blocks(count)))
}

async function startBare(): Promise<(count: number) => Promise<void>> {
  const clients = new Set<WebSocket>()
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  sockets.on('connection', (socket) => clients.add(socket))
  return async (count) => {
    const frames = blocks(count).map(({ tail }, index) =>
      eventFrame(`{"id":"evt_e12bbaf4000000${index % 10}","seq":${index},${tail}`),
    )
    for (const frame of frames) for (const client of clients) client.send(frame, { binary: false })
  }
}

function blocks(count: number) {
  return Array.from({ length: count }, (_, index) => blockEvent(index))
}

const publish = await (mode === 'hub' ? startHub() : startBare())
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
process.on('message', (count: number) => void publish(count))
process.on('disconnect', () => process.exit(0))
process.send?.((server.address() as AddressInfo).port)
