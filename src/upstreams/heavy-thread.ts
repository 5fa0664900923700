/** The main thread's side of the heavy thread: calls go over as messages, large answers come back by transfer. */
import { threadCalls } from '../kit/thread-calls.ts'
import { type HeavyCalls, type HeavyThreadData, unpackAnswer } from './heavy-messages.ts'
import type { NodeAnswer, WireCallOptions } from './wrpc.ts'

export interface HeavyThread {
  call(node: string, method: string, paramsText: string, options: WireCallOptions): Promise<NodeAnswer>
  inFlight(node: string): number
  close(): Promise<void>
}

const FILE = new URL('./heavy-worker.ts', import.meta.url)

export function startHeavyThread(data: HeavyThreadData): HeavyThread {
  const calls = threadCalls<HeavyCalls>(FILE, { name: 'heavy thread', data, startOnCall: true })
  const perNode = new Map<string, number>()
  let nextId = 1
  let isClosed = false

  /** A call that is aborted is answered at once; the thread then gives up its place. */
  function cancelled(callId: number, signal: AbortSignal | undefined): Promise<NodeAnswer> {
    return new Promise((resolve) => {
      signal?.addEventListener(
        'abort',
        () => {
          resolve({ kind: 'fault', fault: 'cancelled', sent: true, detail: 'cancelled' })
          calls.call('cancel', [callId]).catch(() => {})
        },
        { once: true },
      )
    })
  }

  async function send(...args: Parameters<HeavyCalls['send']>): Promise<NodeAnswer> {
    try {
      return unpackAnswer(await calls.call('send', args))
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      return { kind: 'fault', fault: 'closed', sent: true, detail }
    }
  }

  return {
    async call(node, method, paramsText, { timeoutMs, signal }) {
      if (isClosed || signal?.aborted) {
        const fault = isClosed ? 'not_connected' : 'cancelled'
        return { kind: 'fault', fault, sent: false, detail: fault }
      }
      const id = nextId++
      perNode.set(node, (perNode.get(node) ?? 0) + 1)
      const answer = send(id, { node, method, paramsText, timeoutMs })
      try {
        return await (signal === undefined ? answer : Promise.race([answer, cancelled(id, signal)]))
      } finally {
        perNode.set(node, (perNode.get(node) ?? 1) - 1)
      }
    },
    inFlight: (node) => perNode.get(node) ?? 0,
    async close() {
      isClosed = true
      await calls.terminate()
    },
  }
}
