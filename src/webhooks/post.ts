import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { type Guard, hostOf, TargetError } from './guard.ts'

/** One POST to a receiver: connections are kept per host, redirects are answers like any other. */
export interface Poster {
  /** Never rejects: whatever goes wrong is a failed post. */
  post(url: URL, headers: Record<string, string>, body: string): Promise<PostResult>
  close(): void
}

export interface PostResult {
  readonly status: number | null
  readonly error: string | null
  readonly retryAfter: string | undefined
  readonly durationMs: number
  /** How the answer's body began; null without one. */
  readonly response: string | null
}

/** From the first byte out to the status line in. */
export const ANSWER_LIMIT_MS = 15_000
const IDLE_SOCKET_MS = 20_000
const MOST_IDLE_SOCKETS_PER_HOST = 16
/** A body is read so that the connection can be used again; one that is longer than this is cut off. */
const LONGEST_BODY_BYTES = 65_536
/** What is kept of it for the delivery log. */
const KEPT_BODY_BYTES = 1_024

export function createPoster(options: { guard: Guard; answerLimitMs?: number }): Poster {
  const limitMs = options.answerLimitMs ?? ANSWER_LIMIT_MS
  const pool = { keepAlive: true, maxFreeSockets: MOST_IDLE_SOCKETS_PER_HOST, timeout: IDLE_SOCKET_MS }
  const https = new HttpsAgent(pool)
  const http = new HttpAgent(pool)
  let closed = false
  const lookups = { 'https:': options.guard.lookup('https:'), 'http:': options.guard.lookup('http:') }

  function postOnce(
    url: URL,
    headers: Record<string, string>,
    body: string,
  ): Promise<PostResult & { stale: boolean }> {
    const startedMs = performance.now()
    const secure = url.protocol === 'https:'
    return new Promise((resolve) => {
      const done = (outcome: {
        status?: number
        error?: string
        retryAfter?: string | undefined
        stale?: boolean
        response?: string | null
      }) =>
        resolve({
          status: outcome.status ?? null,
          error: outcome.error ?? null,
          retryAfter: outcome.retryAfter,
          stale: outcome.stale ?? false,
          response: outcome.response ?? null,
          durationMs: Math.round(performance.now() - startedMs),
        })
      const request = (secure ? httpsRequest : httpRequest)({
        agent: secure ? https : http,
        method: 'POST',
        host: hostOf(url),
        port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
        path: `${url.pathname}${url.search}`,
        headers: { ...headers, Host: url.host },
        lookup: lookups[secure ? 'https:' : 'http:'],
      })
      let answer: { status: number; retryAfter: string | undefined } | undefined
      const timer = setTimeout(() => {
        done(answer ?? { error: `no answer within ${limitMs / 1000} s` })
        request.destroy()
      }, limitMs)
      request.on('response', (response) => {
        const found = { status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] }
        answer = found
        readBeginning(response, (beginning) => done({ ...found, response: beginning }))
      })
      request.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer)
        done({ error: describe(error), stale: request.reusedSocket && error.code === 'ECONNRESET' })
      })
      request.on('close', () => clearTimeout(timer))
      request.end(body)
    })
  }

  return {
    async post(url, headers, body) {
      const first = await postOnce(url, headers, body)
      // The receiver closed an idle connection at the moment that it was used again.
      return first.stale && !closed ? postOnce(url, headers, body) : first
    },
    close() {
      closed = true
      https.destroy()
      http.destroy()
    },
  }
}

/** Tells how the body begins, at its end or once enough of it is there; the rest is read and forgotten. */
function readBeginning(response: IncomingMessage, tell: (beginning: string | null) => void): void {
  const kept: Buffer[] = []
  let bytes = 0
  const told = () => {
    const text = Buffer.concat(kept).subarray(0, KEPT_BODY_BYTES).toString('utf8')
    tell(text === '' ? null : text)
  }
  response.on('data', (chunk: Buffer) => {
    if (bytes < KEPT_BODY_BYTES) {
      kept.push(chunk)
      if (bytes + chunk.length >= KEPT_BODY_BYTES) told()
    }
    bytes += chunk.length
    if (bytes > LONGEST_BODY_BYTES) response.destroy()
  })
  response.on('error', () => {})
  response.on('close', told)
}

function describe(error: NodeJS.ErrnoException): string {
  if (error instanceof TargetError) return `target refused: ${error.message}`
  const inner = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error
  if (inner instanceof TargetError) return `target refused: ${inner.message}`
  return `connection failed: ${inner?.code ?? error.code ?? 'unknown'}`
}
