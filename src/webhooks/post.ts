import { type Connection, type Origin, type Outcome, openConnection } from './connection.ts'
import { type Guard, hostOf, TargetError } from './guard.ts'
import { AnswerError } from './read-answer.ts'

/**
 * One POST to a receiver: connections are kept per host, redirects are answers like any other. The requests of
 * `node:http` cost more than everything else about a delivery, hence the connections of our own.
 */
export interface Poster {
  /** Never rejects: whatever goes wrong is a failed post. The header lines end with a line end each. */
  post(url: URL, headerLines: string, body: string): Promise<PostResult>
  close(): void
}

export interface PostResult {
  readonly status: number | null
  readonly error: string | null
  readonly retryAfter: string | undefined
  readonly durationMs: number
  /** How the answer's head and body began; null without them. */
  readonly responseHead: string | null
  readonly response: string | null
}

/** From the first byte out to the answer in; a body that goes on longer is not waited for. */
export const ANSWER_LIMIT_MS = 15_000
const MAX_IDLE_PER_HOST = 16
const SWEEP_MS = 5_000

interface Pool {
  readonly origin: Origin
  /** The one that was used last stands last and is used first. */
  readonly idle: Connection[]
  readonly open: Set<Connection>
}

/** What is the same for every request to a URL. */
interface Route {
  readonly pool: Pool
  readonly head: string
}

export function createPoster(options: { guard: Guard; answerLimitMs?: number }): Poster {
  const limitMs = options.answerLimitMs ?? ANSWER_LIMIT_MS
  const lookups = { 'https:': options.guard.lookup('https:'), 'http:': options.guard.lookup('http:') }
  const pools = new Map<string, Pool>()
  const routes = new WeakMap<URL, Route>()
  let closed = false

  function poolOf(url: URL): Pool {
    const secure = url.protocol === 'https:'
    const name = url.origin
    const known = pools.get(name)
    if (known !== undefined) return known
    const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port)
    const lookup = lookups[secure ? 'https:' : 'http:']
    const origin = { secure, host: hostOf(url), port, lookup, session: undefined }
    const pool: Pool = { origin, idle: [], open: new Set() }
    pools.set(name, pool)
    return pool
  }

  function routeOf(url: URL): Route {
    const known = routes.get(url)
    if (known !== undefined && pools.get(url.origin) === known.pool) return known
    const head = `POST ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: keep-alive\r\n`
    const route = { pool: poolOf(url), head }
    routes.set(url, route)
    return route
  }

  function take(pool: Pool): Connection {
    const nowMs = performance.now()
    for (let kept = pool.idle.pop(); kept !== undefined; kept = pool.idle.pop()) {
      if (kept.idle && nowMs < kept.idleUntilMs) return kept
      drop(pool, kept)
    }
    return openNew(pool)
  }

  function openNew(pool: Pool): Connection {
    const fresh = openConnection(pool.origin, (connection) => {
      if (closed || pool.idle.length >= MAX_IDLE_PER_HOST) drop(pool, connection)
      else pool.idle.push(connection)
    })
    pool.open.add(fresh)
    return fresh
  }

  function drop(pool: Pool, connection: Connection): void {
    pool.open.delete(connection)
    connection.destroy()
  }

  function postOn(pool: Pool, connection: Connection, request: string): Promise<PostResult | 'stale'> {
    const startedMs = performance.now()
    const { usedBefore } = connection
    return new Promise((resolve) => {
      const durationMs = () => Math.round(performance.now() - startedMs)
      const timer = setTimeout(() => {
        const { head } = connection
        drop(pool, connection)
        resolve({
          status: head?.status ?? null,
          error: head === undefined ? `no answer within ${limitMs / 1_000} s` : null,
          retryAfter: head?.retryAfter,
          durationMs: durationMs(),
          responseHead: head?.text ?? null,
          response: null,
        })
      }, limitMs)
      connection.send(request, (outcome) => {
        clearTimeout(timer)
        if (!connection.idle) pool.open.delete(connection)
        if (isStale(outcome, usedBefore)) return resolve('stale')
        resolve(resultOf(outcome, durationMs()))
      })
    })
  }

  const sweeping = setInterval(() => {
    const nowMs = performance.now()
    for (const [name, pool] of pools) {
      const over = pool.idle.filter((connection) => !connection.idle || nowMs >= connection.idleUntilMs)
      for (const connection of over) {
        pool.idle.splice(pool.idle.indexOf(connection), 1)
        drop(pool, connection)
      }
      if (pool.open.size === 0) pools.delete(name)
    }
  }, SWEEP_MS)
  sweeping.unref()

  return {
    async post(url, headerLines, body) {
      if (closed) return { ...NOTHING, error: 'the service is ending' }
      const { pool, head } = routeOf(url)
      const request = `${head}${headerLines}\r\n${body}`
      const first = await postOn(pool, take(pool), request)
      if (first !== 'stale') return first
      // The receiver closed an idle connection at the moment that it was used again.
      const second = closed ? first : await postOn(pool, openNew(pool), request)
      return second === 'stale' ? { ...NOTHING, error: 'connection failed: ECONNRESET' } : second
    },
    close() {
      closed = true
      clearInterval(sweeping)
      for (const pool of pools.values()) for (const connection of pool.open) connection.destroy()
    },
  }
}

const NOTHING = { status: null, retryAfter: undefined, durationMs: 0, responseHead: null, response: null }
const STALE_CODES = new Set(['ECONNRESET', 'EPIPE'])

function isStale(outcome: Outcome, usedBefore: boolean): boolean {
  return usedBefore && 'error' in outcome && outcome.untouched && STALE_CODES.has(outcome.error.code ?? '')
}

function resultOf(outcome: Outcome, durationMs: number): PostResult {
  if ('error' in outcome) return { ...NOTHING, error: describe(outcome.error), durationMs }
  const { status, retryAfter, text } = outcome.head
  return { status, error: null, retryAfter, durationMs, responseHead: text, response: outcome.beginning }
}

function describe(error: NodeJS.ErrnoException): string {
  if (error instanceof TargetError) return `target refused: ${error.message}`
  if (error instanceof AnswerError) return `not understood: ${error.message}`
  const inner = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error
  if (inner instanceof TargetError) return `target refused: ${inner.message}`
  return `connection failed: ${inner?.code ?? error.code ?? 'unknown'}`
}
