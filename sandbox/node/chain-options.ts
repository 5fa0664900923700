/** Everything that shapes a simulated chain, with its default. */
import type { NetworkId } from './networks.ts'
import { DEFAULT_MIX, type TrafficKind } from './traffic/traffic.ts'

export interface ChainOptions {
  seed: number
  network: NetworkId
  blocksPerSecond: number
  /** Generated transactions per second, sweeping of coinbase outputs not counted. */
  transactionsPerSecond: number
  mix: Readonly<Record<TrafficKind, number>>
  /** Share of blocks that are mined beside the latest one. */
  parallelRate: number
  /** Share of blocks that arrive long after they were mined, and are red. */
  lateRate: number
  reorgsPerMinute: number
  /** Chain blocks that such a reorganisation replaces, at most. */
  reorgDepth: number
  /** Share of those in which a transaction of the left side is double-spent for good. */
  reorgDoubleSpendRate: number
  /** Blocks that an ordinary transaction waits in the mempool; one that pays twice the floor waits none. */
  dwellBlocks: number
  /** How long a node remembers that a transaction was accepted; sent again later it is an orphan. */
  acceptedMemorySeconds: number
  /** Mass that a mined block takes; lower it to make fees compete. */
  blockMass: number
  coinbaseMaturity: number
  ghostdagK: number
  keepBlocks: number
  startDaaScore: bigint
  /** Time of the first block; later ones follow at the block rate, which makes a chain reproducible. */
  startTimeMs: number
  /** Blocks that exist before the node answers its first request. */
  warmUpBlocks: number
  users: number
  /** Unspent outputs that exist from the start. */
  fund: readonly { address: string; amount: bigint }[]
}

export function chainOptions(given: Partial<ChainOptions>, nowMs: number): ChainOptions {
  const blocksPerSecond = given.blocksPerSecond ?? 10
  const warmUpBlocks = given.warmUpBlocks ?? 200
  return {
    seed: 1,
    network: 'testnet-10',
    transactionsPerSecond: 3,
    mix: DEFAULT_MIX,
    parallelRate: 0.15,
    lateRate: 0.002,
    reorgsPerMinute: 1,
    reorgDepth: 3,
    reorgDoubleSpendRate: 0.25,
    dwellBlocks: 8,
    acceptedMemorySeconds: 120,
    blockMass: 500_000,
    coinbaseMaturity: 1000,
    ghostdagK: 18,
    keepBlocks: 6000,
    startDaaScore: 500_000_000n,
    startTimeMs: nowMs - Math.round((warmUpBlocks * 1000) / blocksPerSecond),
    users: 20,
    fund: [],
    ...given,
    blocksPerSecond,
    warmUpBlocks,
  }
}
