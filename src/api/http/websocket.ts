import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Environment } from '../../core/environment.ts'
import { ApiError } from '../../core/errors.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { DASHBOARD_API } from '../../dashboard/dashboard.ts'
import { errorReply } from '../../gate/error-reply.ts'
import type { StreamGate } from '../../gate/stream-gate.ts'
import { ActiveCounts } from '../../kit/active-counts.ts'
import { addressGroup } from '../../kit/ip-range.ts'
import type { Logger } from '../../kit/log.ts'
import { ignoreSocketErrors } from '../../kit/socket-errors.ts'
import type { StreamHub, StreamRefusal } from '../../stream/hub.ts'
import { CLOSE_CODES, MAX_MESSAGE_BYTES } from '../../stream/protocol.ts'
import type { StreamConnection } from '../../stream/session.ts'
import { callerAddress } from './caller-address.ts'
import { clientErrorReply } from './client-error.ts'
import { lastAnswer } from './last-answer.ts'
import { hostFault } from './one-host.ts'
import { splitTarget } from './target.ts'

/**
 * `/v1/ws`: accepts the upgrade, then checks the key. A refusal is a close code after the handshake, because browsers
 * do not show a page the answer of a refused handshake.
 */
export const WEBSOCKET_PATH = '/v1/ws'
/** The same for a browser that is signed in to the dashboard, with its cookie instead of a key. */
const SESSION_PATH = `${DASHBOARD_API}stream`

export interface StreamOptions {
  readonly gate: StreamGate
  readonly sessionGate?: StreamGate
  readonly log: Logger
  readonly nextId: () => string
  readonly hubs: Partial<Record<Environment, StreamHub>>
  /** Limit per address for connections whose key has not been checked yet, or was refused. */
  readonly maxPendingPerAddress: number
  readonly checkWithinMs?: number
  /** Whether the X-Forwarded-For header of this peer is trusted. */
  readonly isTrustedProxy: (address: string) => boolean
}

/** A key is checked within milliseconds; after many failures this takes some seconds. */
const CHECK_WITHIN_MS = 10_000
/** What a client may send before its key has been checked; pings count as messages. */
const MAX_EARLY_MESSAGES = 16
const MAX_EARLY_BYTES = MAX_MESSAGE_BYTES
/** Options of `ws` that its types lack. The connection ends if a close frame is not answered in time. */
const MORE_LIMITS = { closeTimeout: 5_000, maxFragments: 1_024 }
const GOODBYE_MS = 500
const MAX_DROPPED_BYTES = 256 * 1024
const MAX_REASON_BYTES = 120
/** The only version there is; `ws` would also accept 8, one of its drafts. */
export const WEBSOCKET_VERSION = '13'
/** Connections that were refused are closed within half a second. */
const RETRY_SECONDS = 1

export function acceptStreams(server: Server, options: StreamOptions): { close(): Promise<void> } {
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: MAX_MESSAGE_BYTES,
    // One read of a socket can contain ten thousand frames, so each is handled in its own turn.
    allowSynchronousEvents: false,
    ...MORE_LIMITS,
  })
  /**
   * Connections per address whose key has not been checked yet or was refused, so that clients without a key can hold
   * only a few.
   */
  const pending = new ActiveCounts<string>()

  function gateOf(request: IncomingMessage): StreamGate | undefined {
    const { path } = splitTarget(request.url)
    if (path === WEBSOCKET_PATH) return options.gate
    return path === SESSION_PATH ? options.sessionGate : undefined
  }

  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node has removed its own error listener.
    ignoreSocketErrors(socket)
    const gate = gateOf(request)
    const address = callerAddress(request.headers, request.socket, options.isTrustedProxy)
    const group = addressGroup(address)
    if (gate === undefined || pending.of(group) >= options.maxPendingPerAddress) {
      const id = options.nextId()
      endWith(socket, lastAnswer(errorReply(tooManyPending(), id, request.headers.accept), id))
      return
    }
    const settle = pending.add(group)
    socket.once('close', settle)
    sockets.handleUpgrade(request, socket, head, (client) =>
      accept(client, socket, { request, address, gate, settle, options }),
    )
  }
  sockets.on('wsClientError', (error, socket) => {
    const id = options.nextId()
    endWith(socket, lastAnswer(clientErrorReply(400, `${error.message}.`, id), id))
  })
  server.on('upgrade', onUpgrade)
  const platform: Server & Partial<UpgradeChoice> = server
  platform.shouldUpgradeCallback = (request) => asksForWebSocket(request) && gateOf(request) !== undefined
  return {
    async close() {
      platform.shouldUpgradeCallback = () => false
      server.off('upgrade', onUpgrade)
      await Promise.all(Object.values(options.hubs).map((hub) => hub.close()))
      sockets.close()
    },
  }
}

function tooManyPending(): ApiError {
  const text = 'Too many connections of this address wait for their key to be checked, or were refused.'
  return new ApiError('rate_limited', text, { retry_after: RETRY_SECONDS }, [
    ['Retry-After', String(RETRY_SECONDS)],
  ])
}

function endWith(socket: Duplex, answer: string): void {
  socket.once('finish', () => socket.destroy())
  socket.end(answer)
}

/** A property of Node's server that its types only have as an option. */
interface UpgradeChoice {
  shouldUpgradeCallback: (request: IncomingMessage) => boolean
}

/** Other upgrades are ignored, and the request is answered as plain HTTP. */
function asksForWebSocket(request: IncomingMessage): boolean {
  const { method, headers } = request
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false
  if (hostFault(request) !== undefined || headers['sec-websocket-version'] !== WEBSOCKET_VERSION) return false
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
}

/**
 * A new connection:
 *
 *   pending (its key is looked up; nothing is sent to it) ──▶ open (the hub has it) ──▶ closed
 *      └── refused, flooding, or not decided in time ──▶ closing ──▶ closed
 */
function accept(
  socket: WebSocket,
  raw: Duplex,
  entry: {
    readonly request: IncomingMessage
    readonly address: string
    readonly gate: StreamGate
    /** To be called when the connection is no longer pending. */
    readonly settle: () => void
    readonly options: StreamOptions
  },
): void {
  const { request, address, gate, settle, options } = entry
  // Emitted for an invalid frame; `ws` sends the close frame.
  socket.on('error', () => {
    cutSoon(socket)
    stopReadingSoon(raw)
  })
  const early: EarlyFrame[] = []
  let earlyBytes = 0
  const keep = (frame: EarlyFrame) => {
    earlyBytes += frame.data.length
    if (early.length < MAX_EARLY_MESSAGES && earlyBytes <= MAX_EARLY_BYTES) early.push(frame)
    else {
      early.length = 0
      stopKeeping()
      refuse(socket, { code: CLOSE_CODES.tooMany, reason: 'too many messages before the key was checked' })
    }
  }
  const keepMessage = (data: Buffer) => keep({ kind: 'message', data })
  const keepPing = (data: Buffer) => keep({ kind: 'ping', data })
  const keepPong = (data: Buffer) => keep({ kind: 'pong', data })
  socket.on('message', keepMessage)
  socket.on('ping', keepPing)
  socket.on('pong', keepPong)
  const late = setTimeout(() => {
    refuse(socket, { code: CLOSE_CODES.tryLater, reason: 'the key could not be checked in time' })
  }, options.checkWithinMs ?? CHECK_WITHIN_MS)
  socket.once('close', () => clearTimeout(late))
  function stopKeeping(): void {
    clearTimeout(late)
    socket.off('message', keepMessage)
    socket.off('ping', keepPing)
    socket.off('pong', keepPong)
  }

  gate
    .admit({ headers: request.headers, search: splitTarget(request.url).search, address })
    .then((entered) => {
      stopKeeping()
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
      settle()
      const receive = ({ kind, data }: EarlyFrame) => {
        client.alive()
        if (kind === 'ping') client.ping(data)
        else if (kind === 'pong') client.pong()
        else client.receive(data.toString('utf8'))
      }
      socket.on('message', (data: Buffer) => receive({ kind: 'message', data }))
      socket.on('ping', (data) => receive({ kind: 'ping', data }))
      socket.on('pong', (data) => receive({ kind: 'pong', data }))
      socket.on('close', () => client.closed())
      for (const frame of early.splice(0)) receive(frame)
    })
    .catch((error) => {
      stopKeeping()
      refuse(socket, refusalOf(error, options.log))
    })
}

interface EarlyFrame {
  readonly kind: 'message' | 'ping' | 'pong'
  readonly data: Buffer
}

function refusalOf(error: unknown, log: Logger): StreamRefusal {
  if (error instanceof StoreUnavailableError)
    return { code: CLOSE_CODES.tryLater, reason: 'the key could not be checked; connect again later' }
  if (!(error instanceof ApiError)) {
    log.error({ err: error }, 'a stream could not be opened')
    return { code: 1011, reason: 'internal error' }
  }
  if (error.status === 401) return { code: CLOSE_CODES.unauthorised, reason: error.message }
  if (error.status === 429) return { code: CLOSE_CODES.tooMany, reason: error.message }
  return { code: CLOSE_CODES.forbidden, reason: error.message }
}

function refuse(socket: WebSocket, { code, reason }: StreamRefusal): void {
  if (socket.readyState !== socket.OPEN) return
  socket.close(code, shortReason(reason))
  // A slow reader still has to read what was sent before; all others are disconnected soon.
  if (code === CLOSE_CODES.tooSlow) return
  cutSoon(socket)
}

function cutSoon(socket: WebSocket): void {
  const cut = setTimeout(() => socket.terminate(), GOODBYE_MS)
  socket.once('close', () => clearTimeout(cut))
}

/**
 * After an invalid frame `ws` reads and drops everything that follows, so a flooding client would leave many megabytes
 * behind.
 */
function stopReadingSoon(raw: Duplex): void {
  let bytes = 0
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_DROPPED_BYTES) raw.pause()
  })
}

function connectionOf(socket: WebSocket, raw: Duplex): StreamConnection {
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
    pong(data) {
      if (socket.readyState === socket.OPEN) socket.pong(data)
    },
    terminate: () => socket.terminate(),
  }
}

/** The reason in a close frame has room for 123 bytes. */
function shortReason(text: string): string {
  let short = text
  while (Buffer.byteLength(short) > MAX_REASON_BYTES) short = short.slice(0, -1)
  return short
}
