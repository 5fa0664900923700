/** The indexer in a thread of its own, as the rest of the process sees it: answers go over by transfer. */
import type { Indexer } from '../indexer/indexer.ts'
import { threadCalls } from '../kit/thread-calls.ts'
import type { NotificationBatch } from '../relay/notification-queue.ts'
import type { IndexThreadData } from './index-thread.ts'

export interface IndexWorker {
  readonly indexer: Indexer
  /** Resolves when the thread has ended: with the reason, or undefined after `close`. */
  readonly ended: Promise<Error | undefined>
  close(): Promise<void>
}

export const INDEX_THREAD = 'indexer'

const FILE = new URL('./index-thread.ts', import.meta.url)

export function startIndexWorker({
  onUnreadable,
  ...data
}: IndexThreadData & { onUnreadable: (detail: string) => void }): IndexWorker {
  const { call, ended, close } = threadCalls<Indexer>(FILE, {
    name: INDEX_THREAD,
    data,
    onEvent: (detail) => onUnreadable(String(detail)),
  })
  return {
    indexer: {
      checkpoint: () => call('checkpoint', []),
      chainBlockBelow: (steps) => call('chainBlockBelow', [steps]),
      seenTo: () => call('seenTo', []),
      recordedTo: () => call('recordedTo', []),
      startAt: (block, gaps) => call('startAt', [block, gaps]),
      knowEarlier: (given, bounds) => {
        const bytes = own(given)
        return call('knowEarlier', [bytes, bounds], { transfer: [bytes.buffer] })
      },
      recordGap: (gap) => call('recordGap', [gap]),
      applyChain: (startHash, given, force) => {
        const bytes = own(given)
        return call('applyChain', [startHash, bytes, force], { transfer: [bytes.buffer] })
      },
      applyMempool: (given, mempool) => {
        const bytes = own(given)
        return call('applyMempool', [bytes, mempool], { transfer: [bytes.buffer] })
      },
      applyNotifications: (given, seenTo) => {
        const { batch, transfer } = ownBatch(given)
        return call('applyNotifications', [batch, seenTo], { transfer })
      },
      applyBlocks: (lowHash, given) => {
        const bytes = own(given)
        return call('applyBlocks', [lowHash, bytes], { transfer: [bytes.buffer] })
      },
      prune: (events, index) => call('prune', [events, index]),
    },
    ended,
    close: () => close(),
  }
}

/** A copy of the bytes: the answer's own buffer may be shared with others. */
function own(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

function ownBatch(given: NotificationBatch): { batch: NotificationBatch; transfer: ArrayBuffer[] } {
  const blocks = given.blocks.map(own)
  const daaScores = given.daaScores.map(own)
  const blueScores = given.blueScores.map(own)
  return {
    batch: { blocks, daaScores, blueScores },
    transfer: [...blocks, ...daaScores, ...blueScores].map((bytes) => bytes.buffer),
  }
}
