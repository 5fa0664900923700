/**
 * The WebSocket side of one venue. A socket is
 *
 *   upgraded ─▶ open ─▶ (renewed by pongs) ─▶ closed by: client · idle rule · lifetime · too slow · fault
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { answerPings } from '../../../src/kit/answer-pings.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import { ignoreSocketErrors } from '../../../src/kit/socket-errors.ts'
import type { Venue } from '../world/markets.ts'
import type { Faults } from './faults.ts'
import type { Frame } from './frame-faults.ts'
import type { Hub, Listener } from './hub.ts'

export interface SocketRules {
  /** Server pings; 0 where the venue sends none. */
  readonly pingEveryMs: number
  readonly pongWithinMs: number
  /** Closed when nothing but acknowledgements was sent for so long; 0 for no such rule. */
  readonly idleMs: number
  readonly lifetimeMs: number
  readonly maxConnections: number
  readonly maxNewConnections: number
  readonly newConnectionsWindowMs: number
  readonly maxStreams: number
  readonly maxMessages: number
  readonly messagesWindowMs: number
}

export interface VenueSocket extends Listener {
  readonly streams: Set<string>
  /** Sends the venue's own words (acknowledgements, errors), which the idle rule does not count. */
  say(text: string): void
  /** Sends text that is market data or a heartbeat answer. */
  sendData(text: string): void
  /** A frame for this socket alone, such as a replay; a muted symbol stays silent here too. */
  deliverAlone(frame: Frame): void
  subscribe(stream: string): void
  unsubscribe(stream: string): void
  cut(): void
}

export interface Session {
  /** How this socket wraps a frame. */
  render(frame: Frame): string
  receive(text: string): void
  /** Told shortly before the venue ends the socket's life. */
  beforeEnd?(): void
}

export interface Sockets {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  count(): number
  opened(): number
  close(): Promise<void>
}

interface OpenSocket {
  check(nowMs: number): void
  /** Whether one of its streams fits; the empty name stands for the socket itself. */
  isAbout(matches: (stream: string) => boolean): boolean
  cut(): void
}

/** A listener that lets this much pile up is cut. */
const MAX_BUFFERED_BYTES = 32 * 1024 * 1024
const CHECK_EVERY_MS = 1_000

export function createSockets(options: {
  venue: Venue
  clock: Clock
  faults: Faults
  hub: Hub
  rules: SocketRules
  signal: AbortSignal
  /** undefined: the path does not exist. */
  openSession: (url: URL, socket: VenueSocket) => Session | undefined
}): Sockets {
  const { venue, clock, faults, hub, rules, signal } = options
  // Pongs are sent by hand: a hanging venue does not answer pings.
  const server = new WebSocketServer({
    noServer: true,
    autoPong: false,
    perMessageDeflate: false,
    maxPayload: 65_536,
  })
  const open = new Map<WebSocket, OpenSocket>()
  let recentOpens: number[] = []
  let opened = 0

  const isHung = () => faults.find('hang', venue, { channel: '' }) !== undefined

  faults.onSet((fault) => {
    if (fault.kind !== 'drop' || fault.venue !== venue || fault.channel === 'rest') return
    for (const entry of open.values())
      if (entry.isAbout((stream) => matchesStream(fault, stream))) entry.cut()
  })

  function refuses(): boolean {
    const nowMs = clock.now()
    recentOpens = recentOpens.filter((at) => at > nowMs - rules.newConnectionsWindowMs)
    if (recentOpens.length >= rules.maxNewConnections || open.size >= rules.maxConnections) return true
    recentOpens.push(nowMs)
    return false
  }

  function accept(ws: WebSocket, url: URL, wire: Duplex): void {
    ignoreSocketErrors(ws)
    const bornMs = clock.now()
    let lastDataMs = bornMs
    let lastPongMs = bornMs
    let lastPingMs = bornMs
    let messages: number[] = []
    const send = (text: string) => {
      if (ws.readyState !== WebSocket.OPEN || isHung()) return
      if (ws.bufferedAmount > MAX_BUFFERED_BYTES) return ws.terminate()
      ws.send(text)
    }
    const socket: VenueSocket = {
      streams: new Set(),
      say: send,
      sendData(text) {
        lastDataMs = clock.now()
        send(text)
      },
      deliver(frame) {
        const text = session?.render(frame) ?? ''
        socket.sendData(frame.isBroken === true ? text.slice(0, Math.ceil(text.length * 0.6)) : text)
      },
      hold: () => wire.cork(),
      release: () => wire.uncork(),
      deliverAlone(frame) {
        if (faults.hit('mute', venue, frame) === undefined) socket.deliver(frame)
      },
      subscribe(stream) {
        socket.streams.add(stream)
        const drop = faults
          .list()
          .find((fault) => fault.kind === 'drop' && fault.venue === venue && fault.channel !== 'rest')
        if (drop !== undefined && matchesStream(drop, stream)) socket.cut()
        else hub.add(stream, socket)
      },
      unsubscribe(stream) {
        socket.streams.delete(stream)
        hub.remove(stream, socket)
      },
      cut: () => ws.terminate(),
    }
    const session = options.openSession(url, socket)
    if (session === undefined) {
      ws.close(1008, 'unknown path')
      return
    }
    opened++

    const isTooChatty = () => {
      const nowMs = clock.now()
      messages = messages.filter((at) => at > nowMs - rules.messagesWindowMs)
      return messages.push(nowMs) > rules.maxMessages
    }
    ws.on('message', (data) => {
      if (isTooChatty()) return ws.close(1008, 'Too many requests')
      if (!isHung()) session.receive(data.toString())
    })
    answerPings(ws, () => {
      if (!isTooChatty()) return !isHung()
      ws.close(1008, 'Too many requests')
      return false
    })
    ws.on('pong', () => {
      lastPongMs = clock.now()
    })
    ws.on('error', () => ws.terminate())
    ws.on('close', () => {
      hub.removeAll(socket)
      open.delete(ws)
    })
    open.set(ws, {
      isAbout: (matches) => [...socket.streams].some(matches) || matches(''),
      cut: socket.cut,
      check(nowMs) {
        if (nowMs - bornMs >= rules.lifetimeMs) {
          session.beforeEnd?.()
          return ws.close(1001, 'lifetime')
        }
        if (rules.idleMs > 0 && nowMs - lastDataMs >= rules.idleMs) return ws.close(1000, 'Inactive')
        if (rules.pingEveryMs === 0) return
        if (nowMs - lastPongMs >= rules.pingEveryMs + rules.pongWithinMs) return ws.terminate()
        if (nowMs - lastPingMs >= rules.pingEveryMs && !isHung()) {
          lastPingMs = nowMs
          ws.ping(String(nowMs))
        }
      },
    })
  }

  async function watch(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(CHECK_EVERY_MS, signal)
      const nowMs = clock.now()
      for (const entry of [...open.values()]) entry.check(nowMs)
    }
  }
  watch().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })

  return {
    upgrade(request, socket, head) {
      ignoreSocketErrors(socket)
      if (refuses() || faults.hit('drop', venue, { channel: '' }) !== undefined) return void socket.destroy()
      const url = new URL(request.url ?? '/', 'http://loopback')
      server.handleUpgrade(request, socket, head, (ws) => accept(ws, url, socket))
    },
    count: () => open.size,
    opened: () => opened,
    close: () =>
      new Promise((resolve) => {
        for (const ws of open.keys()) ws.terminate()
        server.close(() => resolve())
      }),
  }
}

/** A drop without symbol and channel concerns every socket; otherwise those with such a stream. */
function matchesStream(fault: { symbol?: string; channel?: string }, stream: string): boolean {
  if (fault.symbol === undefined && fault.channel === undefined) return true
  if (stream === '') return false
  const [about = '', channel = ''] = stream.split('@')
  const symbolFits = fault.symbol === undefined || about.toUpperCase().startsWith(fault.symbol)
  const channelFits =
    fault.channel === undefined ||
    channel.replace(/_.*$/, '').replace(/^depth\d+$/, 'depth') === fault.channel
  return symbolFits && channelFits
}
