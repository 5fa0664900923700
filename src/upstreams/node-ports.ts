import type { Clock } from '../kit/clock.ts'
import type { DialNode } from './dial-node.ts'

/** The outside dependencies of the connections: time, randomness and dialling. */
export interface NodePorts {
  readonly clock: Clock
  readonly dial: DialNode
  /** In [0, 1); spreads reconnection attempts. */
  readonly random: () => number
}
