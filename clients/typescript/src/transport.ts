/**
 * One call: send → answer, error, or nothing → again if that is safe.
 *
 *   200, 201           the answer; kept with its tag if it has one
 *   304                the kept answer, at 0 credits
 *   429, 503           again, after Retry-After
 *   408, 500, 502, 504, no answer: again if the request is safe to repeat (`retry.ts`)
 *   anything else      the error of that code
 */
import { ApiError, ConnectionError, UnreadableAnswerError } from './errors.ts'
import { EtagCache } from './etag-cache.ts'
import { parseJson, writeJson } from './exact-json.ts'
import {
  type CallOptions,
  ERROR_CLASSES,
  type ErrorBody,
  type ErrorCode,
  type Operation,
} from './generated.ts'
import { delayMs, isRepeatable, readRetryAfter, shouldRetry, sleep } from './retry.ts'

export interface TransportOptions {
  /** Where the service is, for example `https://data.example.com`. */
  readonly url: string
  /** `svc_live_…` or `svc_test_…`. */
  readonly key: string
  /** Attempts after the first one; 5. */
  readonly retries?: number
  /** For one attempt, up to the end of its answer; 30,000. */
  readonly timeoutMs?: number
  /** Characters of answers that are kept with their tags; 16 Mi. 0 keeps none. */
  readonly cacheChars?: number
  /** Called with every answer, errors included. */
  readonly onAnswer?: (answer: AnswerInfo) => void
  readonly fetch?: typeof globalThis.fetch
}

/** What an answer cost and where it came from. */
export interface AnswerInfo {
  readonly method: string
  readonly url: string
  readonly status: number
  readonly credits: number
  readonly creditsRemaining: number | undefined
  readonly requestId: string
  readonly fromCache: boolean
  /** Earlier attempts that got no answer. The service may have carried out, and charged, each of them. */
  readonly lostAttempts: number
}

export interface Answer {
  readonly body: unknown
  readonly info: AnswerInfo
}

const RETRIES = 5
const TIMEOUT_MS = 30_000
const CACHE_CHARS = 16 * 2 ** 20
const REDIRECTS = [301, 302, 303, 307, 308]
/** The service takes larger numbers as milliseconds, others as seconds. */
const MIN_EPOCH_MS = 1e11

export class Transport {
  readonly #options: TransportOptions
  readonly #base: string
  readonly #cache: EtagCache

  constructor(options: TransportOptions) {
    this.#options = options
    // Throws now: an invalid address is the caller's mistake, not a lost connection.
    const { protocol, href } = new URL(options.url)
    if (protocol !== 'http:' && protocol !== 'https:')
      throw new TypeError(`${options.url} is not an http address.`)
    this.#base = href.replace(/\/+$/, '')
    this.#cache = new EtagCache(options.cacheChars ?? CACHE_CHARS)
  }

  /** `maxLost`: how many attempts may go unanswered before it gives up, since each of them may have been charged. */
  async call(
    operation: Operation,
    params: object,
    options: CallOptions = {},
    body?: unknown,
    maxLost = Number.POSITIVE_INFINITY,
  ): Promise<Answer> {
    const url = this.#base + target(operation.path, withTimes(operation, params))
    const kept = operation.method === 'GET' ? this.#cache.get(url) : undefined
    if (kept?.isImmutable) return this.#fromCache(operation, url, kept.text, '', undefined, 0)
    const request = this.#request(operation, options, kept?.etag, withTimes(operation, body))
    const retries = this.#options.retries ?? RETRIES
    let lostAttempts = 0
    for (let attempt = 0; ; attempt++) {
      const got = await this.#attempt(url, request, options.signal)
      const mayRepeat = attempt < retries
      if (got instanceof ConnectionError) {
        lostAttempts += 1
        got.lostAttempts = lostAttempts
        if (!mayRepeat || lostAttempts > maxLost || !isRepeatable(operation.method)) throw got
        await sleep(delayMs(attempt, undefined, Math.random) ?? 0, options.signal)
        continue
      }
      const { response, text } = got
      const requestId = response.headers.get('x-request-id') ?? ''
      const remaining = numberOf(response.headers.get('x-credits-remaining'))
      if (response.status === 304 && kept !== undefined)
        return this.#fromCache(operation, url, kept.text, requestId, remaining, lostAttempts)
      const info: AnswerInfo = {
        method: operation.method,
        url,
        status: response.status,
        credits: numberOf(response.headers.get('x-credits-used')) ?? 0,
        creditsRemaining: remaining,
        requestId,
        fromCache: false,
        lostAttempts,
      }
      this.#options.onAnswer?.(info)
      if (response.ok) {
        const answer = { body: bodyOf(text, info), info }
        this.#keep(operation.method, url, response.headers, text)
        return answer
      }
      const error = errorOf(response, text, url)
      const wait = delayMs(attempt, error.retryAfter, Math.random)
      if (!mayRepeat || wait === undefined || !shouldRetry(operation.method, error)) throw error
      await sleep(wait, options.signal)
    }
  }

  #request(
    { method, path }: Operation,
    { idempotencyKey }: CallOptions,
    etag: string | undefined,
    body: unknown,
  ): RequestInit {
    const key =
      method === 'POST' ? (idempotencyKey ?? (needsKey(path, body) ? newKey() : undefined)) : undefined
    return {
      method,
      // Otherwise a browser's cache would answer instead of the service, with the credits of an earlier answer.
      cache: 'no-store',
      redirect: 'manual',
      headers: new Headers({
        Accept: 'application/json',
        'X-API-Key': this.#options.key,
        ...(etag === undefined ? {} : { 'If-None-Match': etag }),
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      }),
      ...(body === undefined ? {} : { body: writeJson(body) }),
    }
  }

  async #attempt(
    url: string,
    request: RequestInit,
    signal: AbortSignal | undefined,
  ): Promise<{ response: Response; text: string } | ConnectionError> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs ?? TIMEOUT_MS)
    try {
      const send = this.#options.fetch ?? fetch
      const response = await send(url, {
        ...request,
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      })
      return { response, text: await response.text() }
    } catch (cause) {
      if (signal?.aborted) throw signal.reason
      const why = timeout.aborted ? 'No answer arrived in time.' : 'The connection ended without an answer.'
      return new ConnectionError(`${why} (${request.method} ${url})`, { cause })
    }
  }

  #keep(method: string, url: string, headers: Headers, text: string): void {
    const etag = headers.get('etag')
    if (method !== 'GET' || etag === null) return
    const isImmutable = headers.get('cache-control')?.includes('immutable') === true
    this.#cache.set(url, { etag, text, isImmutable })
  }

  #fromCache(
    { method }: Operation,
    url: string,
    text: string,
    requestId: string,
    creditsRemaining: number | undefined,
    lostAttempts: number,
  ): Answer {
    const info = {
      method,
      url,
      status: 304,
      credits: 0,
      creditsRemaining,
      requestId,
      fromCache: true,
      lostAttempts,
    }
    this.#options.onAnswer?.(info)
    return { body: parseJson(text), info }
  }
}

/**
 * Calls that only read are repeated like a GET: a plan allows a certain number of keys a day, and the service stores an
 * answer for each.
 */
function needsKey(path: string, body: unknown): boolean {
  if (path !== '/rpc') return true
  const calls: readonly unknown[] = Array.isArray(body) ? body : [body]
  return calls.some((call) => String((call as { method?: unknown } | null)?.method).startsWith('submit'))
}

/** Not `randomUUID`, which is not available on pages loaded without TLS. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

function withTimes<T>({ givenTimes = [] }: Operation, given: T): T {
  if (typeof given !== 'object' || given === null || givenTimes.length === 0) return given
  const changed = Object.entries(given).map(([name, value]) => [
    name,
    givenTimes.includes(name) ? wholeTime(value) : value,
  ])
  return Object.fromEntries(changed) as T
}

/** The service takes seconds and milliseconds without a fraction. */
function wholeTime(value: unknown): unknown {
  if (typeof value !== 'number' || !Number.isFinite(value) || Number.isInteger(value)) return value
  const ms = Math.round(value < MIN_EPOCH_MS ? value * 1_000 : value)
  return new Date(ms).toISOString()
}

function target(path: string, params: object): string {
  const query = new URLSearchParams()
  let filled = path
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null) continue
    const text = value instanceof Date ? value.toISOString() : String(value)
    const place = `{${name}}`
    if (path.includes(place)) filled = filled.replace(place, encodeURIComponent(text))
    else query.set(name, text)
  }
  const missing = /\{(\w+)\}/.exec(filled)
  if (missing !== null) throw new TypeError(`${missing[1]} is missing.`)
  return query.size === 0 ? filled : `${filled}?${query}`
}

function bodyOf(text: string, { url, status, requestId }: AnswerInfo): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw new UnreadableAnswerError(url, status, requestId, error)
  }
}

function errorOf(response: Response, text: string, url: string): ApiError {
  // A browser shows nothing of a redirect but that there was one.
  const isRedirect = response.type === 'opaqueredirect' || REDIRECTS.includes(response.status)
  const place = response.headers.get('location') ?? 'another address'
  const details = isRedirect
    ? {
        message: `${url} redirects to ${place}. Requests with a key follow no redirect: change the client's url.`,
      }
    : errorBody(text)
  const retryAfter = readRetryAfter(response.headers.get('retry-after'), Date.now())
  const Class = ERROR_CLASSES[details.error ?? ''] ?? ApiError
  return new Class(response.status, details, retryAfter)
}

/** A proxy in between may answer anything, and `/rpc` answers with JSON-RPC errors: one, or a list for a batch. */
function errorBody(text: string): Partial<ErrorBody> {
  let body: unknown
  try {
    body = parseJson(text)
  } catch {
    return {}
  }
  if (Array.isArray(body)) [body] = body
  if (typeof body !== 'object' || body === null || !('error' in body)) return {}
  const { error } = body
  if (typeof error === 'string') return body as Partial<ErrorBody>
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return { error: String(code ?? 'unknown') as ErrorCode, message: String(message ?? '') }
}

function numberOf(text: string | null): number | undefined {
  return text === null || text === '' ? undefined : Number(text)
}
