/**
 * The heavy sockets of one node: opened when needed, one call on each at a time (the node would serve a second
 * one only after the first). Calls beyond the set wait in a bounded queue. A call that is cancelled leaves its
 * socket busy until the node has answered; one that outlives its time limit ends the socket.
 */
import { elapsedMs, runEvery } from '../kit/clock.ts'
import type { NodePorts } from './node-ports.ts'
import { faultAnswer, type NodeAnswer } from './open-calls.ts'
import { type WireCallOptions, WrpcSocket } from './wrpc.ts'

/** Heavy calls to the nodes of an environment, wherever their answers are received. */
export interface HeavyCalls {
  call(node: string, method: string, paramsText: string, options: WireCallOptions): Promise<NodeAnswer>
  inFlight(node: string): number
  close(): Promise<void>
}

export interface HeavyNodes {
  readonly nodes: readonly { readonly name: string; readonly url: string }[]
  readonly socketsPerNode: number
  readonly maxWaitingPerNode: number
}

export interface HeavyConnections {
  call(method: string, paramsText: string, options: WireCallOptions): Promise<NodeAnswer>
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
  let closed = false
  let inFlight = 0

  const stopSweeping = runEvery(clock, SWEEP_EVERY_MS, () => {
    const oldest = elapsedMs(clock) - (options.idleMs ?? DEFAULT_IDLE_MS)
    while (idle[0] !== undefined && idle[0].since < oldest) idle.shift()?.socket.close()
  })

  function free(socket: WrpcSocket): void {
    if (socket.state !== 'open' || closed) return
    const next = waiting.shift()
    if (next !== undefined) next.start(socket)
    else idle.push({ socket, since: elapsedMs(clock) })
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

  /** A node that takes no connection must fail the waiting calls now, not at their deadlines. */
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
      if (inFlight >= options.sockets + options.maxWaiting)
        return Promise.resolve(faultAnswer('overloaded', false, 'heavy queue is full'))
      inFlight++
      return new Promise<NodeAnswer>((resolve) => {
        const entry: Waiting = {
          start: (socket) => {
            callOptions.signal?.removeEventListener('abort', onAbort)
            const sent = socket.call(method, paramsText, { timeoutMs: callOptions.timeoutMs })
            const cancelled = () => resolve(faultAnswer('cancelled', true, 'cancelled'))
            callOptions.signal?.addEventListener('abort', cancelled, { once: true })
            void sent.then((answer) => {
              callOptions.signal?.removeEventListener('abort', cancelled)
              resolve(answer)
              free(socket)
            })
          },
          refuse: resolve,
        }
        const onAbort = () => {
          const at = waiting.indexOf(entry)
          if (at >= 0) waiting.splice(at, 1)
          resolve(faultAnswer('cancelled', false, 'cancelled before it was sent'))
        }
        callOptions.signal?.addEventListener('abort', onAbort, { once: true })
        const ready = idle.pop()
        if (ready !== undefined) return entry.start(ready.socket)
        waiting.push(entry)
        if (all.size < options.sockets) open()
      }).finally(() => inFlight--)
    },
    close() {
      closed = true
      stopSweeping()
      for (const { refuse } of waiting.splice(0)) refuse(faultAnswer('not_connected', false, 'closed'))
      for (const socket of all) socket.close()
    },
  }
}
