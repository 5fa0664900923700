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
      applyChain: (startHash, given, force, isPart) => {
        const bytes = own(given)
        return call('applyChain', [startHash, bytes, force, isPart], { transfer: [bytes.buffer] })
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

/** Above every pool and every single read from a socket. */
const OWN_BYTES = 256 * 1024

/**
 * What can be moved to the thread. The memory of a large answer belongs to that answer alone, which nobody reads after
 * it was applied; a small one may share a pool with others, and is copied.
 */
function own(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer: memory, byteOffset, byteLength } = bytes
  const isOwn = memory instanceof ArrayBuffer && byteLength > OWN_BYTES && byteLength > memory.byteLength / 2
  return isOwn ? new Uint8Array(memory, byteOffset, byteLength) : copyOf(bytes)
}

function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

/** Copies: a batch that could not be written is given again. */
function ownBatch(given: NotificationBatch): { batch: NotificationBatch; transfer: ArrayBuffer[] } {
  const blocks = given.blocks.map(copyOf)
  const daaScores = given.daaScores.map(copyOf)
  const blueScores = given.blueScores.map(copyOf)
  return {
    batch: { blocks, daaScores, blueScores },
    transfer: [...blocks, ...daaScores, ...blueScores].map((bytes) => bytes.buffer),
  }
}
