/** The indexer in a thread of its own, as the rest of the process sees it: answers go over by transfer. */
import { Worker } from 'node:worker_threads'
import type { Network } from '../core/chain/network.ts'
import type { Indexer } from '../indexer/indexer.ts'
import type { NotificationBatch } from '../relay/notification-queue.ts'
import type { IndexReply, IndexRequest, IndexThreadData } from './index-thread.ts'

export interface IndexWorker {
  readonly indexer: Indexer
  /** Resolves with the reason when the thread ends without being told to. */
  readonly ended: Promise<Error>
  close(): Promise<void>
}

export interface IndexWorkerOptions {
  file: string
  network: Network
  dropAfterMs: number
  onUnreadable: (detail: string) => void
}

export const INDEX_THREAD = 'indexer'

export function startIndexWorker(options: IndexWorkerOptions): IndexWorker {
  const { file, network, dropAfterMs, onUnreadable } = options
  const workerData: IndexThreadData = { file, network, dropAfterMs }
  const worker = new Worker(new URL('./index-thread.ts', import.meta.url), {
    workerData,
    name: INDEX_THREAD,
  })
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  let nextId = 1
  let dead: Error | undefined
  let tellEnd = (_reason: Error) => {}
  const ended = new Promise<Error>((resolve) => {
    tellEnd = resolve
  })
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const fail = (error: Error) => {
    dead ??= error
    tellEnd(dead)
    for (const { reject } of waiting.values()) reject(dead)
    waiting.clear()
  }
  worker.on('message', (reply: IndexReply) => {
    if ('unreadable' in reply) return onUnreadable(reply.unreadable)
    const caller = waiting.get(reply.id)
    waiting.delete(reply.id)
    if ('error' in reply) caller?.reject(new Error(reply.error))
    else caller?.resolve(reply.value)
  })
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))))
  worker.on('exit', () => fail(new Error('the indexer has ended')))

  function call<Name extends keyof Indexer>(
    operation: Name,
    args: Parameters<Indexer[Name]>,
    transfer: ArrayBuffer[] = [],
  ): ReturnType<Indexer[Name]> {
    const result = new Promise((resolve, reject) => {
      if (dead !== undefined) return reject(dead)
      const request: IndexRequest = { id: nextId++, operation, args }
      waiting.set(request.id, { resolve, reject })
      worker.postMessage(request, transfer)
    })
    return result as ReturnType<Indexer[Name]>
  }

  return {
    indexer: {
      checkpoint: () => call('checkpoint', []),
      chainBlockBelow: (steps) => call('chainBlockBelow', [steps]),
      startAt: (block, gap) => call('startAt', [block, gap]),
      recordGap: (gap) => call('recordGap', [gap]),
      applyChain: (startHash, given, force) => {
        const bytes = own(given)
        return call('applyChain', [startHash, bytes, force], [bytes.buffer])
      },
      applyMempool: (given) => {
        const bytes = own(given)
        return call('applyMempool', [bytes], [bytes.buffer])
      },
      applyNotifications: (given) => {
        const { batch, buffers } = ownBatch(given)
        return call('applyNotifications', [batch], buffers)
      },
      applyBlocks: (given) => {
        const bytes = own(given)
        return call('applyBlocks', [bytes], [bytes.buffer])
      },
      prune: (events, index) => call('prune', [events, index]),
    },
    ended,
    async close() {
      if (dead === undefined) worker.postMessage('close')
      await exited
    },
  }
}

/** Bytes that nobody else looks at: the answer's own buffer may be shared with others. */
function own(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

function ownBatch(given: NotificationBatch): { batch: NotificationBatch; buffers: ArrayBuffer[] } {
  const blocks = given.blocks.map(own)
  const daaScore = given.daaScore && own(given.daaScore)
  const blueScore = given.blueScore && own(given.blueScore)
  const all = [...blocks, ...(daaScore ? [daaScore] : []), ...(blueScore ? [blueScore] : [])]
  return {
    batch: { blocks, ...(daaScore ? { daaScore } : {}), ...(blueScore ? { blueScore } : {}) },
    buffers: all.map((bytes) => bytes.buffer),
  }
}
