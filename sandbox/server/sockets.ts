/**
 * The WebSocket side of one venue. A socket is
 *
 *   upgraded ─▶ open ─▶ (renewed by pongs) ─▶ closed by: client · idle rule · lifetime · too slow · fault
 */
import { answerPings } from '../../src/kit/answer-pings.ts'
import { type Clock, runEvery } from '../../src/kit/clock.ts'
import { type Fault, type FaultSwitches, type FaultVenue, isRest } from './faults.ts'
import { type ServerSocket, SOCKET_OPEN, type UpgradeDecision, type UpgradeRequest } from './transport.ts'

/** A venue's rules for connections; omitted rules do not apply. */
export interface SocketRules {
  readonly pingEveryMs?: number
  /** If omitted, clients need not answer pings. */
  readonly pongWithinMs?: number
  readonly pingBody?: (nowMs: number) => string
  /** A socket is closed if nothing but acknowledgements was sent for this long. */
  readonly idleMs?: number
  readonly lifetimeMs?: number
  readonly maxConnections?: number
  readonly newConnections?: Rate
  readonly messages?: Rate
}

interface Rate {
  readonly max: number
  readonly windowMs: number
}

export interface VenueSocket {
  /** Sends acknowledgements, errors and pongs, which do not count for the idle rule. */
  reply(text: string): void
  /** Sends market data or the answer to a heartbeat. */
  sendData(frame: { text: string; isBroken?: boolean }): void
  cut(): void
}

export interface Session {
  receive(text: string): void
  closed(): void
  /** Called shortly before the venue ends the socket. */
  beforeEnd?(): void
  /** Whether a `drop` concerns this socket; if omitted, every drop does. */
  isConcerned?(drop: Fault): boolean
}

export interface Sockets {
  upgrade(request: UpgradeRequest): UpgradeDecision
  state(): SocketsState
  close(): Promise<void>
}

export interface SocketsState {
  readonly connections: number
  readonly connectionsOpened: number
  readonly framesDelivered: number
}

/** A client whose unsent data exceeds this is closed. */
const MAX_BUFFERED_BYTES = 32 * 1024 * 1024
const SLOW_READER = 1013
const GOING_AWAY = 1001
const CHECK_EVERY_MS = 1_000

interface OpenSocket {
  readonly ws: ServerSocket
  readonly session: Session
  readonly bornMs: number
  lastDataMs: number
  lastPongMs: number
  lastPingMs: number
}

export function createSockets(options: {
  venue: FaultVenue
  clock: Clock
  faults: FaultSwitches
  rules: SocketRules
  signal: AbortSignal
  /** The HTTP status line of a refusal, or undefined to accept. */
  refusal?: (request: UpgradeRequest) => string | undefined
  /** Undefined if the path does not exist. */
  open: (socket: VenueSocket, url: URL) => Session | undefined
}): Sockets {
  const { venue, clock, faults, rules, signal } = options
  const sockets = new Set<OpenSocket>()
  const mayConnect = createRateLimit(rules.newConnections, clock)
  let opened = 0
  let framesDelivered = 0

  const isHung = () => faults.find('hang', venue, { channel: '' }) !== undefined

  faults.onSet((fault) => {
    if (fault.venue !== venue || isRest(fault)) return
    if (fault.kind === 'maintenance') for (const { ws } of sockets) ws.close(GOING_AWAY, 'maintenance')
    if (fault.kind === 'drop')
      for (const { ws, session } of sockets) if (session.isConcerned?.(fault) ?? true) ws.terminate()
  })

  function accept(ws: ServerSocket, url: URL): void {
    const bornMs = clock.now()
    const mayReceive = createRateLimit(rules.messages, clock)
    const send = (text: string) => {
      if (ws.readyState !== SOCKET_OPEN || isHung()) return
      if (ws.bufferedAmount > MAX_BUFFERED_BYTES) return ws.close(SLOW_READER, 'slow reader')
      ws.send(text)
    }
    const socket: VenueSocket = {
      reply: send,
      sendData({ text, isBroken }) {
        framesDelivered++
        entry.lastDataMs = clock.now()
        send(isBroken === true ? text.slice(0, Math.ceil(text.length * 0.6)) : text)
      },
      cut: () => ws.terminate(),
    }
    const entry = { ws, bornMs, lastDataMs: bornMs, lastPongMs: bornMs, lastPingMs: bornMs }
    const session = options.open(socket, url)
    if (session === undefined) return void ws.close(1008, 'unknown path')
    opened++
    const own: OpenSocket = Object.assign(entry, { session })
    sockets.add(own)
    if (isWatched && !signal.aborted) watch()

    const isTooMany = () => {
      if (mayReceive()) return false
      ws.close(1008, 'Too many requests')
      return true
    }
    ws.on('message', (data) => {
      if (!isTooMany() && !isHung()) session.receive(data.toString())
    })
    answerPings(ws, () => !isTooMany() && !isHung())
    ws.on('pong', () => {
      entry.lastPongMs = clock.now()
    })
    ws.on('error', () => ws.terminate())
    ws.on('close', () => {
      sockets.delete(own)
      if (sockets.size === 0) unwatch()
      session.closed()
    })
  }

  function check(socket: OpenSocket, nowMs: number): void {
    const { ws, session } = socket
    const { pingEveryMs, pongWithinMs = Number.POSITIVE_INFINITY } = rules
    if (nowMs - socket.bornMs >= (rules.lifetimeMs ?? Number.POSITIVE_INFINITY)) {
      session.beforeEnd?.()
      return void ws.close(GOING_AWAY, 'lifetime')
    }
    if (nowMs - socket.lastDataMs >= (rules.idleMs ?? Number.POSITIVE_INFINITY))
      return void ws.close(1000, 'Inactive')
    if (pingEveryMs === undefined) return
    if (nowMs - socket.lastPongMs >= pingEveryMs + pongWithinMs) return void ws.terminate()
    if (nowMs - socket.lastPingMs >= pingEveryMs && !isHung() && ws.readyState === SOCKET_OPEN) {
      socket.lastPingMs = nowMs
      ws.ping(rules.pingBody?.(nowMs) ?? '')
    }
  }

  const isWatched =
    rules.pingEveryMs !== undefined || rules.idleMs !== undefined || rules.lifetimeMs !== undefined
  let endWatch: (() => void) | undefined
  /** The timer runs only while the venue has sockets. */
  function watch(): void {
    endWatch ??= runEvery(clock, CHECK_EVERY_MS, () => {
      const nowMs = clock.now()
      for (const socket of [...sockets]) check(socket, nowMs)
    })
  }
  function unwatch(): void {
    endWatch?.()
    endWatch = undefined
  }
  signal.addEventListener('abort', unwatch, { once: true })

  return {
    upgrade(request) {
      const refuse = options.refusal?.(request)
      if (refuse !== undefined) return { refuse }
      if (faults.hit('maintenance', venue, { channel: '' })) return { refuse: '503 Service Unavailable' }
      const isFull = sockets.size >= (rules.maxConnections ?? Number.POSITIVE_INFINITY)
      if (isFull || !mayConnect() || faults.hit('drop', venue, { channel: '' })) return 'cut'
      return { accept: (ws) => accept(ws, request.url) }
    },
    state: () => ({ connections: sockets.size, connectionsOpened: opened, framesDelivered }),
    async close() {
      for (const { ws } of sockets) ws.terminate()
    },
  }
}

/** True while fewer than `max` were let through within the window. */
function createRateLimit(rate: Rate | undefined, clock: Clock): () => boolean {
  if (rate === undefined) return () => true
  let times: number[] = []
  return () => {
    const nowMs = clock.now()
    times = times.filter((at) => at > nowMs - rate.windowMs)
    if (times.length >= rate.max) return false
    times.push(nowMs)
    return true
  }
}
