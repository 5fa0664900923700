/** Blocks of the DAG and the two scores: one event for each block, however often and by whichever node it was sent. */
import type { Network } from '../core/chain/network.ts'
import type { NotificationBatch } from '../relay/notification-queue.ts'
import type { ChainStore } from '../store/chain.ts'
import { type EventBatch, eventBatch } from './batch.ts'
import { parseLoose, type ReadDagBlock, readDagBlock } from './read-chain.ts'

export interface ScoreState {
  daaScore: number
  blueScore: number
}

interface Context {
  store: ChainStore
  network: Network
  now: () => number
}

export async function applyNotifications(
  notifications: NotificationBatch,
  scores: ScoreState,
  context: Context,
): Promise<number | undefined> {
  const batch = eventBatch(context.network, context.now())
  const blocks = notifications.blocks.map((bytes) => readDagBlock(parseLoose(bytes).block))
  const seen = await addBlockEvents(blocks, batch, context.store)
  let { blueScore, daaScore } = scores
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
  const newestSeq = await write(seen, batch, context)
  // Only after the write: a score that could not be written is new again when it is tried again.
  Object.assign(scores, { blueScore, daaScore })
  return newestSeq
}

export interface BlocksApplied {
  readonly newestSeq: number | undefined
  readonly count: number
  /** The last block of the answer that is in the chain: where the next query starts. */
  readonly lastChainBlock: string | undefined
}

/** The answer of getBlocks with blocks and without transactions. */
export async function applyBlocks(bytes: Uint8Array, context: Context): Promise<BlocksApplied> {
  const answer = parseLoose(bytes)
  const blocks = (Array.isArray(answer.blocks) ? answer.blocks : []).map(readDagBlock)
  const batch = eventBatch(context.network, context.now())
  const seen = await addBlockEvents(blocks, batch, context.store)
  return {
    newestSeq: await write(seen, batch, context),
    count: blocks.length,
    lastChainBlock: blocks.findLast((block) => block.isChainBlock)?.hash,
  }
}

async function addBlockEvents(
  blocks: readonly ReadDagBlock[],
  batch: EventBatch,
  store: ChainStore,
): Promise<string[]> {
  const unseen = new Set(await store.unseen(blocks.map((block) => block.hash)))
  const fresh = blocks.filter((block) => unseen.delete(block.hash))
  for (const block of fresh) {
    batch.add('block_added', {
      hash: block.hash,
      daa_score: block.daaScore,
      blue_score: block.blueScore,
      timestamp: new Date(block.timeMs).toISOString(),
      transaction_ids: [...block.transactionIds],
    })
  }
  return fresh.map((block) => block.hash)
}

async function write(
  seen: readonly string[],
  batch: EventBatch,
  { store, now }: Context,
): Promise<number | undefined> {
  if (batch.events.length === 0) return undefined
  const expects = (await store.checkpoint())?.hash ?? null
  return (await store.write({ atMs: now(), expects, seen, events: batch.events })).newestSeq
}
