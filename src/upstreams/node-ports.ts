import type { Clock } from '../kit/clock.ts'
import type { DialNode } from './dial-node.ts'

/** What the connections take from outside: time, chance and the way to a node. */
export interface NodePorts {
  readonly clock: Clock
  readonly dial: DialNode
  /** In [0, 1): spreads the attempts to connect again. */
  readonly random: () => number
}
