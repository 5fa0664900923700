/**
 * The heavy sockets of one node. They are opened on demand and carry one call at a time, because the node would serve a
 * second call only after the first. Further calls wait in a bounded queue. A cancelled call keeps its socket busy until
 * the node has answered; a call that exceeds its time limit ends its socket.
 *
 * Ordinary calls never take the last socket: calls of the index go first and must not wait behind them.
 */
import { elapsedMs, runEvery } from '../kit/clock.ts'
import type { NodePorts } from './node-ports.ts'
import { faultAnswer, type NodeAnswer } from './open-calls.ts'
import { type WireCallOptions, WrpcSocket } from './wrpc.ts'

/** Heavy calls to the nodes of an environment, on whichever thread the answers are received. */
export interface HeavyCalls {
  call(node: string, method: string, paramsText: string, options: HeavyCallOptions): Promise<NodeAnswer>
  inFlight(node: string): number
  close(): Promise<void>
}

interface HeavyCallOptions extends WireCallOptions {
  isPriority?: boolean
}

export interface HeavyNodes {
  readonly nodes: readonly { readonly name: string; readonly url: string }[]
  readonly socketsPerNode: number
  readonly maxWaitingPerNode: number
}

export interface HeavyConnections {
  call(method: string, paramsText: string, options: HeavyCallOptions): Promise<NodeAnswer>
  close(): void
}

export interface HeavyConnectionsOptions {
  url: string
  ports: Pick<NodePorts, 'clock' | 'dial'>
  sockets: number
  maxWaiting: number
  /** An idle socket stays open this long. */
  idleMs?: number
}

interface Waiting {
  readonly isPriority: boolean
  start: (socket: WrpcSocket) => void
  refuse: (answer: NodeAnswer) => void
}

const DEFAULT_IDLE_MS = 60_000
const SWEEP_EVERY_MS = 5_000
const MAX_FRAME_BYTES = 128 * 1024 * 1024

export function openHeavyConnections(options: HeavyConnectionsOptions): HeavyConnections {
  const { clock, dial } = options.ports
  const all = new Set<WrpcSocket>()
  const idle: { socket: WrpcSocket; since: number }[] = []
  const waiting: Waiting[] = []
  const maxOrdinary = Math.max(1, options.sockets - 1)
  let closed = false
  /** Sockets that are busy with an ordinary call. */
  let ordinary = 0
  const inFlight = { priority: 0, ordinary: 0 }
  /** When an ordinary call was last answered. */
  let answeredMs = 0

  const stopSweeping = runEvery(clock, SWEEP_EVERY_MS, () => {
    const oldest = elapsedMs(clock) - (options.idleMs ?? DEFAULT_IDLE_MS)
    while (idle[0] !== undefined && idle[0].since < oldest) idle.shift()?.socket.close()
  })

  function free(socket: WrpcSocket): void {
    if (socket.state !== 'open' || closed) return
    idle.push({ socket, since: elapsedMs(clock) })
    startWaiting()
  }

  function startWaiting(): void {
    for (let at = nextWaiting(); at >= 0; at = nextWaiting()) {
      const ready = idle.pop()
      if (ready === undefined) return
      waiting.splice(at, 1)[0]?.start(ready.socket)
    }
  }

  /** The index of the next call that may start, or -1. */
  function nextWaiting(): number {
    const first = waiting.findIndex(({ isPriority }) => isPriority)
    return first >= 0 || waiting.length === 0 || ordinary >= maxOrdinary ? first : 0
  }

  function open(): void {
    let opened = false
    const socket = new WrpcSocket({
      url: options.url,
      dial,
      clock,
      maxFrameBytes: MAX_FRAME_BYTES,
      onOpen: () => {
        opened = true
        free(socket)
      },
      onClose: (detail) => {
        all.delete(socket)
        const at = idle.findIndex((entry) => entry.socket === socket)
        if (at >= 0) idle.splice(at, 1)
        if (waiting.length === 0 || closed) return
        if (opened) open()
        else refuseUnlessServed(detail)
      },
    })
    all.add(socket)
  }

  /** If a node accepts no connection, the waiting calls fail at once instead of at their deadlines. */
  function refuseUnlessServed(detail: string): void {
    const served = [...all].some((socket) => socket.state === 'open')
    if (!served)
      for (const { refuse } of waiting.splice(0)) refuse(faultAnswer('not_connected', false, detail))
  }

  return {
    call(method, paramsText, callOptions) {
      if (closed) return Promise.resolve(faultAnswer('not_connected', false, 'closed'))
      if (callOptions.signal?.aborted)
        return Promise.resolve(faultAnswer('cancelled', false, 'cancelled before it was sent'))
      const { isPriority = false } = callOptions
      const kind = isPriority ? 'priority' : 'ordinary'
      if (inFlight[kind] >= options.sockets + options.maxWaiting)
        return Promise.resolve(faultAnswer('overloaded', false, 'heavy queue is full'))
      inFlight[kind]++
      const cancelledSince = (sinceMs: number, isSent: boolean): NodeAnswer => {
        const detail = isSent ? 'cancelled' : 'cancelled before it was sent'
        const silentMs = elapsedMs(clock) - sinceMs
        return { kind: 'fault', fault: 'cancelled', sent: isSent, detail, silentMs }
      }
      const askedMs = elapsedMs(clock)
      return new Promise<NodeAnswer>((resolve) => {
        const entry: Waiting = {
          isPriority,
          start: (socket) => {
            if (!isPriority) ordinary++
            callOptions.signal?.removeEventListener('abort', onAbort)
            const sent = socket.call(method, paramsText, { timeoutMs: callOptions.timeoutMs })
            const startedMs = elapsedMs(clock)
            const cancelled = () => resolve(cancelledSince(startedMs, true))
            callOptions.signal?.addEventListener('abort', cancelled, { once: true })
            void sent.then((answer) => {
              callOptions.signal?.removeEventListener('abort', cancelled)
              resolve(answer)
              if (!isPriority) {
                ordinary--
                if (answer.kind !== 'fault') answeredMs = elapsedMs(clock)
              }
              free(socket)
              // If this socket has ended, an idle one may still serve a waiting call.
              startWaiting()
            })
          },
          refuse: resolve,
        }
        const onAbort = () => {
          const at = waiting.indexOf(entry)
          if (at >= 0) waiting.splice(at, 1)
          resolve(cancelledSince(Math.max(askedMs, answeredMs), false))
        }
        callOptions.signal?.addEventListener('abort', onAbort, { once: true })
        waiting.push(entry)
        startWaiting()
        const isStartable = isPriority || ordinary < maxOrdinary
        if (waiting.includes(entry) && isStartable && all.size < options.sockets) open()
      }).finally(() => inFlight[kind]--)
    },
    close() {
      closed = true
      stopSweeping()
      for (const { refuse } of waiting.splice(0)) refuse(faultAnswer('not_connected', false, 'closed'))
      for (const socket of all) socket.close()
    },
  }
}
