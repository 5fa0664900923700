/** Reads the node's answers about its chain and its blocks, as far as the index needs them. */

import { scoreOf } from '../core/chain/score.ts'
import { isCoinbase, type SpentOutput, type Transaction } from '../core/chain/transaction.ts'
import { readSpentOutputs, readTransaction } from '../core/chain/transaction-json.ts'
import { parseExact } from '../kit/exact-json.ts'
import type { ChainBlock } from '../store/chain.ts'

interface ReadTransactionOf {
  readonly txId: string
  readonly transaction: Transaction
  readonly spent: readonly (SpentOutput | null)[]
  readonly blockHash: string
  readonly blockTimeMs: number
}

export interface ReadChainBlock extends ChainBlock {
  /** Its direct parents, including the chain block before it; undefined if the node left them out. */
  readonly parents: readonly string[] | undefined
  readonly transactions: readonly ReadTransactionOf[]
  /** Ids of all transactions that the block accepted, in the block's order. */
  readonly acceptedIds: readonly string[]
  /** Transactions in a form that this release does not know. */
  readonly unreadable: readonly { readonly txId: string; readonly detail: string }[]
}

export interface ReadChain {
  readonly removed: readonly string[]
  readonly added: readonly string[]
  /** The node's chain may continue beyond the answer. */
  readonly goesOn: boolean
  /** Reads the blocks one by one, so that a long answer is not held twice. */
  block(index: number): ReadChainBlock
}

/**
 * An answer with at least this many chain blocks, or with blocks that merge at least this many, is followed by another
 * one. A node ends an answer before the chain block with which it would exceed 2,480 merged blocks; each merges 249 at
 * most.
 */
const MORE_TO_COME = 100
const MERGED_MORE_TO_COME = 1_000

type Members = Record<string, unknown>

const HASH = /^[0-9a-f]{64}$/
/** Later ones have no date. */
const MAX_TIME_MS = 8.64e15

export const isHash = (value: unknown): value is string => typeof value === 'string' && HASH.test(value)

export class UnreadableAnswerError extends Error {
  override readonly name = 'UnreadableAnswerError'
}

/** The answer of getVirtualChainFromBlockV2 at level Full. */
export function readChain(bytes: Uint8Array): ReadChain {
  const answer = parse(bytes)
  const added = hashes(answer.addedChainBlockHashes, 'addedChainBlockHashes')
  const blocks = answer.chainBlockAcceptedTransactions
  if (!Array.isArray(blocks) || blocks.length !== added.length) {
    throw new UnreadableAnswerError('chainBlockAcceptedTransactions does not match addedChainBlockHashes')
  }
  return {
    removed: hashes(answer.removedChainBlockHashes, 'removedChainBlockHashes'),
    added,
    goesOn: added.length >= MORE_TO_COME || mergedIn(blocks as Members[]) >= MERGED_MORE_TO_COME,
    block: (index) => orUnreadable(() => readBlock(blocks[index] as Members, added[index] ?? '')),
  }
}

/** Each block's DAA score exceeds that of the one before it by the number of blocks that it merges. */
function mergedIn(blocks: readonly (Members | null)[]): number {
  const [first, last] = [blocks[0], blocks.at(-1)].map(
    (block) => block?.chainBlockHeader as Members | null | undefined,
  )
  return first == null || last == null ? 0 : score(last, 'daaScore') - score(first, 'daaScore')
}

export interface ReadDagBlock {
  readonly hash: string
  readonly daaScore: number
  readonly blueScore: number
  readonly timeMs: number
  readonly transactionIds: readonly string[]
  readonly isChainBlock: boolean
}

/** A block from a notification or from getBlocks. No value read here exceeds 2^53. */
export function readDagBlock(block: unknown): ReadDagBlock {
  return orUnreadable(() => {
    const { header, verboseData } = block as { header: Members; verboseData: Members }
    return {
      hash: hashOf(header.hash, 'hash of a block'),
      daaScore: score(header, 'daaScore'),
      blueScore: score(header, 'blueScore'),
      timeMs: timeOf(header.timestamp, 'timestamp of a block'),
      transactionIds: hashes(verboseData.transactionIds, 'transactionIds'),
      isChainBlock: verboseData.isChainBlock === true,
    }
  })
}

/**
 * The transactions of a block except its coinbase, with exact integers. Transactions in an unknown form are left out.
 */
export function readBlockTransactions(block: unknown): { txId: string; transaction: Transaction }[] {
  const { transactions } = block as { transactions?: unknown }
  if (!Array.isArray(transactions)) return []
  return (transactions as Members[]).flatMap((json) => {
    const read = readTransaction(json)
    if (!read.ok || isCoinbase(read.transaction)) return []
    const txId = (json.verboseData as Members | undefined)?.transactionId
    return isHash(txId) ? [{ txId, transaction: read.transaction }] : []
  })
}

export function parseLoose(bytes: Uint8Array): Members {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return orUnreadable(() => JSON.parse(text) as Members)
}

export function parse(bytes: Uint8Array): Members {
  const read = parseExact(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  if (!read.ok) throw new UnreadableAnswerError(read.message)
  return read.value as Members
}

/** An answer that lacks something is unreadable wherever that is noticed. */
function orUnreadable<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof UnreadableAnswerError) throw error
    throw new UnreadableAnswerError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** Rejects anything that is not a number, because a range queried by such scores would never end. */
function score(header: Members, name: 'blueScore' | 'daaScore'): number {
  const value = scoreOf(header[name])
  if (value === undefined) throw new UnreadableAnswerError(`${name} of a block is no score`)
  return value
}

function hashes(value: unknown, name: string): string[] {
  if (!Array.isArray(value)) throw new UnreadableAnswerError(`${name} is missing`)
  if (!value.every(isHash)) throw new UnreadableAnswerError(`${name} contains what is no hash`)
  return value
}

function hashOf(value: unknown, name: string): string {
  if (!isHash(value)) throw new UnreadableAnswerError(`the ${name} is no hash`)
  return value
}

/** Zero is the time of the first block of a test network. */
function timeOf(value: unknown, name: string): number {
  const timeMs = scoreOf(value)
  if (timeMs === undefined || timeMs > MAX_TIME_MS) throw new UnreadableAnswerError(`the ${name} is no time`)
  return timeMs
}

function readBlock(item: Members, hash: string): ReadChainBlock {
  const header = item.chainBlockHeader as Members
  if (header.hash !== undefined && header.hash !== hash)
    throw new UnreadableAnswerError(`the header of ${header.hash} in the place of block ${hash}`)
  const accepted = item.acceptedTransactions
  if (!Array.isArray(accepted)) throw new UnreadableAnswerError('acceptedTransactions is missing')
  const transactions: ReadTransactionOf[] = []
  const acceptedIds: string[] = []
  const unreadable: { txId: string; detail: string }[] = []
  for (const json of accepted as Members[]) {
    const verbose = json.verboseData as Members
    const txId = hashOf(verbose.transactionId, 'id of a transaction')
    acceptedIds.push(txId)
    const read = readTransaction(json)
    if (!read.ok) {
      unreadable.push({ txId, detail: `${read.faults[0]?.path} ${read.faults[0]?.message}` })
      continue
    }
    transactions.push({
      txId,
      transaction: read.transaction,
      spent: readSpentOutputs(json),
      blockHash: hashOf(verbose.blockHash, 'block of a transaction'),
      blockTimeMs: timeOf(verbose.blockTime, 'time of a transaction'),
    })
  }
  return {
    hash,
    parents: directParents(header.parentsByLevel),
    blueScore: score(header, 'blueScore'),
    daaScore: score(header, 'daaScore'),
    timeMs: timeOf(header.timestamp, 'timestamp of a block'),
    transactions,
    acceptedIds,
    unreadable,
  }
}

/**
 * The node run-length encodes levels with equal parents: `[[3, parents], [5, parents]]` means levels 0 to 2 and 3 to 4.
 */
function directParents(levels: unknown): string[] | undefined {
  const run: unknown = Array.isArray(levels) ? levels[0] : undefined
  const parents: unknown = Array.isArray(run) ? run[1] : undefined
  return Array.isArray(parents) ? (parents as string[]) : undefined
}
