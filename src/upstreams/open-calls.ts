/**
 * The calls of one socket: not yet sent, waiting for an answer, or abandoned by the caller. This class does no I/O
 * and reads no clock: its owner passes the time and sends the texts that `takeLeaving` returns.
 *
 *   add ──▶ leaving ──takeLeaving──▶ sent ──settle──▶ answered
 *              └────────────────────────┴──── cancel, expire, failAll ──▶ answered with a fault
 */
import { errorText, type WrpcMessage } from './wrpc-message.ts'

export type WireFault = 'not_connected' | 'closed' | 'timeout' | 'malformed' | 'cancelled' | 'overloaded'

export type NodeAnswer =
  | { kind: 'result'; bytes: Buffer }
  | { kind: 'error'; text: string }
  /**
   * `sent`: the request may have reached the node. `silentMs`, for a cancelled call that may have queued behind others:
   * how long the node had answered neither this call nor those before it.
   */
  | { kind: 'fault'; fault: WireFault; sent: boolean; detail: string; silentMs?: number }

/** A call whose answer is awaited. */
export interface PendingCall {
  /** The caller gives up: the call is answered as cancelled, unless it was already answered. */
  cancel(): void
}

/** Called exactly once. If nothing could be sent, it is called before `ask` returns. */
export type OnAnswer = (answer: NodeAnswer) => void

/** The node serves a socket in order, so more open calls than this are a queue and not a pipeline. */
const MAX_IN_FLIGHT = 512

export class OpenCalls {
  readonly #calls = new Map<number, OpenCall>()
  #leaving: OpenCall[] = []
  #nextId = 1

  /** Unanswered calls, including abandoned ones. */
  get size(): number {
    return this.#calls.size
  }

  get leaving(): number {
    return this.#leaving.length
  }

  get isFull(): boolean {
    return this.#calls.size >= MAX_IN_FLIGHT
  }

  add(
    call: { method: string; paramsText: string; timeoutMs: number },
    nowMs: number,
    onAnswer: OnAnswer,
  ): PendingCall {
    const open = new OpenCall(this.#nextId++, call, nowMs, onAnswer)
    this.#calls.set(open.id, open)
    this.#leaving.push(open)
    return open
  }

  /** The texts to send now. Calls that were abandoned before they were sent are dropped. */
  takeLeaving(): string[] {
    const calls = this.#leaving
    this.#leaving = []
    const texts: string[] = []
    for (const call of calls) {
      if (call.isAwaited) texts.push(call.text)
      else this.#calls.delete(call.id)
      call.text = ''
    }
    return texts
  }

  /** False if no call has this id. An abandoned call keeps its id until its answer arrives. */
  settle(id: number, message: WrpcMessage): boolean {
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    call?.answer(answerOf(message, call.method))
    return call !== undefined
  }

  /** Fails the first call whose time limit has passed and returns the reason; undefined if there is no such call. */
  expire(nowMs: number): string | undefined {
    for (const call of this.#calls.values()) {
      if (nowMs < call.endsAtMs) continue
      const { id, method, timeoutMs } = call
      this.#calls.delete(id)
      call.answer(faultAnswer('timeout', call.isSent, `no answer within ${timeoutMs} ms`))
      return `${method} had no answer within ${timeoutMs} ms`
    }
    return undefined
  }

  /** When the next call times out; undefined if no call is open. */
  firstEndMs(): number | undefined {
    let first: number | undefined
    for (const { endsAtMs } of this.#calls.values()) first = Math.min(first ?? endsAtMs, endsAtMs)
    return first
  }

  failAll(detail: string): void {
    this.#leaving = []
    const open = [...this.#calls.values()]
    this.#calls.clear()
    for (const call of open) call.answer(faultAnswer('closed', call.isSent, detail))
  }
}

class OpenCall implements PendingCall {
  readonly id: number
  readonly method: string
  readonly endsAtMs: number
  readonly timeoutMs: number
  /** Empty once it was sent. */
  text: string
  #onAnswer: OnAnswer | undefined

  constructor(
    id: number,
    { method, paramsText, timeoutMs }: { method: string; paramsText: string; timeoutMs: number },
    nowMs: number,
    onAnswer: OnAnswer,
  ) {
    this.id = id
    this.method = method
    this.timeoutMs = timeoutMs
    this.endsAtMs = nowMs + timeoutMs
    this.text = `{"id":${id},"method":"${method}","params":${paramsText}}`
    this.#onAnswer = onAnswer
  }

  get isAwaited(): boolean {
    return this.#onAnswer !== undefined
  }

  get isSent(): boolean {
    return this.text === ''
  }

  answer(answer: NodeAnswer): void {
    const onAnswer = this.#onAnswer
    this.#onAnswer = undefined
    onAnswer?.(answer)
  }

  cancel(): void {
    const detail = this.isSent ? 'cancelled' : 'cancelled before it was sent'
    this.answer(faultAnswer('cancelled', this.isSent, detail))
  }
}

export function faultAnswer(fault: WireFault, sent: boolean, detail: string): NodeAnswer {
  return { kind: 'fault', fault, sent, detail }
}

const OPEN = '{'.charCodeAt(0)
/**
 * A result becomes part of a caller's answer unread, so it has to be JSON. Longer ones are only cut out by their
 * brackets, because parsing them would hold the thread.
 */
const MAX_CHECKED_BYTES = 65_536

/** A node repeats the method with every answer, and every result is an object. */
function answerOf({ method, params, error }: WrpcMessage, asked: string): NodeAnswer {
  if (method !== undefined && method !== asked)
    return faultAnswer('malformed', true, `an answer to ${method} in the place of ${asked}`)
  if (error !== undefined) return { kind: 'error', text: errorText(error) }
  if (params?.[0] !== OPEN) return faultAnswer('malformed', true, 'an answer without result and error')
  if (params.length <= MAX_CHECKED_BYTES && !isJson(params))
    return faultAnswer('malformed', true, 'a result that is not JSON')
  return { kind: 'result', bytes: params }
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString('utf8'))
    return true
  } catch {
    return false
  }
}
