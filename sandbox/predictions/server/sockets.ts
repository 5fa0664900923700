/**
 * WebSocket connections of one service. Data frames pass the fault stage of their socket:
 *
 *   publish ─▶ frozen? muted? hung? ─▶ cut in the middle? ─▶ swapped with the next? ─▶ sent (twice?)
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import { answerPings } from '../../../src/kit/answer-pings.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import { ignoreSocketErrors } from '../../../src/kit/socket-errors.ts'
import { type Faults, isRest, type Venue } from './faults.ts'

export interface Frame {
  /** Event type or topic. */
  readonly channel: string
  readonly symbol?: AssetSymbol | undefined
  readonly text: string
  /** Frames of a book or its trades stop while it is frozen. */
  readonly isMarket?: boolean
}

export interface Socket {
  /** Data, subject to faults. */
  publish(frame: Frame): void
  /** The venue's own words: acknowledgements, errors, pongs. */
  say(text: string): void
  close(code: number, reason: string): void
}

export interface Session {
  receive(text: string): void
  closed(): void
}

export interface SocketServer {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  count(): number
  opened(): number
  frames(): number
  close(): Promise<void>
}

/** A reader that lets this much pile up is closed. */
const MAX_BUFFERED_BYTES = 32 * 1024 * 1024
const SLOW_READER = 1013

export function createSocketServer(options: {
  venue: Venue
  clock: Clock
  faults: Faults
  signal: AbortSignal
  paths: readonly string[]
  maxConnections: number
  /** 0 where the venue sends no pings. */
  pingEveryMs: number
  pingBody: string
  /** The HTTP status line of a refusal, or undefined to accept. */
  authorize?: (request: IncomingMessage) => string | undefined
  open: (socket: Socket) => Session
}): SocketServer {
  const { venue, clock, faults, signal } = options
  const server = new WebSocketServer({
    noServer: true,
    autoPong: false,
    perMessageDeflate: false,
    maxPayload: 262_144,
  })
  const sockets = new Set<WebSocket>()
  let opened = 0
  let frames = 0

  const isHung = () => faults.find('hang', venue, { channel: '' }) !== undefined
  faults.onSet((fault) => {
    if (fault.kind === 'drop' && fault.venue === venue && !isRest(fault))
      for (const ws of sockets) ws.terminate()
  })

  function accept(ws: WebSocket): void {
    let held: string | undefined
    const send = (text: string) => {
      if (ws.readyState !== WebSocket.OPEN || isHung()) return
      if (ws.bufferedAmount > MAX_BUFFERED_BYTES) return ws.close(SLOW_READER, 'slow reader')
      ws.send(text)
    }
    const sendData = (text: string) => {
      frames++
      send(text)
    }
    const socket: Socket = {
      say: send,
      close: (code, reason) => ws.close(code, reason),
      publish(frame) {
        if (faults.list().length === 0 && held === undefined) return sendData(frame.text)
        if (frame.isMarket === true && faults.hit('frozen-book', venue, frame)) return
        if (faults.hit('mute', venue, frame) ?? faults.hit('hang', venue, frame)) return
        const text = faults.hit('malformed', venue, frame)
          ? frame.text.slice(0, Math.ceil(frame.text.length * 0.6))
          : frame.text
        if (held !== undefined) {
          const late = held
          held = undefined
          sendData(text)
          sendData(late)
          return
        }
        if (faults.hit('reorder', venue, frame)) {
          held = text
          return
        }
        sendData(text)
        if (faults.hit('duplicate', venue, frame)) sendData(text)
      },
    }
    opened++
    sockets.add(ws)
    const session = options.open(socket)
    ws.on('message', (data) => {
      if (!isHung()) session.receive(data.toString())
    })
    answerPings(ws, () => !isHung())
    ws.on('error', () => ws.terminate())
    ws.on('close', () => {
      sockets.delete(ws)
      session.closed()
    })
  }

  async function keepAlive(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(options.pingEveryMs, signal)
      if (isHung()) continue
      for (const ws of sockets) if (ws.readyState === WebSocket.OPEN) ws.ping(options.pingBody)
    }
  }
  if (options.pingEveryMs > 0) keepAlive().catch(() => undefined)

  return {
    upgrade(request, socket, head) {
      ignoreSocketErrors(socket)
      const path = new URL(request.url ?? '/', 'http://loopback').pathname
      const refusal = options.paths.includes(path) ? options.authorize?.(request) : '404 Not Found'
      if (refusal !== undefined)
        return void socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
      if (sockets.size >= options.maxConnections || faults.hit('drop', venue, { channel: '' }))
        return void socket.destroy()
      server.handleUpgrade(request, socket, head, accept)
    },
    count: () => sockets.size,
    opened: () => opened,
    frames: () => frames,
    close: () =>
      new Promise((resolve) => {
        for (const ws of sockets) ws.terminate()
        server.close(() => resolve())
      }),
  }
}
