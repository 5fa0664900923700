/**
 * The receivers of webhooks, and the poster between them and the service. Each receiver checks everything: the
 * signature, and that the events are meant for it. It remembers what it has accepted.
 */
import { createHmac } from 'node:crypto'
import type { OpenPoster, PostResult } from '../../../src/webhooks/poster.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Random } from '../random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Troubles } from './judge-answers.ts'
import { type Selection, selects } from './world.ts'

export type ReceiverMood =
  | 'ok'
  | 'status'
  | 'hang'
  | 'cut'
  /** Accepts the events, but the answer is lost. */
  | 'cut-after'
  | 'slow'
  | 'redirect'
  | 'oversized'
  | 'any'

interface Accepted {
  readonly atMs: number
  /** The delivery id in the headers: in a batch that of the first event. */
  readonly deliveryId: string
  readonly eventIds: readonly string[]
  /** Whether the service received the 2xx answer. */
  isAnswered: boolean
}

/** A selection of the owner, and the events it applies to: where two overlap, either may have been used. */
interface Wish extends Selection {
  readonly afterSeq: number
  upToSeq: number
}

export interface Receiver {
  readonly url: string
  wishes: Wish[]
  /** Allowed forms: batches, single events, or both while the owner is changing it. */
  forms: readonly boolean[]
  formSinceMs: number
  /** The first secret, which keeps signing for a day after the first rotation; empty before it is known. */
  readonly secrets: string[]
  isRotated: boolean
  /** The secret of the last rotation; undefined until it is known. */
  newest: { readonly secret: string; readonly sinceMs: number } | undefined
  /** When it was seen switched off; undefined while it is or may be on. */
  pausedMs: number | undefined
  deletedMs: number | undefined
  readonly accepted: Accepted[]
  /** The number of attempts that were not answered with 2xx, by event id. */
  readonly refused: Map<string, number>
  mood: ReceiverMood
  status: number
  retryAfter: string | undefined
}

const ANSWER_LIMIT_MS = 15_000
/** Other processes read changed webhooks every second, and deliveries in progress still arrive. */
const KNOWN_WITHIN_MS = 5_000
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
  /** The text of each event by its id; it must be the same for every receiver. */
  readonly texts = new Map<string, string>()
  readonly #receivers = new Map<string, Receiver>()
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #troubles: Troubles
  #open = 0

  constructor(time: VirtualTime, random: Random, troubles: Troubles = { any: () => true }) {
    this.#time = time
    this.#random = random
    this.#troubles = troubles
  }

  get open(): number {
    return this.#open
  }

  get all(): readonly Receiver[] {
    return [...this.#receivers.values()]
  }

  add(url: string, selection: Selection & { batch: boolean }): Receiver {
    const { kinds, addresses, batch } = selection
    const receiver: Receiver = {
      url,
      wishes: [{ kinds, addresses, afterSeq: -1, upToSeq: Number.POSITIVE_INFINITY }],
      forms: [batch],
      formSinceMs: this.#time.nowMs,
      secrets: [],
      isRotated: false,
      newest: undefined,
      pausedMs: undefined,
      deletedMs: undefined,
      accepted: [],
      refused: new Map(),
      mood: 'ok',
      status: 500,
      retryAfter: undefined,
    }
    this.#receivers.set(url, receiver)
    return receiver
  }

  /** The poster of one process. Like the real one it never rejects; after the process's death it never answers. */
  posterFor =
    (process: SimulatedProcess): OpenPoster =>
    () => {
      const running = new Set<(result: Omit<PostResult, 'durationMs'>) => void>()
      let isClosed = false
      return {
        prepare() {},
        post: (url, headers, body, isWanted = () => true) =>
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
            this.#time.after(this.#random.int(1, 120), () => {
              if (isWanted()) this.#receive(url, headers, String(body), answer)
              else end(failed('no longer wanted', 0))
            })
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
        // Some answers arrive after the service has stopped waiting.
        later(this.#random.int(1_000, 20_000), 200, null)
        break
      case 'oversized':
        later(backMs, 200, 'x'.repeat(1_024))
        break
      default:
        later(backMs, this.#random.pick([200, 201, 202, 204]), null)
    }
  }

  /** Whether every process knows by now of a change that was confirmed to the owner at that time. */
  #isKnown(sinceMs: number | undefined): boolean {
    if (sinceMs === undefined || this.#time.nowMs < sinceMs + KNOWN_WITHIN_MS) return false
    return !this.#troubles.any(sinceMs, this.#time.nowMs)
  }

  /** Every delivery is signed with the first secret, and after a rotation also with the newest one. */
  #checkSignatures(receiver: Receiver, headers: Readonly<Record<string, string>>, body: string): void {
    const [first] = receiver.secrets
    if (first === undefined) return
    const { newest, isRotated, url } = receiver
    const stamped = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const isSignedWith = (secret: string) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      const signature = createHmac('sha256', key).update(stamped).digest('base64')
      return headers['webhook-signature']?.split(' ').includes(`v1,${signature}`)
    }
    const plain = (secret: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
    if (!isSignedWith(first)) this.found.push(`8 a delivery to ${url} is not signed with its secret`)
    if (!isRotated && headers['X-Svc-Signature'] !== plain(first))
      this.found.push(`8 a delivery to ${url} has the wrong signature`)
    if (newest === undefined || !this.#isKnown(newest.sinceMs)) return
    if (!isSignedWith(newest.secret) || headers['X-Svc-Signature'] !== plain(newest.secret))
      this.found.push(`8 a delivery to ${url} is not signed with its new secret`)
    if (headers['X-Svc-Signature-Previous'] !== plain(first))
      this.found.push(`8 a delivery to ${url} is not signed with the secret before`)
  }

  #check(receiver: Receiver, headers: Readonly<Record<string, string>>, body: string): { id: string }[] {
    this.#checkSignatures(receiver, headers, body)
    if (this.#isKnown(receiver.deletedMs))
      this.found.push(`8 a delivery went to ${receiver.url}, which is deleted`)
    if (this.#isKnown(receiver.pausedMs))
      this.found.push(`8 a delivery went to ${receiver.url}, which is paused`)
    const parsed = JSON.parse(body) as unknown
    const isBatch = Array.isArray(parsed)
    if (!receiver.forms.includes(isBatch) && this.#isKnown(receiver.formSinceMs))
      this.found.push(`8 a delivery to ${receiver.url} has the wrong form`)
    const events = (isBatch ? parsed : [parsed]) as {
      id: string
      seq: number
      kind: string
      addresses: string[]
    }[]
    const texts = isBatch ? splitTexts(body) : [body]
    for (const [index, event] of events.entries()) {
      if (!wishesAt(receiver, event.seq).some((wish) => selects(wish, event)))
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

/** The selections that may have applied to an event. */
export function wishesAt({ wishes }: Pick<Receiver, 'wishes'>, seq: number): readonly Selection[] {
  return wishes.length === 1
    ? wishes
    : wishes.filter(({ afterSeq, upToSeq }) => seq > afterSeq && seq <= upToSeq)
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
