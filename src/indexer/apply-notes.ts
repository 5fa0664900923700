/** Blocks of the DAG and the two scores: each block is told once, whoever showed it and how often. */
import type { Network } from '../core/chain/network.ts'
import type { ChainStore } from '../store/chain.ts'
import { type EventBatch, eventBatch } from './batch.ts'
import { parseLoose, type ReadDagBlock, readDagBlock } from './read-chain.ts'

/** Notifications as they came, in order; of the scores only the newest counts. */
export interface Notes {
  readonly blocks: readonly Uint8Array[]
  readonly daaScore?: Uint8Array
  readonly blueScore?: Uint8Array
}

export interface ScoreState {
  daaScore: number
  blueScore: number
}

interface Context {
  store: ChainStore
  network: Network
  now: () => number
}

export async function applyNotes(
  notes: Notes,
  scores: ScoreState,
  context: Context,
): Promise<number | undefined> {
  const batch = eventBatch(context.network, context.now())
  const blocks = notes.blocks.map((bytes) => readDagBlock(parseLoose(bytes).block))
  const seen = await tellBlocks(blocks, batch, context.store)
  if (notes.blueScore !== undefined) {
    const blueScore = Number(parseLoose(notes.blueScore).sinkBlueScore)
    if (blueScore !== scores.blueScore) batch.add('sink_blue_score_changed', { blue_score: blueScore })
    scores.blueScore = blueScore
  }
  if (notes.daaScore !== undefined) {
    const daaScore = Number(parseLoose(notes.daaScore).virtualDaaScore)
    if (daaScore !== scores.daaScore) batch.add('virtual_daa_score_changed', { daa_score: daaScore })
    scores.daaScore = daaScore
  }
  return write(seen, batch, context)
}

export interface BlocksApplied {
  readonly newestSeq: number | undefined
  readonly count: number
  /** The last block of the answer that is in the chain: where to ask on from. */
  readonly lastChainBlock: string | undefined
}

/** The answer of getBlocks with blocks and without transactions. */
export async function applyBlocks(bytes: Uint8Array, context: Context): Promise<BlocksApplied> {
  const answer = parseLoose(bytes)
  const blocks = (Array.isArray(answer.blocks) ? answer.blocks : []).map(readDagBlock)
  const batch = eventBatch(context.network, context.now())
  const seen = await tellBlocks(blocks, batch, context.store)
  return {
    newestSeq: await write(seen, batch, context),
    count: blocks.length,
    lastChainBlock: blocks.findLast((block) => block.isChainBlock)?.hash,
  }
}

async function tellBlocks(
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
  return (await store.write({ atMs: now(), seen, events: batch.events })).newestSeq
}
