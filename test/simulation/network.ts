/**
 * The network of a simulation: simulated servers listen, simulated processes dial and fetch.
 *
 *   process ──dial──▶ network ──latency──▶ server ──▶ accept / refuse / cut
 *           ──fetch─▶         ──latency──▶        ──▶ answer, cut, never
 *
 * Its faults affect one server (by name): new connections are refused or never answered, open ones are cut, stall, or
 * die silently in one direction (half open), everything becomes slow, answers end in the middle. A connection never
 * skips what it has lost: its bytes continue where they stopped, or it ends.
 */
import type { Endpoint, Listen } from '../../sandbox/server/transport.ts'
import type { Fetch, FetchInit, HttpResponse } from '../../src/venues/rest/http.ts'
import type { Dial } from '../../src/venues/venue.ts'
import type { SimulatedProcess } from './process.ts'
import type { Random } from './random.ts'
import { SimulatedSocket } from './socket.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface NetworkFault {
  readonly kind: /** Open connections end, new ones are refused while it lasts. */
    | 'cut'
    /** From now on nothing that the server sends on its open connections arrives, and neither side is notified. */
    | 'half-open'
    /** The same for what clients send. */
    | 'half-open-up'
    /** Nothing arrives during the stall; everything arrives afterwards. */
    | 'stall'
    /** Everything takes `slowMs` longer. */
    | 'slow'
    /** Bodies of answers end in the middle. */
    | 'truncate'
    /** New connections and requests are never answered. */
    | 'unanswered'
  readonly server: string
  readonly slowMs?: number
}

interface Connection {
  readonly server: string
  readonly port: number
  readonly client: SimulatedSocket
  readonly remote: SimulatedSocket
  readonly process: SimulatedProcess
  /** Directions that no longer carry anything. */
  readonly dead: { up: boolean; down: boolean }
  cut(): void
}

const MIN_LATENCY_MS = 1
const FIRST_PORT = 20_000

export type Network = ReturnType<typeof createNetwork>

export function createNetwork(time: VirtualTime, random: Random) {
  const servers = new Map<number, { readonly name: string; readonly endpoint: Endpoint }>()
  const connections = new Set<Connection>()
  const faults = new Set<NetworkFault>()
  /** What waits for the end of a stall, in order. */
  let stalled: { readonly server: string; readonly go: () => void }[] = []
  /** Requests that wait for their answer, by process. */
  let open = 0
  let nextPort = FIRST_PORT
  /** The share of frames that arrive in one read with the frame before. */
  let joinedShare = 0

  /** Called several times per frame. */
  const has = (kind: NetworkFault['kind'], server: string) => {
    for (const fault of faults) if (fault.kind === kind && fault.server === server) return true
    return false
  }
  const latencyMs = (server: string) => {
    let slowMs = 0
    for (const fault of faults)
      if (fault.kind === 'slow' && fault.server === server) slowMs += fault.slowMs ?? 0
    // Usually short, sometimes ten times as long.
    const usual = MIN_LATENCY_MS + random() * 40
    return Math.ceil(usual + (random.chance(0.01) ? usual * 10 : 0) + slowMs)
  }
  const ports = new Map<string, number>()
  /** Remembered by origin, because a world has few of them and asks many times a second. */
  const portOf = (url: string) => {
    const origin = url.slice(0, (url.indexOf('/', url.indexOf('//') + 2) + 1 || url.length + 1) - 1)
    let port = ports.get(origin)
    if (port === undefined) {
      port = Number(new URL(url).port)
      ports.set(origin, port)
    }
    return port
  }
  const serverAt = (url: string) => servers.get(portOf(url))

  /** Frames of one direction arrive in the order in which they were sent, even those in transit when a stall ended. */
  function direction(connection: () => Connection, isUp: boolean) {
    let lastMs = 0
    let isStalled = false
    const underWay: { readonly arrive: () => void; readonly isJoined: boolean; isDue: boolean }[] = []

    function deliver(arrive: () => void): void {
      const { process, client, remote, dead, cut } = connection()
      if (!connections.has(connection()) || (isUp ? dead.up : dead.down)) return
      const target = isUp ? remote : client
      // An end that no longer exists answers with a reset, which is also how a half-open connection ends.
      if (target.readyState === target.CLOSED) cut()
      else if (isUp) arrive()
      else process.reach(arrive)
    }

    function deliverDue(): void {
      const { server } = connection()
      while (!isStalled && underWay[0]?.isDue === true) {
        if (has('stall', server)) {
          isStalled = true
          stalled.push({ server, go: () => void time.after(latencyMs(server), goOn) })
        } else deliver((underWay.shift() as { arrive: () => void }).arrive)
      }
    }

    function goOn(): void {
      isStalled = false
      deliverDue()
    }

    return (arrive: () => void) => {
      const { server, dead } = connection()
      if (isUp ? dead.up : dead.down) return
      const isJoined = joinedShare > 0 && underWay.at(-1)?.isDue === false && random.chance(joinedShare)
      const frame = { arrive, isJoined, isDue: false }
      underWay.push(frame)
      if (isJoined) return
      const atMs = Math.max(lastMs, time.nowMs + latencyMs(server))
      lastMs = atMs
      time.after(atMs - time.nowMs, () => {
        frame.isDue = true
        for (const next of underWay.slice(underWay.indexOf(frame) + 1)) {
          if (!next.isJoined) break
          next.isDue = true
        }
        deliverDue()
      })
    }
  }

  function connect(
    process: SimulatedProcess,
    client: SimulatedSocket,
    { server, port }: Pick<Connection, 'server' | 'port'>,
    accept: (socket: SimulatedSocket) => void,
  ): void {
    const remote = new SimulatedSocket()
    client.peer = remote
    remote.peer = client
    const connection: Connection = {
      ...{ server, port, client, remote, process, dead: { up: false, down: false } },
      cut() {
        if (!connections.delete(connection)) return
        forget()
        process.reach(() => client.reset())
        remote.reset()
      },
    }
    const forget = process.onDeath(() => {
      client.deafen()
      if (!connections.delete(connection)) return
      time.after(latencyMs(server), () => remote.reset())
    })
    const up = direction(() => connection, true)
    const down = direction(() => connection, false)
    const end = (other: SimulatedSocket) => () => {
      // It is sent last, so it arrives last: everything in transit before it still arrives.
      const send = other === remote ? up : down
      send(() => {
        connections.delete(connection)
        forget()
        other.reset()
      })
    }
    client.attach({ carry: (_bytes, arrive) => up(arrive), reset: end(remote) })
    remote.attach({ carry: (_bytes, arrive) => down(arrive), reset: end(client) })
    remote.on('close', () => release())
    client.on('close', () => release())
    const release = () => {
      if (client.readyState !== client.CLOSED || remote.readyState !== remote.CLOSED) return
      connections.delete(connection)
      forget()
    }
    connections.add(connection)
    // Arrives before everything that the server sends while it accepts the connection.
    down(() => client.open())
    remote.open()
    accept(remote)
  }

  /** Who listens; the name is that of its faults. */
  const listenAs =
    (name: string): Listen =>
    async (endpoint) => {
      const port = nextPort++
      servers.set(port, { name, endpoint })
      return {
        port,
        async close() {
          servers.delete(port)
          for (const connection of [...connections]) if (connection.port === port) connection.cut()
        },
      }
    }

  const dialFor =
    (process: SimulatedProcess): Dial =>
    (url, headers = {}) => {
      const client = new SimulatedSocket()
      // Like the real dialler: an error always closes the socket, and pings are answered.
      client.on('error', () => {})
      client.on('ping', (data: Buffer) => client.pong(data))
      const server = serverAt(url)
      const name = server?.name ?? url
      const forget = process.onDeath(() => client.deafen())
      time.after(latencyMs(name), () => {
        forget()
        if (process.isDead || client.readyState !== client.CONNECTING) return
        if (has('unanswered', name) || has('stall', name)) return
        const now = serverAt(url)
        const fail = (text: string) => process.reach(() => client.fail(new Error(text)))
        if (now === undefined || has('cut', name)) return fail('connect ECONNREFUSED')
        const decision = now.endpoint.upgrade?.({ url: new URL(url), headers: lowerCase(headers) }) ?? 'cut'
        if (decision === 'cut') return fail('socket hang up')
        if ('refuse' in decision) {
          const status = Number(decision.refuse.slice(0, 3))
          return process.reach(() => client.refuse(status))
        }
        connect(process, client, { server: name, port: portOf(url) }, decision.accept)
      })
      return client as unknown as ReturnType<Dial>
    }

  const fetchFor =
    (process: SimulatedProcess): Fetch =>
    (url, init) =>
      new Promise((resolve, reject) => {
        if (process.isDead) return
        const server = serverAt(url)
        const name = server?.name ?? url
        open++
        let isOver = false
        const end = (settle: () => void) => {
          if (isOver) return
          isOver = true
          open--
          forget()
          init.signal.removeEventListener('abort', onAbort)
          process.reach(settle)
        }
        const fail = (cause: unknown) => end(() => reject(new TypeError('fetch failed', { cause })))
        const onAbort = () => fail(init.signal.reason)
        const forget = process.onDeath(() => end(() => {}))
        if (init.signal.aborted) return onAbort()
        init.signal.addEventListener('abort', onAbort, { once: true })
        time.after(latencyMs(name), () => {
          const now = serverAt(url)
          if (now === undefined || has('cut', name)) return fail(new Error('connect ECONNREFUSED'))
          if (has('unanswered', name) || has('stall', name)) return
          now.endpoint.answer(requestOf(url, init)).then((answer) => {
            if (answer === 'hang' || has('stall', name)) return
            time.after(latencyMs(name), () => {
              if (answer === 'cut' || has('cut', name)) return fail(new Error('socket hang up'))
              end(() => resolve(responseOf(answer, has('truncate', name))))
            })
          }, fail)
        })
      })

  return {
    listenAs,
    dialFor,
    fetchFor,
    /** From now on some frames arrive in one read with the frame before, so that no code runs between the two. */
    joinFrames(share: number): void {
      joinedShare = share
    },
    /** Until the returned function is called. */
    set(fault: NetworkFault): () => void {
      faults.add(fault)
      for (const connection of [...connections]) {
        if (connection.server !== fault.server) continue
        if (fault.kind === 'cut') connection.cut()
        if (fault.kind === 'half-open') connection.dead.down = true
        if (fault.kind === 'half-open-up') connection.dead.up = true
      }
      return () => {
        faults.delete(fault)
        if (fault.kind !== 'stall' || has('stall', fault.server)) return
        const waiting = stalled
        stalled = []
        for (const each of waiting)
          if (each.server === fault.server) each.go()
          else stalled.push(each)
      }
    },
    /** For the law about leaks. */
    counts: () => ({
      connections: connections.size,
      openRequests: open,
      unreadBytes: [...connections].reduce(
        (sum, { client, remote }) => sum + client.unreadBytes + remote.unreadBytes,
        0,
      ),
    }),
  }
}

const lowerCase = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

function requestOf(url: string, init: FetchInit) {
  const { pathname, searchParams } = new URL(url)
  return {
    method: init.method,
    path: pathname,
    query: searchParams,
    headers: lowerCase(init.headers),
    body: init.body ?? '',
  }
}

function responseOf(
  answer: { status: number; headers?: Readonly<Record<string, string>>; body: string },
  isTruncated: boolean,
): HttpResponse {
  const headers = lowerCase(answer.headers ?? {})
  const bytes = Buffer.from(answer.body)
  async function* read(): AsyncGenerator<Uint8Array> {
    if (!isTruncated) return yield bytes
    yield bytes.subarray(0, bytes.length >> 1)
    throw new TypeError('terminated', { cause: new Error('other side closed') })
  }
  return {
    status: answer.status,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    body: read(),
  }
}
