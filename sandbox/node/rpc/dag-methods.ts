/** Methods about blocks and the selected chain. */

import type { BlockRecord } from '../consensus/block-record.ts'
import { fromHex, toHex } from '../consensus/bytes.ts'
import { keyedBlake2b } from '../consensus/hashing.ts'
import { chainPath, hashesBetween, sinkAnticone } from '../consensus/walk.ts'
import { RpcError } from './errors.ts'
import { f64, u64 } from './json.ts'
import { boolean, hash, list, optional, text, u32, unsigned } from './read-params.ts'
import type { Methods, NodeView } from './view.ts'
import { DIFFICULTY, wireHeader } from './wire.ts'
import { acceptedTransactionV2, optionalHeader, verbosityLevel } from './wire-v2.ts'

const MERGE_SET_LIMIT = 248
const MAX_U64 = 0xffffffffffffffffn
const MAX_SAFE_WINDOW = 10_000
/** Maximum number of merged blocks that one answer about the chain covers. */
const CHAIN_BATCH = MERGE_SET_LIMIT * 10
const TRANSITIONAL = 'consensus is currently in a transitional ibd state'

export function stable(view: NodeView): void {
  if (view.isTransitional) throw new RpcError(TRANSITIONAL)
}

function known(view: NodeView, wanted: string): BlockRecord {
  const record = view.ledger.record(wanted)
  if (record === undefined) throw new RpcError(`cannot find header ${wanted}`)
  return record
}

/** The path from a block to the sink, limited to a batch and to blocks that are deep enough. */
function batch(view: NodeView, low: string, minConfirmations: bigint, bounded: boolean) {
  const { ledger } = view
  known(view, low)
  const path = chainPath(ledger, low)
  if (path === undefined) throw new RpcError('the queried hash does not have retention root on its chain')
  let added = path.added
  if (minConfirmations > 0n) {
    const sink = ledger.sink.header.blueScore
    const deep = (found: string) => sink - known(view, found).block.header.blueScore > minConfirmations
    added = added.slice(0, added.findLastIndex(deep) + 1)
  }
  let merged = 0
  const cut = added.findIndex((found) => {
    const record = known(view, found)
    merged += bounded ? record.blues.length + record.reds.length : 1
    return merged > CHAIN_BATCH
  })
  return { removed: path.removed, added: cut < 0 ? added : added.slice(0, Math.max(1, cut)) }
}

export function acceptedIds(view: NodeView, chainBlocks: readonly string[]) {
  return chainBlocks.map((acceptingBlockHash) => ({
    acceptingBlockHash,
    acceptedTransactionIds: (view.ledger.record(acceptingBlockHash)?.acceptance?.transactions ?? []).map(
      ({ tx }) => tx.id,
    ),
  }))
}

export const dagMethods: Methods = {
  getBlockDagInfo: (view) => {
    const { ledger } = view
    return {
      network: view.network,
      blockCount: ledger.blockCount,
      headerCount: ledger.blockCount,
      tipHashes: ledger.tips,
      difficulty: f64(DIFFICULTY),
      pastMedianTime: ledger.sink.header.timestamp,
      virtualParentHashes: ledger.virtual.parents,
      pruningPointHash: ledger.pruningPoint,
      virtualDaaScore: u64(ledger.virtual.daaScore),
      sink: ledger.sink.header.hash,
    }
  },
  getSink: ({ ledger }) => ({ sink: ledger.sink.header.hash }),
  getSinkBlueScore: ({ ledger }) => ({ blueScore: u64(ledger.sink.header.blueScore) }),
  getBlockCount: ({ ledger }) => ({ headerCount: ledger.blockCount, blockCount: ledger.blockCount }),
  getCurrentBlockColor: ({ ledger }, params) => {
    const wanted = hash(params.hash)
    const merger = ledger.record(ledger.mergedBy(wanted) ?? '')
    if (merger === undefined) throw new RpcError(`Block ${wanted} doesn't have any merger block.`)
    return { blue: merger.blues.includes(wanted) }
  },
  getBlockRewardInfo: (view, params) => rewardInfo(view, hash(params.hash)),
  getSeqCommitLaneProof: (view, params) => laneProof(view, hash(params.blockHash), hash(params.laneKey)),
  getDaaScoreTimestampEstimate: (view, params) => {
    const { daaScore, timestamp } = view.ledger.sink.header
    const perSecond = BigInt(Math.max(1, Math.round(view.blocksPerSecond)))
    const estimate = (score: bigint) => BigInt(timestamp) + ((score - daaScore) * 1000n) / perSecond
    const clamp = (time: bigint) => (time < 0n ? 0n : time > MAX_U64 ? MAX_U64 : time)
    return { timestamps: list(params.daaScores, (score) => u64(clamp(estimate(unsigned(score))))) }
  },
  estimateNetworkHashesPerSecond: (view, params) => {
    const windowSize = u32(params.windowSize)
    const start = optional(params.startHash, hash)
    if (windowSize > MAX_SAFE_WINDOW) {
      throw new RpcError(
        `Requested window size ${windowSize} is larger than max ${MAX_SAFE_WINDOW} allowed in RPC safe mode.`,
      )
    }
    if (start !== undefined && start !== 'ff'.repeat(32)) known(view, start)
    const rate = view.ledger.rules.workPerBlock * BigInt(Math.round(view.blocksPerSecond))
    return { networkHashesPerSecond: u64(rate) }
  },
  getBlock: (view, params) => {
    const wanted = hash(params.hash)
    const withTransactions = boolean(params.includeTransactions)
    return { block: view.wire.block(view.ledger, known(view, wanted), withTransactions) }
  },
  getBlocks: (view, params) => blocks(view, params),
  getVirtualChainFromBlock: (view, params) => {
    const start = hash(params.startHash)
    const withIds = boolean(params.includeAcceptedTransactionIds)
    const minConfirmations = optional(params.minConfirmationCount, (value) => unsigned(value)) ?? 0n
    stable(view)
    const { removed, added } = batch(view, start, minConfirmations, withIds)
    return {
      removedChainBlockHashes: removed,
      addedChainBlockHashes: added,
      acceptedTransactionIds: withIds ? acceptedIds(view, added) : [],
    }
  },
  getVirtualChainFromBlockV2: (view, params) => {
    const start = hash(params.startHash)
    const level = verbosityLevel(optional(params.dataVerbosityLevel, text) ?? 'Full')
    const minConfirmations = optional(params.minConfirmationCount, (value) => unsigned(value)) ?? 0n
    stable(view)
    const { removed, added } = batch(view, start, minConfirmations, true)
    return {
      removedChainBlockHashes: removed,
      addedChainBlockHashes: added,
      chainBlockAcceptedTransactions: added.map((found) => {
        const record = known(view, found)
        return {
          chainBlockHeader: optionalHeader(record.block.header, level),
          acceptedTransactions: (record.acceptance?.transactions ?? []).map((accepted) => {
            const carrier = view.ledger.record(accepted.blockHash)?.block.header
            return acceptedTransactionV2(view.wire, accepted, carrier, level)
          }),
        }
      }),
    }
  },
}

function blocks(view: NodeView, params: Record<string, unknown>) {
  const { ledger, wire } = view
  const low = optional(params.lowHash, hash)
  const withBlocks = boolean(params.includeBlocks)
  const withTransactions = boolean(params.includeTransactions)
  if (!withBlocks && withTransactions) {
    throw new RpcError('If includeTransactions is set, then includeBlockVerboseData must be set as well.')
  }
  // Without a hash the node starts at the genesis, which a pruned node no longer has.
  if (low === undefined) throw new RpcError(`cannot find header ${'00'.repeat(32)}`)
  known(view, low)
  const between = hashesBetween(ledger, low, MERGE_SET_LIMIT + 1)
  const anticone = between.reachedSink ? sinkAnticone(ledger) : []
  const blockHashes = [...new Set([low, ...between.hashes, ...anticone])]
  return {
    blockHashes,
    blocks: withBlocks
      ? blockHashes.map((found) => wire.block(ledger, known(view, found), withTransactions))
      : [],
  }
}

function rewardInfo(view: NodeView, wanted: string) {
  const { ledger } = view
  const record = known(view, wanted)
  const header = wireHeader(record.block.header)
  const merger = ledger.record(ledger.mergedBy(wanted) ?? '')
  if (merger === undefined) {
    return {
      header,
      blockColor: 'unknown',
      confirmationCount: null,
      mergingChainBlockHash: null,
      rewardAmount: null,
    }
  }
  const confirmationCount = u64(ledger.sink.header.blueScore - merger.block.header.blueScore)
  const mergingChainBlockHash = merger.block.header.hash
  const at = merger.blues.indexOf(wanted)
  if (at < 0)
    return { header, blockColor: 'red', confirmationCount, mergingChainBlockHash, rewardAmount: null }
  let reward = merger.block.transactions[0]?.outputs[at]?.value ?? 0n
  const own = record.block.transactions[0]?.outputs ?? []
  if (merger.selectedParent === wanted && own.length === record.blues.length + 1)
    reward += own.at(-1)?.value ?? 0n
  return { header, blockColor: 'blue', confirmationCount, mergingChainBlockHash, rewardAmount: u64(reward) }
}

/** The form and the refusals of the real answer; the proof itself commits only to its inputs. */
function laneProof(view: NodeView, blockHash: string, laneKey: string) {
  const record = known(view, blockHash)
  if (!view.ledger.isChainBlock(blockHash)) {
    throw new RpcError(`block ${blockHash} is not in the selected parent chain`)
  }
  const digest = (name: string) => toHex(keyedBlake2b(Buffer.from(name), fromHex(blockHash + laneKey)))
  return {
    smtProof: [...fromHex(digest('smtProof'))],
    lane: null,
    payloadAndCtxDigest: digest('payloadAndCtx'),
    parentSeqCommit:
      view.ledger.record(record.selectedParent ?? '')?.block.header.acceptedIdMerkleRoot ?? '00'.repeat(32),
    inactivityShortcut: digest('inactivity'),
  }
}
