/** Fee rates for the next block, a minute and an hour, derived from the mempool. */
import { MINIMUM_FEERATE } from './consensus/mass.ts'
import type { MempoolEntry } from './mempool.ts'

interface FeeBucket {
  feerate: number
  estimatedSeconds: number
}

export interface FeeEstimate {
  priorityBucket: FeeBucket
  normalBuckets: FeeBucket[]
  lowBuckets: FeeBucket[]
}

/** The waiting time that the node reports for an empty mempool. */
const IDLE_SECONDS = 0.004

export function estimateFees(
  ready: readonly MempoolEntry[],
  options: { blockMass: number; blocksPerSecond: number },
): FeeEstimate {
  const floor = Number(MINIMUM_FEERATE)
  const queue = ready
    .map(({ fee, mass }) => ({ feerate: Number(fee) / Number(mass), mass: Number(mass) }))
    .sort((a, b) => b.feerate - a.feerate)
  const massPerSecond = options.blockMass * options.blocksPerSecond
  /** The lowest fee rate that is served if this much mass can go first. */
  const within = (capacity: number): FeeBucket => {
    let before = 0
    for (const { feerate, mass } of queue) {
      before += mass
      if (before <= capacity) continue
      return { feerate: Math.max(floor, feerate + 1), estimatedSeconds: capacity / massPerSecond }
    }
    return { feerate: floor, estimatedSeconds: Math.max(IDLE_SECONDS, before / massPerSecond) }
  }
  const next = within(options.blockMass)
  const minute = within(massPerSecond * 60)
  const hour = within(massPerSecond * 3600)
  const middle = {
    feerate: (minute.feerate + hour.feerate) / 2,
    estimatedSeconds: Math.max(
      minute.estimatedSeconds,
      (minute.estimatedSeconds + hour.estimatedSeconds) / 2,
    ),
  }
  return { priorityBucket: next, normalBuckets: [minute, middle], lowBuckets: [hour] }
}
