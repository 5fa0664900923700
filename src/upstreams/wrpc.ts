/**
 * One wRPC-JSON socket to one node.
 *
 *   connecting ──open──▶ open ──close / hang──▶ closed        (a closed one is never reused)
 *
 * The node answers one request at a time, in order, and answers no ping while it works. So a call that
 * outlives its time limit proves that everything behind it is stuck as well: the socket is ended and every
 * open call reports a fault. The pong is awaited only while no call is open. A caller that loses interest
 * (`cancel`) does not end the socket: what has not left yet does not leave, and the answer to what has left is
 * dropped when it comes. Calls of one turn of the loop leave in one write: a system call per call was most of
 * its cost.
 */
import type { Socket } from 'node:net'
import WebSocket from 'ws'
import { answerPings } from '../kit/answer-pings.ts'
import { createDeadlineTimer } from '../kit/deadline-timer.ts'
import { ignoreSocketErrors } from '../kit/socket-errors.ts'
import { createFrameWriter } from './client-frames.ts'
import { errorText, sliceMessage, type WrpcMessage } from './wrpc-message.ts'

export type WireFault = 'not_connected' | 'closed' | 'timeout' | 'malformed' | 'cancelled' | 'overloaded'

export type NodeAnswer =
  | { kind: 'result'; bytes: Buffer }
  | { kind: 'error'; text: string }
  /** `sent`: the request may have reached the node. */
  | { kind: 'fault'; fault: WireFault; sent: boolean; detail: string }

export interface WrpcOptions {
  url: string
  onOpen?: () => void
  /** Called once, also when the socket never opened. */
  onClose?: (detail: string) => void
  onNotification?: (method: string, params: Buffer) => void
  pingMs?: number
  connectTimeoutMs?: number
}

/** A call on its way. */
export interface PendingCall {
  /** The caller lost interest: it is answered as cancelled, unless it was answered already. */
  cancel(): void
}

/** Gets the answer, exactly once; before `ask` returns when nothing could be sent. */
export type OnAnswer = (answer: NodeAnswer) => void

export interface WrpcSocket {
  readonly state: 'connecting' | 'open' | 'closed'
  /** Calls not answered, also those nobody waits for any more. */
  readonly inFlight: number
  /** Calls that leave at the end of this turn of the loop. */
  readonly leaving: number
  /** How long the node has been silent while a call waits; 0 when none waits. */
  silentMs(nowMs: number): number
  ask(method: string, paramsText: string, timeoutMs: number, onAnswer: OnAnswer): PendingCall | undefined
  call(method: string, paramsText: string, options: WireCallOptions): Promise<NodeAnswer>
  close(): void
}

export interface WireCallOptions {
  timeoutMs: number
  signal?: AbortSignal
}

const MAX_FRAME_BYTES = 128 * 1024 * 1024
const DEFAULT_PING_MS = 5_000
const DEFAULT_CONNECT_TIMEOUT_MS = 4_000
/** One socket is served in order: more than this waiting is a queue, not a pipeline. */
const MAX_IN_FLIGHT = 512
/** How exact the time limits of calls are. */
const TICK_MS = 20

class OpenCall implements PendingCall {
  readonly id: number
  readonly method: string
  readonly endsAtMs: number
  readonly timeoutMs: number
  /** Empty once it has left. */
  text: string
  #onAnswer: OnAnswer | undefined

  constructor(id: number, method: string, paramsText: string, timeoutMs: number, onAnswer: OnAnswer) {
    this.id = id
    this.method = method
    this.timeoutMs = timeoutMs
    this.endsAtMs = performance.now() + timeoutMs
    this.text = `{"id":${id},"method":"${method}","params":${paramsText}}`
    this.#onAnswer = onAnswer
  }

  get waiting(): boolean {
    return this.#onAnswer !== undefined
  }

  answer(answer: NodeAnswer): void {
    const tell = this.#onAnswer
    this.#onAnswer = undefined
    tell?.(answer)
  }

  cancel(): void {
    const sent = this.text === ''
    this.answer(fault('cancelled', sent, sent ? 'cancelled' : 'cancelled before it was sent'))
  }
}

export function openWrpcSocket(options: WrpcOptions): WrpcSocket {
  const socket = new WebSocket(options.url, {
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    autoPong: false,
    handshakeTimeout: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
    followRedirects: false,
  })
  ignoreSocketErrors(socket)
  answerPings(socket)
  const framesOf = createFrameWriter()
  const pending = new Map<number, OpenCall>()
  let leaving: OpenCall[] = []
  let state: WrpcSocket['state'] = 'connecting'
  let nextId = 1
  let lastProgressMs = 0
  let awaitingPong = false
  let detail = 'closed by the node'
  let connection: Socket | undefined

  const pinger = setInterval(() => {
    if (state !== 'open') return
    if (awaitingPong && pending.size === 0) {
      // The loop may have been stuck: a pong that has arrived is read first.
      setImmediate(() => {
        if (awaitingPong && pending.size === 0) end('no pong')
      })
    } else {
      awaitingPong = true
      socket.ping()
    }
  }, options.pingMs ?? DEFAULT_PING_MS)
  pinger.unref()

  const limits = createDeadlineTimer(TICK_MS, (nowMs) => {
    for (const call of pending.values()) {
      if (nowMs < call.endsAtMs) continue
      const { id, method, timeoutMs } = call
      pending.delete(id)
      call.answer(fault('timeout', call.text === '', `no answer within ${timeoutMs} ms`))
      end(`${method} had no answer within ${timeoutMs} ms`)
      return false
    }
    return pending.size > 0
  })

  function end(reason: string): void {
    detail = reason
    socket.terminate()
    closed()
  }

  function closed(): void {
    if (state === 'closed') return
    state = 'closed'
    clearInterval(pinger)
    limits.stop()
    leaving = []
    const open = [...pending.values()]
    pending.clear()
    for (const call of open) call.answer(fault('closed', call.text === '', detail))
    options.onClose?.(detail)
  }

  function receive(data: Buffer): void {
    lastProgressMs = performance.now()
    const frame = sliceMessage(data)
    if (frame === undefined) end('malformed frame')
    else if (frame.id !== undefined) settle(frame.id, frame)
    else if (frame.method !== undefined && frame.params !== undefined) {
      options.onNotification?.(frame.method, frame.params)
    }
  }

  function settle(id: number, frame: WrpcMessage): void {
    const call = pending.get(id)
    if (call === undefined) return
    pending.delete(id)
    call.answer(answerOf(frame))
  }

  /** Frames go to the connection as they are: everything that `ws` itself sends leaves whole as well. */
  function flush(): void {
    const calls = leaving
    leaving = []
    const texts: string[] = []
    for (const call of calls) {
      if (call.waiting) texts.push(call.text)
      else pending.delete(call.id)
      call.text = ''
    }
    if (texts.length > 0) connection?.write(framesOf(texts))
  }

  function ask(
    method: string,
    paramsText: string,
    timeoutMs: number,
    onAnswer: OnAnswer,
  ): PendingCall | undefined {
    const unable =
      state !== 'open'
        ? fault('not_connected', false, `socket is ${state}`)
        : pending.size >= MAX_IN_FLIGHT
          ? fault('overloaded', false, 'too many calls open')
          : undefined
    if (unable !== undefined) {
      onAnswer(unable)
      return undefined
    }
    const call = new OpenCall(nextId++, method, paramsText, timeoutMs, onAnswer)
    if (pending.size === 0) lastProgressMs = performance.now()
    pending.set(call.id, call)
    if (leaving.push(call) === 1) setImmediate(flush)
    limits.start()
    return call
  }

  socket.on('upgrade', (response) => {
    connection = response.socket
    ignoreSocketErrors(connection)
  })
  socket.on('open', () => {
    state = 'open'
    lastProgressMs = performance.now()
    options.onOpen?.()
  })
  socket.on('message', (data) => receive(data as Buffer))
  socket.on('pong', () => {
    awaitingPong = false
  })
  socket.on('error', (error) => {
    detail = error.message
  })
  socket.on('close', closed)

  return {
    get state() {
      return state
    },
    get inFlight() {
      return pending.size
    },
    get leaving() {
      return leaving.length
    },
    silentMs: (nowMs) => (pending.size === 0 ? 0 : Math.max(0, nowMs - lastProgressMs)),
    ask,
    call: (method, paramsText, { timeoutMs, signal }) => {
      if (signal?.aborted) return Promise.resolve(fault('cancelled', false, 'cancelled before it was sent'))
      return new Promise((resolve) => {
        const onAbort = () => ticket?.cancel()
        const ticket = ask(method, paramsText, timeoutMs, (answer) => {
          signal?.removeEventListener('abort', onAbort)
          resolve(answer)
        })
        if (ticket !== undefined) signal?.addEventListener('abort', onAbort, { once: true })
      })
    },
    close: () => end('closed by us'),
  }
}

function fault(kind: WireFault, sent: boolean, detail: string): NodeAnswer {
  return { kind: 'fault', fault: kind, sent, detail }
}

function answerOf(frame: WrpcMessage): NodeAnswer {
  if (frame.error !== undefined) return { kind: 'error', text: errorText(frame.error) }
  if (frame.params !== undefined) return { kind: 'result', bytes: frame.params }
  return fault('malformed', true, 'an answer without result and error')
}
