/** The main thread's side of the heavy thread: calls go over as messages, large answers come back by transfer. */
import { Worker } from 'node:worker_threads'
import {
  type FromHeavyThread,
  type HeavyThreadData,
  type ToHeavyThread,
  unpackAnswer,
} from './heavy-messages.ts'
import type { NodeAnswer, WireCallOptions } from './wrpc.ts'

export interface HeavyThread {
  call(node: string, method: string, paramsText: string, options: WireCallOptions): Promise<NodeAnswer>
  inFlight(node: string): number
  close(): Promise<void>
}

interface Pending {
  node: string
  answer: (answer: NodeAnswer) => void
}

export function startHeavyThread(data: HeavyThreadData): HeavyThread {
  const pending = new Map<number, Pending>()
  const perNode = new Map<string, number>()
  let nextId = 1
  let closed = false
  let worker: Worker | undefined

  /** The thread is started by the first call, and anew after it broke. */
  function thread(): Worker {
    if (worker !== undefined) return worker
    const started = new Worker(new URL('./heavy-worker.ts', import.meta.url), { workerData: data })
    started.on('message', (message: FromHeavyThread) => settle(message.id, unpackAnswer(message)))
    started.on('error', (error) => lost(started, error instanceof Error ? error.message : String(error)))
    started.on('exit', () => lost(started, 'heavy thread ended'))
    started.unref()
    worker = started
    return started
  }

  function lost(which: Worker, detail: string): void {
    if (worker !== which) return
    worker = undefined
    for (const id of [...pending.keys()]) settle(id, { kind: 'fault', fault: 'closed', sent: true, detail })
  }

  function settle(id: number, answer: NodeAnswer): void {
    const waiting = pending.get(id)
    if (waiting === undefined) return
    pending.delete(id)
    perNode.set(waiting.node, (perNode.get(waiting.node) ?? 1) - 1)
    waiting.answer(answer)
  }

  const say = (to: Worker, message: ToHeavyThread) => to.postMessage(message)

  return {
    call(node, method, paramsText, { timeoutMs, signal }) {
      if (closed || signal?.aborted) {
        const fault = closed ? 'not_connected' : 'cancelled'
        return Promise.resolve({ kind: 'fault', fault, sent: false, detail: fault })
      }
      return new Promise((resolve) => {
        const id = nextId++
        const to = thread()
        const onAbort = () => {
          if (worker === to) say(to, { op: 'cancel', id })
          settle(id, { kind: 'fault', fault: 'cancelled', sent: true, detail: 'cancelled' })
        }
        const answer = (value: NodeAnswer) => {
          signal?.removeEventListener('abort', onAbort)
          resolve(value)
        }
        signal?.addEventListener('abort', onAbort, { once: true })
        pending.set(id, { node, answer })
        perNode.set(node, (perNode.get(node) ?? 0) + 1)
        say(to, { op: 'call', id, node, method, paramsText, timeoutMs })
      })
    },
    inFlight: (node) => perNode.get(node) ?? 0,
    async close() {
      closed = true
      const ending = worker
      if (ending === undefined) return
      say(ending, { op: 'close' })
      await ending.terminate()
      lost(ending, 'closed by us')
    },
  }
}
