/**
 * Sends requests to a venue's REST interface without ever exceeding its limits.
 *
 *   budget ──▶ halted? wait ──▶ ask ──▶ ok ▸ JSON
 *                 ▲                └──▶ limit or ban ▸ halt all requests, then again
 *                 ╰─────────────────────── fault ▸ backoff, at most `tries` times
 *
 * A limit or a ban stops every request of this client, not only the one that met it.
 */
import { type BackoffPolicy, backoffMs } from '../../kit/backoff.ts'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import { runAfterReading } from '../../kit/reading-time.ts'
import { hasTooManyValues, MAX_JSON_VALUES } from '../json-values.ts'
import { classifyReply } from './classify-response.ts'
import type { Fetch, HttpResponse, ResponseHeaders } from './http.ts'
import { createTurns } from './request-turns.ts'
import { countSentWeight, type SentWeight } from './sent-weight.ts'
import { createWeightBudget, type RequestBudget } from './weight-budget.ts'

export interface RestRequest {
  readonly path: string
  /** A list repeats the parameter's name for each value. */
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>
  /** If set, the request is a POST with this value as JSON. */
  readonly body?: unknown
  readonly weight: number
  /** The budget that the request counts against; by default the first one. */
  readonly pool?: string
  /** Part of a history walk, which leaves a share of every window to the live side. */
  readonly isBackground?: boolean
}

export interface RestResponse {
  readonly value: unknown
  readonly text: string
  readonly headers: ResponseHeaders
  readonly receivedMs: number
  readonly roundTripMs: number
}

export interface RestLimits {
  readonly tries: number
  readonly backoff: BackoffPolicy
  readonly answerWithinMs: number
  /** Measures `answerWithinMs` where responses take real time but the data follows another clock. */
  readonly answerClock?: Clock
  readonly inFlight: number
  readonly maxAnswerBytes: number
  readonly maxAnswerValues: number
  /** A longer halt fails the request at once instead of making it wait. */
  readonly maxWaitMs: number
}

export const REST_LIMITS: RestLimits = {
  tries: 5,
  backoff: { baseMs: 500, capMs: 15_000 },
  answerWithinMs: 15_000,
  inFlight: 4,
  /** At least five times the size of any real answer. */
  maxAnswerBytes: 16 * 1024 * 1024,
  maxAnswerValues: MAX_JSON_VALUES,
  maxWaitMs: 180_000,
}

/** The longest answer of an exchange is 5,000 candles (650 KB, 55,000 values). Reading more would hold the thread. */
export const EXCHANGE_ANSWERS: Pick<RestLimits, 'maxAnswerBytes' | 'maxAnswerValues'> = {
  maxAnswerBytes: 2 * 1024 * 1024,
  maxAnswerValues: 120_000,
}

/** The share of the budget that history walks may use; with the smallest budget, the live side needs the rest. */
const BACKGROUND_SHARE = 0.85

/** Error messages quote the venue, at any length, and go into the log. */
const MAX_MESSAGE_CHARS = 500

/** The venue refused the request, or answered none of the tries usably. */
export class VenueError extends Error {
  readonly isFinal: boolean
  constructor(message: string, options: { isFinal: boolean; cause?: unknown }) {
    super(message.slice(0, MAX_MESSAGE_CHARS), { cause: options.cause })
    this.name = 'VenueError'
    this.isFinal = options.isFinal
  }
}

export interface RestClient {
  request(question: RestRequest, signal: AbortSignal): Promise<RestResponse>
  stats(): RestStats
}

interface RestStats {
  readonly asked: number
  readonly retried: number
  readonly halts: number
  readonly haltedUntilMs: number
  readonly used: Readonly<Record<string, number>>
  readonly sent: readonly SentWeight[]
  /** How long the oldest pending request has been waiting for its response. */
  readonly waitingMs: number
}

export function createRestClient(options: {
  venue: string
  baseUrl: string
  budgets: Readonly<Record<string, RequestBudget>>
  fetch: Fetch
  clock: Clock
  random: () => number
  limits?: Partial<RestLimits>
}): RestClient {
  const { clock, venue } = options
  const limits = { ...REST_LIMITS, ...options.limits }
  const answerClock = limits.answerClock ?? clock
  const pools = new Map(
    Object.entries(options.budgets).map(([name, budget]) => [name, createWeightBudget({ budget, clock })]),
  )
  const firstPool = Object.keys(options.budgets)[0]
  const sent = countSentWeight(options.budgets, clock)
  const counts = { asked: 0, retried: 0, halts: 0 }
  /** In monotonic time, because the wall clock may be set. */
  let haltedToMs = Number.NEGATIVE_INFINITY
  /** When each pending request was sent, oldest first. */
  const underWay = new Map<symbol, number>()
  const turns = createTurns(limits.inFlight)

  async function ask(question: RestRequest, signal: AbortSignal): Promise<RestResponse> {
    const poolName = question.pool ?? firstPool ?? ''
    const pool = pools.get(poolName)
    if (pool === undefined) throw new RangeError(`${venue}: no budget called ${poolName}`)
    let fault = ''
    for (let attempt = 0; attempt < limits.tries; attempt++) {
      if (attempt > 0) counts.retried += 1
      // The wait for the budget happens outside of the turn, so that a history walk does not hold up the live side.
      await waitForHalt(signal)
      const isBackground = question.isBackground === true
      await pool.take(question.weight, signal, isBackground ? BACKGROUND_SHARE : 1)
      const reply = await turns
        .run(isBackground, async () => {
          await waitForHalt(signal)
          sent.add(poolName, question.weight)
          return askOnce(question, signal)
        })
        .finally(() => pool.settle(question.weight))
      if ('fault' in reply) {
        fault = reply.fault
        await clock.sleep(backoffMs(limits.backoff, attempt, options.random), signal)
        continue
      }
      pool.correct(reply.headers)
      const verdict = classifyReply({ ...reply, nowMs: clock.now() })
      if (verdict.kind === 'ok') {
        const answer = parsed(reply)
        if (answer !== undefined) return answer
      }
      if (verdict.kind === 'refused') {
        throw new VenueError(`${venue} ${question.path}: ${verdict.reason}`, { isFinal: true })
      }
      fault = verdict.kind === 'ok' ? 'the answer is not JSON' : verdict.reason
      if (verdict.kind === 'halt') {
        counts.halts += 1
        haltedToMs = Math.max(haltedToMs, elapsedMs(clock) + verdict.waitMs)
      } else {
        await clock.sleep(backoffMs(limits.backoff, attempt, options.random), signal)
      }
    }
    throw new VenueError(`${venue} ${question.path}: ${fault} (${limits.tries} tries)`, { isFinal: false })
  }

  async function waitForHalt(signal: AbortSignal): Promise<void> {
    for (;;) {
      const waitMs = haltedToMs - elapsedMs(clock)
      if (waitMs <= 0) return
      if (waitMs > limits.maxWaitMs) {
        const until = new Date(clock.now() + waitMs).toISOString()
        throw new VenueError(`${venue}: halted by the venue until ${until}`, { isFinal: false })
      }
      await clock.sleep(waitMs, signal)
    }
  }

  interface Reply {
    status: number
    headers: ResponseHeaders
    body: string
    roundTripMs: number
  }

  async function askOnce(question: RestRequest, signal: AbortSignal): Promise<Reply | { fault: string }> {
    const stop = new AbortController()
    const onAbort = () => stop.abort(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    let isLate = false
    // Time during which this thread could not read does not count.
    const answered = runAfterReading(answerClock, limits.answerWithinMs, () => {
      isLate = true
      stop.abort()
    })
    const askedMs = clock.now()
    const place = Symbol(question.path)
    underWay.set(place, elapsedMs(answerClock))
    counts.asked += 1
    try {
      const response = await options.fetch(urlOf(options.baseUrl, question), {
        method: question.body === undefined ? 'GET' : 'POST',
        headers: {
          accept: 'application/json',
          'user-agent': 'tapeline',
          ...(question.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(question.body === undefined ? {} : { body: JSON.stringify(question.body) }),
        signal: stop.signal,
      })
      const body = await boundedText(response, limits)
      const roundTripMs = clock.now() - askedMs
      return { status: response.status, headers: response.headers, body, roundTripMs }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      return { fault: isLate ? `no answer in ${limits.answerWithinMs} ms` : faultOf(error) }
    } finally {
      answered()
      signal.removeEventListener('abort', onAbort)
      underWay.delete(place)
    }
  }

  /** Undefined for a body that is truncated or not JSON, which is a fault like any other. */
  function parsed(reply: Reply): RestResponse | undefined {
    try {
      const value: unknown = JSON.parse(reply.body)
      return {
        value,
        text: reply.body,
        headers: reply.headers,
        receivedMs: clock.now(),
        roundTripMs: reply.roundTripMs,
      }
    } catch {
      return undefined
    }
  }

  function waitingMs(): number {
    const [sinceMs] = underWay.values()
    return sinceMs === undefined ? 0 : elapsedMs(answerClock) - sinceMs
  }

  return {
    request: ask,
    stats: () => ({
      ...counts,
      haltedUntilMs: counts.halts === 0 ? 0 : clock.now() + haltedToMs - elapsedMs(clock),
      waitingMs: waitingMs(),
      sent: sent.read(),
      used: Object.fromEntries([...pools].map(([name, pool]) => [name, pool.used()])),
    }),
  }
}

function urlOf(baseUrl: string, question: RestRequest): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(question.query ?? {})) {
    if (Array.isArray(value)) for (const each of value) query.append(name, each)
    else if (value !== undefined) query.set(name, String(value))
  }
  const text = query.toString()
  return text === '' ? baseUrl + question.path : `${baseUrl}${question.path}?${text}`
}

async function boundedText(response: HttpResponse, limits: RestLimits): Promise<string> {
  const { maxAnswerBytes, maxAnswerValues } = limits
  if (response.body === null) return ''
  const bytes = await copied(response.body, maxAnswerBytes)
  if (hasTooManyValues(bytes, maxAnswerValues))
    throw new Error(`answer of more than ${maxAnswerValues} values`)
  // A successful answer must be valid UTF-8 throughout; the text of an error is only shown.
  const fatal = response.status >= 200 && response.status < 300
  return new TextDecoder('utf-8', { fatal }).decode(bytes)
}

/** Chunks are copied as they arrive: kept as they are, an answer in one-byte chunks would be two gigabytes of objects. */
async function copied(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  let memory = Buffer.alloc(0)
  let length = 0
  for await (const chunk of body) {
    const whole = length + chunk.length
    if (whole > maxBytes) throw new Error(`answer above ${maxBytes} bytes`)
    if (whole > memory.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(whole, memory.length * 2)))
      memory.copy(larger, 0, 0, length)
      memory = larger
    }
    memory.set(chunk, length)
    length = whole
  }
  return memory.subarray(0, length)
}

function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
