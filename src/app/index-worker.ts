/** Runs the indexer in its own thread, to which the answers of nodes are transferred. */
import type { Indexer } from '../indexer/indexer.ts'
import { UnreadableAnswerError } from '../indexer/read-chain.ts'
import { threadCalls } from '../kit/thread-calls.ts'
import type { NotificationBatch } from '../relay/notification-queue.ts'
import type { IndexThreadData } from './index-thread.ts'

export interface IndexWorker {
  readonly indexer: Indexer
  /** Resolves once the thread has ended: with the reason, or with undefined after `close`. */
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
    errors: [UnreadableAnswerError],
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

/** Larger than every pool and every single read from a socket. */
const OWN_BYTES = 256 * 1024

/**
 * Returns bytes that can be transferred to the thread. A large answer does not share its memory, and nobody reads it
 * after it was applied. A small one may share a pool with others, so it is copied.
 */
function own(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer: memory, byteOffset, byteLength } = bytes
  const isOwn = memory instanceof ArrayBuffer && byteLength > OWN_BYTES && byteLength > memory.byteLength / 2
  return isOwn ? new Uint8Array(memory, byteOffset, byteLength) : copyOf(bytes)
}

function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

/** Copies, because a batch that could not be written is passed again. */
function ownBatch(given: NotificationBatch): { batch: NotificationBatch; transfer: ArrayBuffer[] } {
  const blocks = given.blocks.map(copyOf)
  const daaScores = given.daaScores.map(copyOf)
  const blueScores = given.blueScores.map(copyOf)
  return {
    batch: { ...given, blocks, daaScores, blueScores },
    transfer: [...blocks, ...daaScores, ...blueScores].map((bytes) => bytes.buffer),
  }
}
