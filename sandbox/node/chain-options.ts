/** All options of a simulated chain, with their defaults. */
import type { NetworkId } from './networks.ts'
import { DEFAULT_MIX, type TrafficKind } from './traffic/traffic.ts'

export interface ChainOptions {
  seed: number
  network: NetworkId
  blocksPerSecond: number
  /** Generated transactions per second, not counting sweeps of coinbase outputs. */
  transactionsPerSecond: number
  mix: Readonly<Record<TrafficKind, number>>
  /** Share of blocks that are mined in parallel to the latest one. */
  parallelRate: number
  /** Share of blocks that arrive long after they were mined and are red. */
  lateRate: number
  reorgsPerMinute: number
  /** Maximum number of chain blocks that such a reorganisation replaces. */
  reorgDepth: number
  /** Share of those reorganisations in which a transaction of the abandoned side is double-spent permanently. */
  reorgDoubleSpendRate: number
  /** Blocks for which an ordinary transaction waits in the mempool; one that pays twice the floor does not wait. */
  dwellBlocks: number
  /** How long a node remembers that a transaction was accepted. If it is sent again later, it is an orphan. */
  acceptedMemorySeconds: number
  /** Maximum mass of a mined block; lower it to make fees compete. */
  blockMass: number
  coinbaseMaturity: number
  ghostdagK: number
  keepBlocks: number
  startDaaScore: bigint
  /** Time of the first block. Later ones follow at the block rate, which makes a chain reproducible. */
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
