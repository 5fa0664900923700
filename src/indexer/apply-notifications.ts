/**
 * Blocks of the DAG and the two scores. Each block makes one event, no matter how often and by which node it is sent. A
 * transaction first seen in a block enters with it, and its own events come before the block's.
 */
import type { Network } from '../core/chain/network.ts'
import type { Transaction } from '../core/chain/transaction.ts'
import type { NotificationBatch } from '../relay/notification-queue.ts'
import type { ChainPlace, ChainStore } from '../store/chain.ts'
import { type EventBatch, eventBatch } from './batch.ts'
import type { EarlierAcceptance } from './earlier-acceptance.ts'
import { enterTransactions } from './enter-transactions.ts'
import type { PendingTransactions } from './pending-transactions.ts'
import {
  parse,
  parseLoose,
  type ReadDagBlock,
  readBlockTransactions,
  readDagBlock,
  UnreadableAnswerError,
} from './read-chain.ts'

export interface ScoreState {
  daaScore: number
  blueScore: number
}

interface Context {
  store: ChainStore
  network: Network
  now: () => number
  pending: PendingTransactions
  earlier: EarlierAcceptance
}

interface BlockTransaction {
  readonly txId: string
  readonly transaction: Transaction
}

/** A block whose transactions are read only if needed, because few of them are first seen in a block. */
interface CarryingBlock extends ReadDagBlock {
  readonly transactions: () => readonly BlockTransaction[]
}

/** Limit for one write, unless a single block has more. */
const TRANSACTIONS_PER_WRITE = 2_000

export async function applyNotifications(
  notifications: NotificationBatch,
  scores: ScoreState,
  context: Context,
  seenTo?: ChainPlace,
): Promise<number | undefined> {
  const blocks = notifications.blocks.map(
    (bytes): CarryingBlock => ({
      ...readDagBlock(parseLoose(bytes).block),
      transactions: () => readBlockTransactions(parse(bytes).block),
    }),
  )
  let { blueScore, daaScore } = scores
  const addScores = (batch: EventBatch) => {
    for (const bytes of notifications.blueScores) {
      const score = Number(parseLoose(bytes).sinkBlueScore)
      if (score !== blueScore) batch.add('sink_blue_score_changed', { blue_score: score })
      blueScore = score
    }
    for (const bytes of notifications.daaScores) {
      const score = Number(parseLoose(bytes).virtualDaaScore)
      if (score !== daaScore) batch.add('virtual_daa_score_changed', { daa_score: score })
      daaScore = score
    }
  }
  const newestSeq = await recordBlocks(blocks, context, { add: addScores, seenTo })
  // Backfilled blocks, or only some of the waiting ones, do not show that the newest blocks are recorded.
  const { completeToMs } = notifications
  if (blocks.length > 0 && completeToMs !== undefined) context.pending.blocksRecorded(completeToMs)
  // Only after the write, so that a score whose write failed is new again at the next try.
  Object.assign(scores, { blueScore, daaScore })
  return newestSeq
}

export interface BlocksApplied {
  readonly newestSeq: number | undefined
  readonly count: number
  /** The last block of the answer that is in the chain. The next query starts there. */
  readonly lastChainBlock: ChainPlace | undefined
}

/**
 * Applies an answer of getBlocks with blocks and their transactions. It must begin with the block that was asked from;
 * otherwise it belongs to another request and says nothing about the blocks after that one.
 */
export async function applyBlocks(
  lowHash: string,
  bytes: Uint8Array,
  context: Context,
): Promise<BlocksApplied> {
  const answer = parseLoose(bytes)
  let exact: readonly unknown[] | undefined
  const exactBlock = (index: number): unknown => {
    exact ??= parse(bytes).blocks as unknown[]
    return exact[index]
  }
  const blocks = (Array.isArray(answer.blocks) ? answer.blocks : []).map(
    (block, index): CarryingBlock => ({
      ...readDagBlock(block),
      transactions: () => readBlockTransactions(exactBlock(index)),
    }),
  )
  if (blocks[0]?.hash !== lowHash)
    throw new UnreadableAnswerError(
      `the blocks were asked from ${lowHash}, not from ${blocks[0]?.hash ?? 'none'}`,
    )
  const last = blocks.findLast((block) => block.isChainBlock)
  const lastChainBlock = last && { hash: last.hash, blueScore: last.blueScore }
  return {
    newestSeq: await recordBlocks(blocks, context, { seenTo: lastChainBlock }),
    count: blocks.length,
    lastChainBlock,
  }
}

/** Belongs to the last write only. */
interface LastWrite {
  readonly add?: (batch: EventBatch) => void
  readonly seenTo?: ChainPlace | undefined
}

async function recordBlocks(
  blocks: readonly CarryingBlock[],
  context: Context,
  last: LastWrite,
): Promise<number | undefined> {
  const unseen = new Set(await context.store.unseen(blocks.map((block) => block.hash)))
  const groups = groupsOf(blocks.filter((block) => unseen.delete(block.hash)))
  let newestSeq: number | undefined
  for (const [at, group] of groups.entries()) {
    const isLast = at === groups.length - 1
    newestSeq = (await recordGroup(group, context, isLast ? last : {})) ?? newestSeq
  }
  return newestSeq
}

/** Returns at least one group, which may be empty. */
function groupsOf(blocks: readonly CarryingBlock[]): CarryingBlock[][] {
  let group: CarryingBlock[] = []
  const groups = [group]
  let count = 0
  for (const block of blocks) {
    count += block.transactionIds.length
    if (group.length > 0 && count > TRANSACTIONS_PER_WRITE) {
      group = []
      groups.push(group)
      count = block.transactionIds.length
    }
    group.push(block)
  }
  return groups
}

async function recordGroup(
  blocks: readonly CarryingBlock[],
  { store, network, pending, earlier, now }: Context,
  { add, seenTo }: LastWrite,
): Promise<number | undefined> {
  const atMs = now()
  const batch = eventBatch(network, atMs)
  const { known, transactions } = await unreportedIn(blocks, store, earlier)
  const fresh = [...transactions.values()]
  const seen = fresh.map((one) => ({ ...one, fee: null, isOrphan: false, firstSeen: 'block' as const }))
  const entered = await enterTransactions(seen, known, { store, network, batch })
  for (const block of blocks) {
    batch.add('block_added', {
      hash: block.hash,
      daa_score: block.daaScore,
      blue_score: block.blueScore,
      timestamp: new Date(block.timeMs).toISOString(),
      transaction_ids: [...block.transactionIds],
    })
  }
  add?.(batch)
  // `seenTo` is written even if nothing is new, so that a later start need not ask for these blocks again.
  if (batch.events.length === 0 && seenTo === undefined) return undefined
  const { newestSeq } = await store.write({
    atMs,
    expects: (await store.checkpoint())?.hash ?? null,
    entered,
    seen: blocks.map(({ hash }) => hash),
    events: batch.events,
    ...(seenTo === undefined ? {} : { seenTo }),
  })
  for (const { txId, transaction } of fresh)
    pending.inBlock(
      txId,
      atMs,
      transaction.inputs.map((input) => input.previousOutpoint),
    )
  for (const { transactionIds } of blocks) for (const txId of transactionIds) pending.inBlock(txId, atMs)
  if (seenTo !== undefined) earlier.seenTo(seenTo)
  return batch.events.length === 0 ? undefined : newestSeq
}

/** The transactions of these blocks that no event has reported yet, each once. */
async function unreportedIn(blocks: readonly CarryingBlock[], store: ChainStore, earlier: EarlierAcceptance) {
  // The first transaction of a block is its coinbase, which is never in a mempool.
  const known = await store.known([...new Set(blocks.flatMap((block) => block.transactionIds.slice(1)))])
  const isUnreported = (txId: string) => {
    const before = known.get(txId)
    if (before === undefined) return !earlier.has(txId)
    return before.status === 'pending' && !before.hasMempoolEvent
  }
  const transactions = new Map<string, BlockTransaction>()
  for (const block of blocks) {
    if (!block.transactionIds.slice(1).some((txId) => isUnreported(txId) && !transactions.has(txId))) continue
    for (const one of block.transactions()) if (isUnreported(one.txId)) transactions.set(one.txId, one)
  }
  return { known, transactions }
}
