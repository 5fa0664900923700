/** Queries about the chain after a known block. Answers stay bytes and are parsed by the code that applies them. */
import { scoreOf } from '../core/chain/score.ts'
import { type Clock, elapsedMs } from '../kit/clock.ts'
import type { CallFailure } from '../upstreams/call-outcome.ts'
import type { Upstreams } from '../upstreams/pool.ts'
import { type Asked, chainByBlock } from './chain-by-block.ts'

export type ChainAnswer =
  /** `isPart`: the node's chain may continue beyond the answer, no matter how few blocks the answer has. */
  | {
      readonly kind: 'bytes'
      readonly bytes: Uint8Array
      readonly node: string
      readonly isPart?: boolean
    }
  /** The nodes that were asked do not have the block. */
  | { readonly kind: 'unknown_block' }
  | { readonly kind: 'unavailable'; readonly detail: string }

export interface BlockFacts {
  readonly hash: string
  readonly blueScore: number
  readonly daaScore: number
  readonly timeMs: number
}

export interface ChainQueries {
  /**
   * The node's chain relative to a block: removed blocks, added blocks, and the transactions that the added blocks
   * accepted.
   */
  chainFrom(hash: string, prefer: string | undefined): Promise<ChainAnswer>
  /** Blocks of the DAG from this block on, with their transactions. */
  blocksFrom(hash: string, prefer: string | undefined): Promise<ChainAnswer>
  /**
   * The node's chain from a block that lies `depth` blue scores below the given one (or from the oldest block that the
   * node has), with the ids of the accepted transactions.
   */
  acceptedFromBelow(hash: string, depth: number, prefer: string | undefined): Promise<ChainAnswer>
  mempool(prefer: string | undefined): Promise<ChainAnswer>
  /** Undefined if no node returns it. */
  block(hash: string, prefer: string | undefined): Promise<BlockFacts | undefined>
  /** The end of the chain and the oldest block that a node still has; undefined if no synced node answers. */
  ends(prefer: string | undefined): Promise<ChainEnds | undefined>
  /** For a while this node is asked only if no other healthy one is left, because its answers cannot be read. */
  avoid(node: string): void
}

interface ChainEnds {
  readonly node: string
  readonly sink: BlockFacts
  readonly oldest: BlockFacts
}

const UNKNOWN_BLOCK: ReadonlySet<string> = new Set(['block_not_found', 'pruned', 'not_in_chain'])
const CALL_LIMIT_MS = 60_000
/** A node that is repaired is followed again within this time. */
const AVOID_MS = 30_000

export function createChainQueries(upstreams: Upstreams, clock: Clock, signal: AbortSignal): ChainQueries {
  const avoidedUntilMs = new Map<string, number>()
  const avoided = () => {
    for (const [node, untilMs] of avoidedUntilMs) if (elapsedMs(clock) >= untilMs) avoidedUntilMs.delete(node)
    return avoidedUntilMs.size === 0 ? undefined : new Set(avoidedUntilMs.keys())
  }
  const options = (prefer: string | undefined) => ({
    ...{ signal, deadlineMs: CALL_LIMIT_MS, prefer, avoid: avoided() },
    isPriority: true,
  })

  async function ask(method: string, params: unknown, prefer: string | undefined): Promise<ChainAnswer> {
    const outcome = await upstreams.callRaw(method, params, options(prefer))
    if (outcome.ok) return { kind: 'bytes', bytes: outcome.bytes, node: outcome.node }
    return answerOf(outcome.failure)
  }

  const askBlock = (hash: string, prefer: string | undefined) =>
    upstreams.call('getBlock', { hash, includeTransactions: false }, options(prefer))

  async function blockFacts(hash: string, prefer: string | undefined): Promise<BlockFacts | undefined> {
    const outcome = await askBlock(hash, prefer)
    if (!outcome.ok) return undefined
    const block = readBlock(outcome.value)
    if (block === undefined) return undefined
    const { blueScore, daaScore, timeMs } = block
    return { hash, blueScore, daaScore, timeMs }
  }

  /**
   * Walks down the selected parents to the chain block `depth` blue scores below, because no node method returns it.
   */
  async function blockBelow(hash: string, depth: number, prefer: string | undefined) {
    let found: { hash: string; node: string } | undefined
    let top: number | undefined
    let lowest = Number.POSITIVE_INFINITY
    for (let next = hash; ; ) {
      const outcome = await askBlock(next, found?.node ?? prefer)
      if (!outcome.ok) {
        const answer = answerOf(outcome.failure)
        return found !== undefined && answer.kind === 'unknown_block' ? found : answer
      }
      const block = readBlock(outcome.value)
      // A parent has a lower blue score than its child. Without this check, a walk over invalid blocks would never end.
      if (block === undefined || block.blueScore >= lowest)
        return {
          kind: 'unavailable',
          detail: `${outcome.node} answers block ${next} without a lower score`,
        } as const
      found = { hash: next, node: outcome.node }
      lowest = block.blueScore
      top ??= lowest
      if (lowest <= top - depth) return found
      next = block.selectedParent
    }
  }

  /** Asks the node that refused, because another node may have another chain. */
  const askWhole =
    (node: string) =>
    async (method: string, params: unknown): Promise<Asked> => {
      const answer = await upstreams.callRaw(method, params, options(node))
      if (!answer.ok) return { kind: isWithoutAddress(answer.failure) ? 'no_address' : 'failed' }
      return { kind: 'answer', bytes: answer.bytes }
    }

  return {
    async chainFrom(hash, prefer) {
      const params = { startHash: hash, dataVerbosityLevel: 'Full' }
      const outcome = await upstreams.callRaw('getVirtualChainFromBlockV2', params, options(prefer))
      if (outcome.ok) return { kind: 'bytes', bytes: outcome.bytes, node: outcome.node }
      const { failure } = outcome
      if (failure.kind !== 'refused' || !isWithoutAddress(failure)) return answerOf(failure)
      const bytes = await chainByBlock(askWhole(failure.node), hash)
      if (bytes === undefined) return { kind: 'unavailable', detail: describe(failure) }
      return { kind: 'bytes', bytes, node: failure.node, isPart: true }
    },
    blocksFrom: (hash, prefer) =>
      ask('getBlocks', { lowHash: hash, includeBlocks: true, includeTransactions: true }, prefer),
    async acceptedFromBelow(hash, depth, prefer) {
      const low = await blockBelow(hash, depth, prefer)
      if ('kind' in low) return low
      const params = { startHash: low.hash, includeAcceptedTransactionIds: true }
      return ask('getVirtualChainFromBlock', params, low.node)
    },
    block: blockFacts,
    mempool: (prefer) =>
      ask('getMempoolEntries', { includeOrphanPool: true, filterTransactionPool: false }, prefer),
    async ends(prefer) {
      const server = await upstreams.call('getServerInfo', {}, options(prefer))
      if (!server.ok || (server.value as { isSynced?: unknown }).isSynced !== true) return undefined
      const dag = await upstreams.call('getBlockDagInfo', {}, options(server.node))
      if (!dag.ok) return undefined
      const { sink, pruningPointHash } = dag.value as { sink: string; pruningPointHash: string }
      const [sinkFacts, oldest] = [
        await blockFacts(sink, dag.node),
        await blockFacts(pruningPointHash, dag.node),
      ]
      if (sinkFacts === undefined || oldest === undefined) return undefined
      return { node: dag.node, sink: sinkFacts, oldest }
    },
    avoid: (node) => void avoidedUntilMs.set(node, elapsedMs(clock) + AVOID_MS),
  }
}

function answerOf(failure: CallFailure): ChainAnswer {
  if (failure.kind === 'refused' && UNKNOWN_BLOCK.has(failure.refusal.reason))
    return { kind: 'unknown_block' }
  return { kind: 'unavailable', detail: describe(failure) }
}

/** Undefined for a block without usable scores. */
function readBlock(value: unknown) {
  type Members = Record<string, unknown>
  const { block } = value as { block?: { header?: Members; verboseData?: Members } }
  const blueScore = scoreOf(block?.header?.blueScore)
  const daaScore = scoreOf(block?.header?.daaScore)
  const timeMs = scoreOf(block?.header?.timestamp)
  if (blueScore === undefined || daaScore === undefined || timeMs === undefined) return undefined
  return { blueScore, daaScore, timeMs, selectedParent: String(block?.verboseData?.selectedParentHash) }
}

function isWithoutAddress(failure: CallFailure): boolean {
  return failure.kind === 'refused' && failure.refusal.reason === 'no_address'
}

function describe(failure: CallFailure): string {
  if (failure.kind === 'refused') return `refused: ${failure.refusal.text}`
  return 'detail' in failure ? `${failure.kind}: ${failure.detail}` : failure.kind
}
