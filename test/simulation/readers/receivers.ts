/**
 * The receivers of webhooks, and the poster between them and the service. Each receiver believes nothing: it checks the
 * signature, that the events are its own, and remembers what it has accepted.
 */
import { createHmac } from 'node:crypto'
import type { OpenPoster, PostResult } from '../../../src/webhooks/poster.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Random } from '../random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { type Selection, selects } from './world.ts'

export type ReceiverMood =
  | 'ok'
  | 'status'
  | 'hang'
  | 'cut'
  /** Takes the events, and the answer is lost. */
  | 'cut-after'
  | 'slow'
  | 'redirect'
  | 'oversized'
  | 'any'

interface Accepted {
  readonly atMs: number
  /** By the delivery's id in the head: of the first event in a batch. */
  readonly deliveryId: string
  readonly eventIds: readonly string[]
  /** Whether the service got the answer 2xx. */
  isAnswered: boolean
}

interface Receiver extends Selection {
  readonly url: string
  readonly batch: boolean
  readonly secrets: string[]
  readonly accepted: Accepted[]
  /** Attempts that were not answered 2xx, by event id. */
  readonly refused: Map<string, number>
  mood: ReceiverMood
  status: number
  retryAfter: string | undefined
}

const ANSWER_LIMIT_MS = 15_000
const OTHER_MOODS: readonly ReceiverMood[] = [
  'ok',
  'status',
  'hang',
  'cut',
  'cut-after',
  'slow',
  'redirect',
  'oversized',
]

export class Receivers {
  readonly found: string[] = []
  /** By event id: its text, the same for everybody. */
  readonly texts = new Map<string, string>()
  readonly #receivers = new Map<string, Receiver>()
  readonly #time: VirtualTime
  readonly #random: Random
  #open = 0

  constructor(time: VirtualTime, random: Random) {
    this.#time = time
    this.#random = random
  }

  get open(): number {
    return this.#open
  }

  get all(): readonly Receiver[] {
    return [...this.#receivers.values()]
  }

  add(url: string, selection: Selection & { batch: boolean }): Receiver {
    const receiver: Receiver = {
      ...selection,
      url,
      secrets: [],
      accepted: [],
      refused: new Map(),
      mood: 'ok',
      status: 500,
      retryAfter: undefined,
    }
    this.#receivers.set(url, receiver)
    return receiver
  }

  /** The poster of one process. As the real one it never rejects; after the process's death it never answers. */
  posterFor =
    (process: SimulatedProcess): OpenPoster =>
    () => {
      const running = new Set<(result: Omit<PostResult, 'durationMs'>) => void>()
      let isClosed = false
      return {
        post: (url, headers, body) =>
          new Promise((resolve) => {
            if (process.isDead) return
            if (isClosed) return resolve(failed('the service is ending', 0))
            const startedMs = this.#time.nowMs
            this.#open++
            const end = (result: Omit<PostResult, 'durationMs'>) => {
              if (!running.delete(end)) return
              this.#open--
              cancel()
              forget()
              if (!process.isDead) resolve({ ...result, durationMs: this.#time.nowMs - startedMs })
            }
            const forget = process.onDeath(() => end(failed('dead', 0)))
            running.add(end)
            const cancel =
              process.clock.after?.(ANSWER_LIMIT_MS, () => end(failed('no answer within 15 s', 0))) ??
              (() => {})
            const answer = (result: Omit<PostResult, 'durationMs'>) => process.reach(() => end(result))
            this.#time.after(this.#random.int(1, 120), () => this.#receive(url, headers, body, answer))
          }),
        close: () => {
          isClosed = true
          for (const end of [...running]) end(failed('connection failed: ECONNRESET', 0))
        },
      }
    }

  #receive(
    url: URL,
    headers: Readonly<Record<string, string>>,
    body: string,
    answer: (result: Omit<PostResult, 'durationMs'>) => void,
  ): void {
    const receiver = this.#receivers.get(url.href)
    if (receiver === undefined) {
      this.found.push(`8 a delivery went to ${url.href}, where no webhook is`)
      answer(failed('connection failed: ECONNREFUSED', 0))
      return
    }
    const events = this.#check(receiver, headers, body)
    const mood = receiver.mood === 'any' ? this.#random.pick(OTHER_MOODS) : receiver.mood
    const backMs = this.#random.int(1, 120)
    const reply = (afterMs: number, result: Omit<PostResult, 'durationMs'>) =>
      void this.#time.after(afterMs, () => answer(result))
    const refuse = () => {
      for (const { id } of events) receiver.refused.set(id, (receiver.refused.get(id) ?? 0) + 1)
    }
    const accept = () => {
      const accepted = {
        atMs: this.#time.nowMs,
        deliveryId: headers['X-Svc-Delivery'] ?? '',
        eventIds: events.map(({ id }) => id),
        isAnswered: false,
      }
      receiver.accepted.push(accepted)
      return accepted
    }
    const later = (afterMs: number, status: number, response: string | null) => {
      const accepted = accept()
      this.#time.after(afterMs, () => {
        accepted.isAnswered = true
        answer({ ...answered(status, undefined), response })
      })
    }
    switch (mood) {
      case 'hang':
        refuse()
        break
      case 'cut':
        refuse()
        reply(backMs, failed('connection failed: ECONNRESET', 0))
        break
      case 'cut-after':
        accept()
        reply(backMs, failed('connection failed: ECONNRESET', 0))
        break
      case 'status':
        refuse()
        reply(backMs, answered(receiver.status, receiver.retryAfter))
        break
      case 'redirect':
        refuse()
        reply(backMs, answered(307, undefined))
        break
      case 'slow':
        // Some of them after the service has stopped waiting.
        later(this.#random.int(1_000, 20_000), 200, null)
        break
      case 'oversized':
        later(backMs, 200, 'x'.repeat(1_024))
        break
      default:
        later(backMs, this.#random.pick([200, 201, 202, 204]), null)
    }
  }

  #check(receiver: Receiver, headers: Readonly<Record<string, string>>, body: string): { id: string }[] {
    const stamped = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const valid = receiver.secrets.some((secret) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      const signature = createHmac('sha256', key).update(stamped).digest('base64')
      return headers['webhook-signature']?.split(' ').includes(`v1,${signature}`)
    })
    if (!valid) this.found.push(`8 a delivery to ${receiver.url} is not signed with its secret`)
    const parsed = JSON.parse(body) as unknown
    if (Array.isArray(parsed) !== receiver.batch)
      this.found.push(`8 a delivery to ${receiver.url} has the wrong form`)
    const events = (Array.isArray(parsed) ? parsed : [parsed]) as {
      id: string
      kind: string
      addresses: string[]
    }[]
    const texts = receiver.batch ? splitTexts(body) : [body]
    for (const [index, event] of events.entries()) {
      if (!selects(receiver, event))
        this.found.push(
          `8 the event ${event.id} (${event.kind}) went to ${receiver.url}, which does not select it`,
        )
      const text = texts[index] ?? ''
      const before = this.texts.get(event.id)
      if (before !== undefined && before !== text)
        this.found.push(`8 the event ${event.id} was delivered with two texts`)
      this.texts.set(event.id, text)
    }
    return events
  }
}

/** The elements of a batch as they were sent. */
function splitTexts(body: string): string[] {
  return body.slice(1, -1).split(/,(?=\{"id":")/)
}

function answered(status: number, retryAfter: string | undefined): Omit<PostResult, 'durationMs'> {
  return { status, error: null, retryAfter, responseHead: `HTTP/1.1 ${status}`, response: null }
}

function failed(error: string, durationMs: number): PostResult {
  return { status: null, error, retryAfter: undefined, durationMs, responseHead: null, response: null }
}
