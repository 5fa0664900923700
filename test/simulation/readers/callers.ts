/** Callers of the API: they ask, ask again after a failure with the same idempotency key, and keep every receipt. */
import type { GateReply } from '../../../src/gate/request.ts'
import type { Random } from '../random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { ROUTES } from './endpoints.ts'
import type { ReaderService } from './service.ts'

/** One request, from the caller's side. */
export interface Receipt {
  readonly id: string
  readonly askedMs: number
  readonly service: ReaderService
  readonly route: string
  readonly idempotencyKey: string | undefined
  /** Undefined while it is not answered. */
  answeredMs: number | undefined
  status: number | undefined
  charged: number
  isReplayed: boolean
}

/**
 * The longest that a request may take: the wait for credits of a process that died (4 s), and a few operations of a
 * disk. A slow disk adds its own time.
 */
const ANSWER_WITHIN_MS = 10_000

export class Callers {
  readonly receipts: Receipt[] = []
  readonly found: string[] = []
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #services: () => readonly ReaderService[]
  readonly #slowMs: () => number
  readonly #rich = new Set<string>()
  #number = 0

  constructor(parts: {
    time: VirtualTime
    random: Random
    /** Those that are up. */
    services: () => readonly ReaderService[]
    /** What a slow disk may add to an answer. */
    slowMs: () => number
  }) {
    this.#time = parts.time
    this.#random = parts.random
    this.#services = parts.services
    this.#slowMs = parts.slowMs
  }

  /** Begins to ask, for ever. `isRich`: it never runs out of credits. */
  start(key: string, gapMs: number, isRich: boolean): void {
    if (isRich) this.#rich.add(key)
    const next = () => {
      this.#time.after(Math.ceil(-Math.log(1 - this.#random()) * gapMs), () => {
        this.#askSomething(key)
        next()
      })
    }
    next()
  }

  #askSomething(key: string): void {
    const random = this.#random
    // Several at once share what is leased of a budget.
    const count = random.chance(0.1) ? random.int(2, 12) : 1
    for (let index = 0; index < count; index++) {
      const kind = random()
      if (kind < 0.6) this.#ask(key, 'GET', '/v1/rows', `limit=${random.int(1, 60)}`)
      else if (kind < 0.65) this.#ask(key, 'GET', '/v1/rows', 'limit=none')
      else if (kind < 0.7) this.#ask(key, 'GET', '/v1/broken', '')
      else if (kind < 0.72) this.#ask(`${key}x`, 'GET', '/v1/rows', '')
      else this.#order(key, `order-${++this.#number}`, random.int(0, 3))
    }
  }

  /** As a careful client: until there is an answer, or it has no tries left. */
  #order(key: string, idempotencyKey: string, tries: number): void {
    this.#ask(key, 'POST', '/v1/orders', '', idempotencyKey, (receipt) => {
      const isDone = receipt?.status !== undefined && receipt.status < 400
      // Some clients repeat what was answered, too: the answer may have got lost behind them.
      if (tries === 0 || (isDone && !this.#random.chance(0.3))) return
      this.#time.after(this.#random.int(100, 90_000), () => this.#order(key, idempotencyKey, tries - 1))
    })
  }

  #ask(
    key: string,
    method: string,
    path: string,
    search: string,
    idempotencyKey?: string,
    done: (receipt: Receipt | undefined) => void = () => {},
  ): void {
    const up = this.#services()
    if (up.length === 0) {
      done(undefined)
      return
    }
    const service = this.#random.pick(up)
    const route = ROUTES.find((each) => each.method === method && each.path === path)
    if (route === undefined) throw new RangeError(path)
    const receipt: Receipt = {
      id: `req_${++this.#number}`,
      askedMs: this.#time.nowMs,
      service,
      route: `${method} ${path}`,
      idempotencyKey,
      answeredMs: undefined,
      status: undefined,
      charged: 0,
      isReplayed: false,
    }
    this.receipts.push(receipt)
    const body = method === 'POST' ? Buffer.from('{"n":1}') : undefined
    const headers = {
      'x-api-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    }
    const answered = (reply: GateReply) => {
      if (service.process.isDead) return
      receipt.answeredMs = this.#time.nowMs
      receipt.status = reply.status
      receipt.charged = Number(headerOf(reply, 'X-Credits-Charged') ?? 0)
      receipt.isReplayed = headerOf(reply, 'Idempotent-Replayed') === 'true'
      if (reply.status === 402 && this.#rich.has(key))
        this.found.push(
          `9 ${receipt.route} (${receipt.id}) was refused for want of credits, and there are plenty`,
        )
      reply.onSent?.()
      done(receipt)
    }
    const request = {
      id: receipt.id,
      method,
      path,
      search,
      pathParams: {},
      headers,
      address: '203.0.113.9',
      body,
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

  /** A process that is killed answers nobody, and one that stands still when it goes on; every other in time. */
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

function headerOf({ headers }: GateReply, name: string): string | undefined {
  const at = headers.indexOf(name)
  return at === -1 ? undefined : headers[at + 1]
}
