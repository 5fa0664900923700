import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Environment } from '../../core/environment.ts'
import { ApiError } from '../../core/errors.ts'
import { DASHBOARD_API } from '../../dashboard/dashboard.ts'
import type { StreamDoor } from '../../gate/stream-door.ts'
import type { Logger } from '../../kit/log.ts'
import type { ClientConnection, Hub, Refusal } from '../../stream/hub.ts'
import { CLOSE_CODES, LONGEST_MESSAGE_BYTES } from '../../stream/protocol.ts'
import { callerAddress } from './caller-address.ts'
import { splitTarget } from './target.ts'

/**
 * `/v1/ws`: takes the upgrade, then the key. A refusal comes after the handshake, as a close code, because a
 * browser shows its page nothing of a refused handshake.
 */
export const STREAM_PATH = '/v1/ws'
/** The same for a browser that is signed in to the dashboard: its cookie takes the place of the key. */
const SESSION_PATH = `${DASHBOARD_API}stream`

export interface StreamOptions {
  readonly door: StreamDoor
  readonly sessionDoor?: StreamDoor
  readonly log: Logger
  readonly hubs: Partial<Record<Environment, Hub>>
  /** Whether a peer's X-Forwarded-For is believed. */
  readonly isTrustedProxy: (address: string) => boolean
}

/** Messages of a client that come before its key is looked up. */
const MOST_EARLY_MESSAGES = 16
const LONGEST_REASON_BYTES = 120

export function acceptStreams(server: Server, options: StreamOptions): { close(): Promise<void> } {
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: LONGEST_MESSAGE_BYTES,
  })
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { path } = splitTarget(request.url)
    const door = path === STREAM_PATH ? options.door : path === SESSION_PATH ? options.sessionDoor : undefined
    if (door === undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (client) =>
      accept(client, socket, request, { ...options, door }),
    )
  }
  server.on('upgrade', onUpgrade)
  return {
    async close() {
      server.off('upgrade', onUpgrade)
      await Promise.all(Object.values(options.hubs).map((hub) => hub.close()))
      sockets.close()
    },
  }
}

function accept(socket: WebSocket, raw: Duplex, request: IncomingMessage, options: StreamOptions): void {
  const early: string[] = []
  const keepEarly = (data: Buffer) => {
    if (early.length < MOST_EARLY_MESSAGES) early.push(data.toString('utf8'))
    else socket.close(CLOSE_CODES.tooMany, 'too many messages')
  }
  socket.on('message', keepEarly)
  // Whatever breaks a connection also closes it; `close` is where that is dealt with.
  socket.on('error', () => {})
  options.door
    .enter({
      headers: request.headers,
      search: splitTarget(request.url).search,
      address: callerAddress(request.headers, request.socket, options.isTrustedProxy),
    })
    .then((entered) => {
      socket.off('message', keepEarly)
      if (socket.readyState !== socket.OPEN) return
      const { accountId, plan, environment } = entered.credential
      const hub = options.hubs[environment]
      if (hub === undefined) {
        refuse(socket, { code: CLOSE_CODES.forbidden, reason: 'the environment of the key is not running' })
        return
      }
      const recheck = async () => {
        const error = await entered.recheck()
        return error && refusalOf(error, options.log)
      }
      const client = hub.open(connectionOf(socket, raw), { accountId, plan, recheck })
      if (client === undefined) return
      socket.on('message', (data: Buffer) => {
        client.alive()
        client.receive(data.toString('utf8'))
      })
      socket.on('pong', () => client.alive())
      socket.on('close', () => client.closed())
      for (const text of early) client.receive(text)
    })
    .catch((error) => refuse(socket, refusalOf(error, options.log)))
}

function refusalOf(error: unknown, log: Logger): Refusal {
  if (!(error instanceof ApiError)) {
    log.error({ err: error }, 'a stream could not be opened')
    return { code: 1011, reason: 'internal error' }
  }
  if (error.status === 401) return { code: CLOSE_CODES.unauthorised, reason: error.message }
  if (error.status === 429) return { code: CLOSE_CODES.tooMany, reason: error.message }
  return { code: CLOSE_CODES.forbidden, reason: error.message }
}

function refuse(socket: WebSocket, { code, reason }: Refusal): void {
  if (socket.readyState === socket.OPEN) socket.close(code, shortReason(reason))
}

function connectionOf(socket: WebSocket, raw: Duplex): ClientConnection {
  return {
    send(frame) {
      if (socket.readyState === socket.OPEN) socket.send(frame, { binary: false })
    },
    get unsentBytes() {
      return socket.bufferedAmount
    },
    hold: () => raw.cork(),
    flush: () => raw.uncork(),
    close: (code, reason) => refuse(socket, { code, reason }),
    ping() {
      if (socket.readyState === socket.OPEN) socket.ping()
    },
    terminate: () => socket.terminate(),
  }
}

/** A close frame has room for 123 bytes of reason. */
function shortReason(text: string): string {
  let short = text
  while (Buffer.byteLength(short) > LONGEST_REASON_BYTES) short = short.slice(0, -1)
  return short
}
