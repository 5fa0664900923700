/**
 * One POST to a receiver, on connections that are kept per host.
 *
 *   opening ──▶ busy ──response complete──▶ idle ──post──▶ busy …
 *      └── no longer wanted ──▶ closed
 *                 └── broken, cut off, or not to be used again ──▶ closed
 *
 * The connection resolves the name through the guard, so it goes to a checked address, with the original host for TLS
 * and in the `Host` header. A redirect is a response like any other.
 */
import { isIP, type Socket } from 'node:net'
import type { buildConnector, Dispatcher } from 'undici'
import { runAfter } from '../kit/clock.ts'
import { httpClient } from '../kit/http-client.ts'
import { type Exchange, type ExchangeResult, type ReceiverConnection, startExchange } from './exchange.ts'
import { type Guard, hostOf } from './guard.ts'
import type { Poster, PosterOptions, PostResult } from './poster.ts'
import { limitResponseBytes, MAX_HEAD_BYTES } from './response-bytes.ts'

/** From the first byte sent to the end of the response. A body that takes longer is cut off. */
const ANSWER_LIMIT_MS = 15_000
const MAX_IDLE_PER_HOST = 16
const IDLE_MS = 20_000
/** We close an idle connection this long before the receiver would, so that no request meets a closing connection. */
const IDLE_MARGIN_MS = 1_000

interface Pool {
  readonly origin: string
  readonly connect: (callback: buildConnector.Callback) => Socket
  /** The most recently used connection is at the end and is used first. */
  readonly idle: ReceiverConnection[]
  readonly open: Set<ReceiverConnection>
}

/** Includes the second try, if there is one; both share one time limit. */
interface RunningPost {
  readonly startedMs: number
  readonly isWanted: () => boolean
  expire: () => void
}

export function createPoster(options: PosterOptions): Poster {
  const { guard, clock, answerLimitMs: limitMs = ANSWER_LIMIT_MS } = options
  const pools = new Map<string, Pool>()
  /** Oldest first. All have the same limit, so one timer for the oldest is enough. */
  const running = new Set<RunningPost>()
  let cancelCheck: (() => void) | undefined
  let closed = false

  function checkLimits(): void {
    const nowMs = clock.now()
    for (const post of running) {
      const leftMs = post.startedMs + limitMs - nowMs
      // More than the limit is left if the clock was set back.
      if (leftMs > 0 && leftMs <= limitMs) break
      running.delete(post)
      post.expire()
    }
    const [oldest] = running
    if (cancelCheck !== undefined || oldest === undefined) return
    cancelCheck = runAfter(clock, oldest.startedMs + limitMs - nowMs, () => {
      cancelCheck = undefined
      checkLimits()
    })
  }

  function poolOf(url: URL): Pool {
    const { origin } = url
    let pool = pools.get(origin)
    if (pool === undefined) {
      pool = { origin, connect: connectorTo(url, guard), idle: [], open: new Set() }
      pools.set(origin, pool)
    }
    return pool
  }

  function openConnection(pool: Pool): ReceiverConnection {
    const client = new (httpClient().Client)(pool.origin, {
      connect(_options, callback) {
        connection.exchanges = 0
        connection.bytes = undefined
        connection.socket = pool.connect((...result) => {
          const [error, socket] = result
          if (error === null && !connection.isWanted()) {
            socket.destroy()
            callback(new Error('no longer wanted'), null)
            return
          }
          if (error === null) connection.bytes = limitResponseBytes(socket)
          callback(...result)
        })
      },
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      // The whole exchange has one limit, see postOn.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const connection: ReceiverConnection = {
      ...{ client, socket: undefined, bytes: undefined, exchanges: 0 },
      isWanted: () => true,
    }
    // The connection was idle for too long or was closed by the receiver.
    client.on('disconnect', () => {
      if (pool.idle.includes(connection)) close(pool, connection)
    })
    pool.open.add(connection)
    return connection
  }

  function close(pool: Pool, connection: ReceiverConnection): void {
    const place = pool.idle.indexOf(connection)
    if (place !== -1) pool.idle.splice(place, 1)
    pool.open.delete(connection)
    if (pool.open.size === 0 && pools.get(pool.origin) === pool) pools.delete(pool.origin)
    void connection.client.destroy()
    // A client that is still connecting does not destroy its socket.
    connection.socket?.destroy()
  }

  function postOn(
    pool: Pool,
    connection: ReceiverConnection,
    request: Dispatcher.DispatchOptions,
    post: RunningPost,
  ): Promise<PostResult | 'stale'> {
    connection.isWanted = post.isWanted
    return new Promise((resolve) => {
      const durationMs = () => Math.max(0, Math.round(clock.now() - post.startedMs))
      let exchange: Exchange | undefined
      post.expire = () => {
        const head = exchange?.head
        const result: ExchangeResult =
          head === undefined
            ? { kind: 'failed', error: `no answer within ${limitMs / 1_000} s` }
            : { kind: 'answered', head, body: null, isComplete: false }
        resolve({ ...resultOf(result), durationMs: durationMs() })
        close(pool, connection)
      }
      exchange = startExchange(connection, request, (result) => {
        const isReusable = result.kind === 'answered' && result.isComplete
        if (isReusable && !closed && pool.idle.length < MAX_IDLE_PER_HOST) pool.idle.push(connection)
        else close(pool, connection)
        resolve(result.kind === 'stale' ? 'stale' : { ...resultOf(result), durationMs: durationMs() })
      })
    })
  }

  return {
    prepare: () => void httpClient(),
    async post(url, headers, body, isWanted = () => true) {
      if (closed) return { ...NOTHING, error: 'the service is ending' }
      const request = { method: 'POST', path: `${url.pathname}${url.search}`, headers, body } as const
      const post: RunningPost = { startedMs: clock.now(), isWanted, expire() {} }
      running.add(post)
      if (cancelCheck === undefined) checkLimits()
      try {
        const pool = poolOf(url)
        const first = await postOn(pool, pool.idle.pop() ?? openConnection(pool), request, post)
        if (first !== 'stale') return first
        const fresh = poolOf(url)
        const second =
          closed || !isWanted() ? first : await postOn(fresh, openConnection(fresh), request, post)
        return second === 'stale' ? { ...NOTHING, error: 'connection failed: ECONNRESET' } : second
      } finally {
        running.delete(post)
      }
    },
    close() {
      closed = true
      cancelCheck?.()
      for (const pool of [...pools.values()]) {
        for (const connection of [...pool.open]) close(pool, connection)
      }
    },
  }
}

/** Connects to the host of a URL, only at addresses that the guard has checked. */
function connectorTo(url: URL, guard: Guard): Pool['connect'] {
  const protocol = url.protocol === 'https:' ? 'https:' : 'http:'
  const hostname = hostOf(url)
  const connect = httpClient().buildConnector({ lookup: guard.lookup(protocol), allowH2: false, timeout: 0 })
  const target = {
    protocol,
    hostname,
    port: url.port,
    ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
  }
  // It returns the socket immediately, although its type does not say so.
  return (callback) => connect(target, callback) as unknown as Socket
}

const NOTHING = { status: null, retryAfter: undefined, durationMs: 0, responseHead: null, response: null }

function resultOf(result: Exclude<ExchangeResult, { kind: 'stale' }>): Omit<PostResult, 'durationMs'> {
  if (result.kind === 'failed') return { ...NOTHING, error: result.error }
  const { status, retryAfter, text } = result.head
  return { status, error: null, retryAfter, responseHead: text, response: result.body }
}
