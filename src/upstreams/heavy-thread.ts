/**
 * Runs heavy calls in a separate thread. It receives and slices large answers, and transfers them back without a copy.
 */
import { ThreadEndedError, threadCalls } from '../kit/thread-calls.ts'
import type { HeavyCalls, HeavyNodes } from './heavy-connections.ts'
import type { HeavyThreadCalls, TransferredAnswer } from './heavy-worker.ts'
import { faultAnswer, type NodeAnswer } from './open-calls.ts'

export function startHeavyThread(data: HeavyNodes): HeavyCalls {
  const thread = threadCalls<HeavyThreadCalls>(new URL('./heavy-worker.ts', import.meta.url), {
    name: 'heavy node connections',
    data,
    startOnCall: true,
  })
  const inFlight = new Map<string, number>()
  const count = (node: string, change: number) => inFlight.set(node, (inFlight.get(node) ?? 0) + change)
  let nextId = 1
  let isClosed = false

  return {
    async call(node, method, paramsText, { timeoutMs, signal, isPriority = false }) {
      if (isClosed) return faultAnswer('not_connected', false, 'not_connected')
      if (signal?.aborted) return faultAnswer('cancelled', false, 'cancelled')
      const id = nextId++
      // Only the thread knows whether the call was sent, so the thread answers it as cancelled.
      const onAbort = () => void thread.call('cancel', [id]).catch(() => {})
      signal?.addEventListener('abort', onAbort, { once: true })
      count(node, 1)
      const answer = await thread
        .call('ask', [id, node, method, paramsText, { timeoutMs, isPriority }])
        .then(received, threadLost)
      signal?.removeEventListener('abort', onAbort)
      count(node, -1)
      return answer
    },
    inFlight: (node) => inFlight.get(node) ?? 0,
    async close() {
      isClosed = true
      await thread.terminate()
    },
  }
}

function received(answer: TransferredAnswer): NodeAnswer {
  if (answer.kind !== 'result') return answer
  return { kind: 'result', bytes: Buffer.from(answer.memory, answer.offset, answer.length) }
}

function threadLost(error: unknown): NodeAnswer {
  if (!(error instanceof ThreadEndedError)) throw error
  return faultAnswer('closed', true, error.message)
}
