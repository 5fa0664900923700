/**
 * Applies one answer about the node's chain to the followed chain.
 *
 *   asked from the checkpoint:        remove, then add
 *   asked from a block below it:      first remove our blocks above that block that the node does not have
 *
 * A node that is merely behind changes nothing: its chain is the beginning of ours, or ends at a lower blue score. An
 * answer whose blocks do not follow ours belongs to another request and is refused. Long answers are written in
 * steps. Each step sets the checkpoint, so that a crash between two steps neither loses nor repeats anything.
 */

import type { Network } from '../core/chain/network.ts'
import { gapBetween, gapEvent } from '../events/gap-event.ts'
import type { ChainBlock, ChainGap, ChainStore, DroppedTransaction } from '../store/chain.ts'
import { retractEvents } from './accepted-events.ts'
import { applyBlock, parseBlock } from './apply-block.ts'
import { eventBatch } from './batch.ts'
import type { EarlierAcceptance } from './earlier-acceptance.ts'
import { outpointKey, type PendingTransactions } from './pending-transactions.ts'
import { type ReadChain, type ReadChainBlock, readChain, UnreadableAnswerError } from './read-chain.ts'
import { revertBlocks, type UnconfirmedTransaction } from './revert-block.ts'
import { spentOutputs } from './spent-outputs.ts'
import { readTokens } from './tokens/index-tokens.ts'

export interface ChainStep {
  readonly checkpoint: ChainBlock
  readonly newestSeq: number
  /**
   * Transactions whose confirmation was undone, those that were confirmed, and those dropped because a confirmed one
   * spent their inputs.
   */
  readonly unconfirmed: readonly UnconfirmedTransaction[]
  readonly confirmed: readonly string[]
  readonly dropped: readonly DroppedTransaction[]
  readonly added: number
  readonly removed: number
  /** The node's chain may continue beyond the answer. */
  readonly goesOn: boolean
}

export interface ApplyChainOptions {
  store: ChainStore
  network: Network
  now: () => number
  pending: PendingTransactions
  earlier: EarlierAcceptance
  startHash: string
  bytes: Uint8Array
  /** Follow the node even if its chain ends at a lower blue score than ours. */
  force: boolean
  /** The node's chain may continue beyond this answer, no matter how few blocks the answer has. */
  isPart: boolean
  onUnreadable: (detail: string) => void
}

/** Limits for one write. */
const BLOCKS_PER_STEP = 50
const TRANSACTIONS_PER_STEP = 2_000

/** The node is behind, and nothing was changed. */
export interface NodeBehind {
  /** The blue score at which its chain ends. */
  readonly behindAt: number
  /**
   * The last block of the answer, which is also in our chain. Set if the node's chain may continue above it and fork
   * off there.
   */
  readonly commonTo?: string | undefined
}

export async function* applyChain(options: ApplyChainOptions): AsyncGenerator<ChainStep | NodeBehind> {
  const answer = readChain(options.bytes)
  const plan = await planOf(answer, options)
  if ('behindAt' in plan) {
    yield plan
    return
  }
  options.earlier.undo(answer.removed)
  let { removed, tip, before } = plan
  let at = plan.firstAdded
  while (at < answer.added.length || removed.length > 0) {
    const blocks: ReadChainBlock[] = []
    let transactions = 0
    while (
      at < answer.added.length &&
      blocks.length < BLOCKS_PER_STEP &&
      transactions < TRANSACTIONS_PER_STEP
    ) {
      const block = await resolveInputs(answer.block(at++), options.store)
      if (before !== undefined && block.parents?.includes(before) === false)
        throw new UnreadableAnswerError(`block ${block.hash} does not follow ${before}`)
      before = block.hash
      transactions += block.transactions.length
      blocks.push(block)
    }
    const { checkpoint, ...step } = await writeStep({ tip, removed, blocks }, options)
    removed = []
    tip = checkpoint
    if (checkpoint !== undefined) yield { ...step, checkpoint, goesOn: answer.goesOn }
  }
}

/**
 * Resolves inputs from the index if the node sent the block without them. A transaction with an input that the index
 * does not have either is recorded as far as it is known, and reported as unreadable.
 */
async function resolveInputs(block: ReadChainBlock, store: ChainStore): Promise<ReadChainBlock> {
  const isWhole = ({ spent }: { spent: readonly unknown[] }) => !spent.includes(null)
  if (block.transactions.every(isWhole)) return block
  const found = await spentOutputs(block.transactions, store)
  const transactions = block.transactions.map((one, place) =>
    isWhole(one) ? one : { ...one, spent: one.spent.map((known, i) => known ?? found[place]?.[i] ?? null) },
  )
  const unresolved = transactions.filter((one) => !isWhole(one))
  const detail = 'some of its inputs could not be resolved'
  return {
    ...block,
    transactions,
    unreadable: [...block.unreadable, ...unresolved.map(({ txId }) => ({ txId, detail }))],
  }
}

interface ChainPlan {
  readonly tip: ChainBlock | undefined
  readonly removed: readonly string[]
  readonly firstAdded: number
  /** The parent of the first added block; undefined if it lies below the followed chain. */
  readonly before: string | undefined
}

async function planOf(
  answer: ReadChain,
  { store, startHash, force, isPart }: ApplyChainOptions,
): Promise<ChainPlan | NodeBehind> {
  const above = await store.chainAbove(startHash)
  if (above === undefined) throw new Error(`block ${startHash} is not in the followed chain`)
  const tip = await store.checkpoint()
  const own = above.map((block) => block.hash)
  if (answer.removed.length > 0 && answer.removed[0] !== startHash)
    throw new UnreadableAnswerError(`the chain was asked from ${startHash}, not from ${answer.removed[0]}`)
  if (answer.removed.length === 0) {
    let common = 0
    while (common < own.length && own[common] === answer.added[common]) common++
    const isBeginning = common < own.length && common === answer.added.length
    if (isBeginning) {
      const goesOn = isPart || answer.goesOn
      return {
        ...(await behindAt(answer, own.length, store)),
        commonTo: goesOn ? answer.added.at(-1) : undefined,
      }
    }
    if (common < own.length && !force && isLighter(answer, tip)) return behindAt(answer, own.length, store)
    const before = own[common - 1] ?? startHash
    return { tip, removed: own.slice(common).reverse(), firstAdded: common, before }
  }
  if (!force && isLighter(answer, tip)) return behindAt(answer, own.length + answer.removed.length, store)
  // Blocks below the first followed one were never applied, so they need no undoing.
  const followed = await store.followed(answer.removed)
  const removed = [...own.reverse(), ...followed]
  const below = await store.chainBlockBelow(removed.length)
  // If the branch begins below the first followed block, the store returns that first block, although it is being
  // removed too.
  const isKnown = followed.length === answer.removed.length && !removed.includes(below?.hash ?? '')
  return { tip, removed, firstAdded: 0, before: isKnown ? below?.hash : undefined }
}

/** `left` is the number of our blocks that the node's chain lacks, for an answer that adds none. */
async function behindAt(answer: ReadChain, left: number, store: ChainStore): Promise<NodeBehind> {
  const { length } = answer.added
  const end = length > 0 ? answer.block(length - 1) : await store.chainBlockBelow(left)
  return { behindAt: end?.blueScore ?? 0 }
}

function isLighter(answer: ReadChain, ownTip: ChainBlock | undefined): boolean {
  if (ownTip === undefined) return false
  if (answer.added.length === 0) return true
  return answer.block(answer.added.length - 1).blueScore < ownTip.blueScore
}

async function writeStep(
  {
    tip,
    removed,
    blocks,
  }: { tip: ChainBlock | undefined; removed: readonly string[]; blocks: readonly ReadChainBlock[] },
  { store, network, now, pending, onUnreadable }: ApplyChainOptions,
): Promise<Omit<ChainStep, 'checkpoint' | 'goesOn'> & { checkpoint: ChainBlock | undefined }> {
  const atMs = now()
  const batch = eventBatch(network, atMs)
  const undone = await store.confirmedBy(removed)
  const unconfirmed = revertBlocks(undone, batch)
  if (removed.length > 0) retractEvents(await store.retractable(removed), batch)
  const ids = blocks.flatMap((block) => block.transactions.map(({ txId }) => txId))
  const known = await store.known(ids)
  const parsed = blocks.map((block) => parseBlock(block, network))
  for (const { txId, detail } of parsed.flatMap(({ unreadable }) => unreadable))
    onUnreadable(`${txId}: ${detail}`)
  const gaps = parsed.flatMap((block) => unreadableGap(block, atMs))
  const forgetTokens = gaps.length > 0
  const applyTokens = await readTokens(
    parsed.flatMap(({ transactions }) => transactions),
    { store, network, without: forgetTokens ? undefined : removed },
  )
  const added = parsed.map((block) => applyBlock(block, { batch, known, applyTokens }))
  batch.add('virtual_chain_changed', {
    removed: [...removed],
    added: blocks.map((block) => block.hash),
    accepted: blocks.map((block) => ({
      accepting_block_hash: block.hash,
      transaction_ids: [...block.acceptedIds],
    })),
  })
  const events = [...batch.events, ...gaps.map(gapEvent)]
  const expects = tip?.hash ?? null
  const dropped = replacedBy(blocks, unconfirmed, pending)
  const { newestSeq, checkpoint } = await store.write({
    atMs,
    expects,
    gaps,
    removed,
    forgetTokens,
    added,
    dropped,
    events,
  })
  return {
    newestSeq,
    checkpoint,
    unconfirmed,
    confirmed: ids,
    dropped,
    added: blocks.length,
    removed: removed.length,
  }
}

/**
 * Pending transactions that spend outputs which these blocks' transactions have spent. They can no longer be accepted.
 */
function replacedBy(
  blocks: readonly ReadChainBlock[],
  unconfirmed: readonly UnconfirmedTransaction[],
  pending: PendingTransactions,
): DroppedTransaction[] {
  const undone = new Map(
    unconfirmed.flatMap(({ txId, spends }) => spends.map((point) => [outpointKey(point), txId] as const)),
  )
  const confirmed = new Set(blocks.flatMap((block) => block.transactions.map(({ txId }) => txId)))
  const replaced = new Map<string, string>()
  for (const { txId, transaction } of blocks.flatMap((block) => block.transactions)) {
    const spends = transaction.inputs.map((input) => input.previousOutpoint)
    for (const rival of pending.rivalsOf(txId, spends)) replaced.set(rival, txId)
    if (undone.size === 0) continue
    for (const point of spends) {
      const rival = undone.get(outpointKey(point))
      if (rival !== undefined) replaced.set(rival, txId)
    }
  }
  return [...replaced].flatMap(([txId, by]) => (confirmed.has(txId) ? [] : { txId, replacedBy: by }))
}

function unreadableGap(
  block: Pick<ReadChainBlock, keyof ChainBlock | 'unreadable'>,
  atMs: number,
): ChainGap[] {
  if (block.unreadable.length === 0) return []
  const txIds = [...new Set(block.unreadable.map(({ txId }) => txId))]
  return [{ ...gapBetween(block, block, 'unreadable', atMs), txIds }]
}
