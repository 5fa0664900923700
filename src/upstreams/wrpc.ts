/**
 * One wRPC-JSON socket to one node.
 *
 *   connecting ──open──▶ open ──close / hang──▶ closed        (a closed one is never reused)
 *
 * The node answers one request at a time, in order, and answers no ping while it works. So a call that
 * outlives its time limit proves that everything behind it is stuck as well: the socket is ended and every
 * open call reports a fault. The pong is awaited only while no call is open. A caller that loses interest
 * (`signal`) does not end the socket: its answer is dropped when it comes.
 */
import type { Socket } from 'node:net'
import WebSocket from 'ws'
import { errorText, type Frame, sliceFrame } from './frame.ts'

export type WireFault = 'not_connected' | 'closed' | 'timeout' | 'malformed' | 'cancelled' | 'overloaded'

export type WireAnswer =
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

export interface WrpcSocket {
  readonly state: 'connecting' | 'open' | 'closed'
  /** Calls sent and not answered, also those nobody waits for any more. */
  readonly inFlight: number
  /** How long the node has been silent while a call waits; 0 when none waits. */
  silentMs(nowMs: number): number
  call(method: string, paramsText: string, options: WireCallOptions): Promise<WireAnswer>
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

interface Pending {
  answer: (answer: WireAnswer) => void
  timer: NodeJS.Timeout
}

export function openWrpcSocket(options: WrpcOptions): WrpcSocket {
  const socket = new WebSocket(options.url, {
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    handshakeTimeout: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
    followRedirects: false,
  })
  const pending = new Map<number, Pending>()
  let state: WrpcSocket['state'] = 'connecting'
  let nextId = 1
  let lastProgressMs = 0
  let awaitingPong = false
  let detail = 'closed by the node'
  let connection: Socket | undefined
  let corked = false

  const pinger = setInterval(() => {
    if (state !== 'open') return
    if (awaitingPong && pending.size === 0) {
      end('no pong')
    } else {
      awaitingPong = true
      socket.ping()
    }
  }, options.pingMs ?? DEFAULT_PING_MS)
  pinger.unref()

  function end(reason: string): void {
    detail = reason
    socket.terminate()
    closed()
  }

  function closed(): void {
    if (state === 'closed') return
    state = 'closed'
    clearInterval(pinger)
    for (const { answer, timer } of pending.values()) {
      clearTimeout(timer)
      answer({ kind: 'fault', fault: 'closed', sent: true, detail })
    }
    pending.clear()
    options.onClose?.(detail)
  }

  function receive(data: Buffer): void {
    lastProgressMs = performance.now()
    const frame = sliceFrame(data)
    if (frame === undefined) end('malformed frame')
    else if (frame.id !== undefined) settle(frame.id, answerOf(frame))
    else if (frame.method !== undefined && frame.params !== undefined) {
      options.onNotification?.(frame.method, frame.params)
    }
  }

  function settle(id: number, answer: WireAnswer): void {
    const waiting = pending.get(id)
    if (waiting === undefined) return
    pending.delete(id)
    clearTimeout(waiting.timer)
    waiting.answer(answer)
  }

  /** Frames of one turn of the loop leave in one write: a system call per frame was most of a call's cost. */
  function send(frame: string): void {
    if (!corked && connection !== undefined) {
      corked = true
      connection.cork()
      process.nextTick(() => {
        corked = false
        connection?.uncork()
      })
    }
    socket.send(frame)
  }

  socket.on('upgrade', (response) => {
    connection = response.socket
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
    silentMs: (nowMs) => (pending.size === 0 ? 0 : Math.max(0, nowMs - lastProgressMs)),
    call(method, paramsText, { timeoutMs, signal }) {
      if (state !== 'open') return Promise.resolve(fault('not_connected', false, `socket is ${state}`))
      if (pending.size >= MAX_IN_FLIGHT)
        return Promise.resolve(fault('overloaded', false, 'too many calls open'))
      if (signal?.aborted) return Promise.resolve(fault('cancelled', false, 'cancelled before it was sent'))
      return new Promise((resolve) => {
        const id = nextId++
        if (pending.size === 0) lastProgressMs = performance.now()
        const onAbort = () => resolve(fault('cancelled', true, 'cancelled'))
        const answer = (value: WireAnswer) => {
          signal?.removeEventListener('abort', onAbort)
          resolve(value)
        }
        const timer = setTimeout(() => {
          pending.delete(id)
          answer(fault('timeout', true, `no answer within ${timeoutMs} ms`))
          end(`${method} had no answer within ${timeoutMs} ms`)
        }, timeoutMs)
        signal?.addEventListener('abort', onAbort, { once: true })
        pending.set(id, { answer, timer })
        send(`{"id":${id},"method":"${method}","params":${paramsText}}`)
      })
    },
    close: () => end('closed by us'),
  }
}

function fault(kind: WireFault, sent: boolean, detail: string): WireAnswer {
  return { kind: 'fault', fault: kind, sent, detail }
}

function answerOf(frame: Frame): WireAnswer {
  if (frame.error !== undefined) return { kind: 'error', text: errorText(frame.error) }
  if (frame.params !== undefined) return { kind: 'result', bytes: frame.params }
  return fault('malformed', true, 'an answer without result and error')
}
