/**
 * Callers of the API: they send requests, lose patience, repeat them with the same idempotency key, and keep every
 * receipt. Answers are judged as soon as they arrive: see `judge-answers.ts`.
 */
import type { GateReply } from '../../../src/gate/request.ts'
import type { Random } from '../random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { ROUTES } from './endpoints.ts'
import { AnswerJudge, type Troubles } from './judge-answers.ts'
import type { ReaderService } from './service.ts'
import type { Spending } from './spending.ts'

/** The kind of a request, which determines the answers that are right. */
export type Question = 'rows' | 'invalid' | 'broken' | 'stranger' | 'order' | 'other-body'

/** One request, from the caller's side. */
export interface Receipt {
  readonly id: string
  readonly question: Question
  readonly askedMs: number
  readonly service: ReaderService
  readonly route: string
  readonly key: KeyFacts
  /** The number of requested rows. */
  readonly limit: number
  /** The number of an order: requests with the same number have the same idempotency key. */
  readonly order: number | undefined
  /** Undefined until it is answered. */
  answeredMs: number | undefined
  status: number | undefined
  charged: number
  isReplayed: boolean
  body: string
}

export interface Caller {
  readonly account: AccountFacts
  /** The key that the caller uses now. */
  key: KeyFacts
}

interface AccountFacts {
  readonly id: string
  pausedMs?: number | undefined
  /** Set while the operator's request to pause it is in progress. */
  isPausing?: boolean
  /** The last pause ended between these two instants. */
  resumingMs?: number
  resumedMs?: number
}

interface KeyFacts {
  readonly text: string
  readonly id: string
  readonly account: AccountFacts
  /** The budgets that pay for its requests: that of its account, and its own if it has a cap. */
  readonly budgets: readonly Spending[]
  revokedMs?: number
  /** Set while the operator's request to revoke or rotate it is in progress. */
  isEnding?: boolean
  /** According to the clock of the service. */
  expiresMs?: number
}

/**
 * The longest time that a request may take: the wait for credits of a process that died (4 s), and a few disk
 * operations. A slow disk adds its own time.
 */
const ANSWER_WITHIN_MS = 10_000

export class Callers {
  readonly receipts: Receipt[] = []
  readonly found: string[] = []
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #services: () => readonly ReaderService[]
  readonly #slowMs: () => number
  readonly #judge: AnswerJudge
  #number = 0

  constructor(parts: {
    time: VirtualTime
    random: Random
    /** The services that are up. */
    services: () => readonly ReaderService[]
    /** What a slow disk may add to an answer. */
    slowMs: () => number
    troubles: Troubles
  }) {
    this.#time = parts.time
    this.#random = parts.random
    this.#services = parts.services
    this.#slowMs = parts.slowMs
    this.#judge = new AnswerJudge(parts.troubles)
  }

  /** Starts sending requests, endlessly. */
  start(caller: Caller, gapMs: number): void {
    const next = () => {
      this.#time.after(Math.ceil(-Math.log(1 - this.#random()) * gapMs), () => {
        this.#askSomething(caller)
        next()
      })
    }
    next()
  }

  #askSomething(caller: Caller): void {
    const random = this.#random
    // Several requests at once share what is leased from a budget.
    const count = random.chance(0.1) ? random.int(2, 12) : 1
    for (let index = 0; index < count; index++) {
      const kind = random()
      if (kind < 0.6) this.#ask(caller, { question: 'rows', limit: random.int(1, 60) })
      else if (kind < 0.65) this.#ask(caller, { question: 'invalid' })
      else if (kind < 0.7) this.#ask(caller, { question: 'broken' })
      else if (kind < 0.72) this.#ask(caller, { question: 'stranger' })
      else this.#order(caller, ++this.#number, random.int(0, 3))
    }
  }

  /** Like a careful client: repeats the order until it is answered or no tries are left. */
  #order(caller: Caller, order: number, tries: number): void {
    const random = this.#random
    let hasMovedOn = false
    const again = (afterMs: number) => {
      if (hasMovedOn || tries === 0) return
      hasMovedOn = true
      this.#time.after(afterMs, () => this.#order(caller, order, tries - 1))
    }
    this.#ask(caller, { question: 'order', order }, (receipt) => {
      const isDone = receipt?.status !== undefined && receipt.status < 400
      if (isDone && random.chance(0.05)) this.#ask(caller, { question: 'other-body', order })
      // Some clients repeat an order although it was answered, as if they had lost the answer.
      if (!isDone || random.chance(0.3)) again(random.int(100, 90_000))
    })
    // Some repeat the order while the first request is in progress, perhaps at another process.
    if (random.chance(0.2)) again(random.pick([0, random.int(1, 100), random.int(100, 4_000)]))
  }

  #ask(
    caller: Caller,
    asked: { question: Question; limit?: number; order?: number },
    done: (receipt: Receipt | undefined) => void = () => {},
  ): void {
    const up = this.#services()
    if (up.length === 0) {
      done(undefined)
      return
    }
    const service = this.#random.pick(up)
    const { question, limit = 0, order } = asked
    const { method, path, search } = requestOf(question, limit)
    const route = ROUTES.find((each) => each.method === method && each.path === path)
    if (route === undefined) throw new RangeError(path)
    const receipt: Receipt = {
      id: `req_${++this.#number}`,
      askedMs: this.#time.nowMs,
      ...{ question, service, limit, order },
      key: caller.key,
      route: `${method} ${path}`,
      answeredMs: undefined,
      status: undefined,
      charged: 0,
      isReplayed: false,
      body: '',
    }
    this.receipts.push(receipt)
    this.#judge.asked(receipt)
    const n = question === 'other-body' ? -1 : order
    const body = method === 'POST' ? Buffer.from(JSON.stringify({ n })) : undefined
    const headers = {
      'x-api-key': question === 'stranger' ? `${caller.key.text}x` : caller.key.text,
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'idempotency-key': `order-${order}` }),
    }
    const answered = (reply: GateReply) => {
      if (service.process.isDead) return
      receipt.answeredMs = this.#time.nowMs
      receipt.status = reply.status
      receipt.charged = Number(headerOf(reply, 'X-Credits-Charged') ?? 0)
      receipt.isReplayed = headerOf(reply, 'Idempotent-Replayed') === 'true'
      receipt.body = textOf(reply)
      this.found.push(...this.#judge.answered(receipt))
      reply.onSent?.()
      done(receipt)
    }
    const request = {
      id: receipt.id,
      ...{ method, path, search, headers, body },
      pathParams: {},
      address: '203.0.113.9',
    }
    service.process.reach(() => {
      const reply = service.gate.handle(request, route)
      if (reply instanceof Promise)
        reply.then(answered, (error: unknown) =>
          this.found.push(`10 ${receipt.route} failed: ${String(error)}`),
        )
      else answered(reply)
    })
    this.#time.after(ANSWER_WITHIN_MS, () => this.#expect(receipt, done))
  }

  /** A killed process never answers, a paused one answers when it continues, every other one answers in time. */
  #expect(receipt: Receipt, done: (receipt: Receipt | undefined) => void): void {
    if (receipt.answeredMs !== undefined) return
    if (receipt.service.process.isDead) {
      done(undefined)
      return
    }
    const lateMs = this.#slowMs()
    const { isStopped, awakeSinceMs } = receipt.service.process
    const waitedMs = isStopped ? 0 : this.#time.nowMs - Math.max(receipt.askedMs, awakeSinceMs)
    if (waitedMs < ANSWER_WITHIN_MS + lateMs) {
      this.#time.after(ANSWER_WITHIN_MS + lateMs - waitedMs, () => this.#expect(receipt, done))
      return
    }
    this.found.push(`10 ${receipt.route} (${receipt.id}) was not answered within ${waitedMs} ms`)
  }
}

function requestOf(question: Question, limit: number): { method: string; path: string; search: string } {
  if (question === 'order' || question === 'other-body')
    return { method: 'POST', path: '/v1/orders', search: '' }
  if (question === 'broken') return { method: 'GET', path: '/v1/broken', search: '' }
  const search = question === 'rows' ? `limit=${limit}` : question === 'invalid' ? 'limit=none' : ''
  return { method: 'GET', path: '/v1/rows', search }
}

function headerOf({ headers }: GateReply, name: string): string | undefined {
  const at = headers.indexOf(name)
  return at === -1 ? undefined : headers[at + 1]
}

function textOf({ body }: GateReply): string {
  if (typeof body === 'string') return body
  return Buffer.isBuffer(body) ? body.toString('utf8') : body.map(String).join('')
}
