/**
 * Transactions accepted before the index's first block, as deep as parallel blocks are merged in practice. A block that
 * is merged later may carry another copy of such a transaction. The copy is not pending: its acceptance lies before the
 * index and would never be seen.
 *
 *   the index begins, or restarts while young ──▶ known ──all blocks are seen far enough above──▶ forgotten
 */
import type { ChainPlace } from '../store/chain.ts'
import { isHash, parseLoose, UnreadableAnswerError } from './read-chain.ts'

/**
 * In blue score: twenty seconds at ten blocks per second. That is four times the network delay that the consensus rules
 * assume, and bounds the number of calls when the index begins.
 */
export const EARLIER_DEPTH = 200

export interface EarlierBounds {
  /** The index's first block; undefined if the index begins where the answer ends. */
  readonly upTo: string | undefined
  /** Once all blocks below this blue score were seen, no further copy is expected. */
  readonly untilBlueScore: number
}

interface Acceptance {
  readonly acceptingBlockHash: string
  readonly acceptedTransactionIds: readonly string[]
}

export class EarlierAcceptance {
  readonly #blocks = new Map<string, readonly string[]>()
  #txIds: ReadonlySet<string> = new Set()
  #untilBlueScore = 0

  /** Returns the last block taken. Returns undefined and takes nothing if `upTo` has left the chain. */
  take(bytes: Uint8Array, { upTo, untilBlueScore }: EarlierBounds): string | undefined {
    const { acceptedTransactionIds } = parseLoose(bytes)
    if (!isAcceptance(acceptedTransactionIds))
      throw new UnreadableAnswerError('acceptedTransactionIds is not of the expected form')
    const last = acceptedTransactionIds.findLastIndex(
      ({ acceptingBlockHash }) => upTo === undefined || acceptingBlockHash === upTo,
    )
    this.#blocks.clear()
    for (const accepted of acceptedTransactionIds.slice(0, last + 1))
      this.#blocks.set(accepted.acceptingBlockHash, accepted.acceptedTransactionIds)
    this.#untilBlueScore = untilBlueScore
    this.#join()
    return acceptedTransactionIds[last]?.acceptingBlockHash
  }

  has(txId: string): boolean {
    return this.#txIds.has(txId)
  }

  /** Transactions accepted by blocks that left the chain may be pending again. */
  undo(removed: readonly string[]): void {
    let isLess = false
    for (const hash of removed) isLess = this.#blocks.delete(hash) || isLess
    if (isLess) this.#join()
  }

  seenTo({ blueScore }: ChainPlace): void {
    if (this.#blocks.size === 0 || blueScore < this.#untilBlueScore) return
    this.#blocks.clear()
    this.#join()
  }

  #join(): void {
    this.#txIds = new Set([...this.#blocks.values()].flat())
  }
}

function isAcceptance(value: unknown): value is Acceptance[] {
  if (!Array.isArray(value)) return false
  return (value as (Partial<Acceptance> | null)[]).every(
    (block) =>
      isHash(block?.acceptingBlockHash) &&
      Array.isArray(block?.acceptedTransactionIds) &&
      block.acceptedTransactionIds.every(isHash),
  )
}
