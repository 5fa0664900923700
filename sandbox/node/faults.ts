/** How a node misbehaves. Every fault can be switched while it runs. */
import type { NetworkId } from './networks.ts'

export interface Faults {
  /** Accepts connections and requests but never answers. */
  hang: boolean
  /** Waits before every answer. */
  latencyMs: number
  /** Stays this far behind the chain, as if blocks reached it late. */
  lagDaa: number
  /** What it reports about its sync; null for the truth. */
  claimSynced: boolean | null
  /** In the middle of a sync: refuses everything that needs the whole state. */
  transitional: boolean
  /** Reports another network than the chain's. */
  network: NetworkId | null
  /** The text with which every request is refused. */
  refuse: string | null
  utxoIndex: boolean
  /** getBlocks answers are at least this large. */
  hugeBlocksBytes: number
}

export const NO_FAULTS: Faults = {
  hang: false,
  latencyMs: 0,
  lagDaa: 0,
  claimSynced: null,
  transitional: false,
  network: null,
  refuse: null,
  utxoIndex: true,
  hugeBlocksBytes: 0,
}

const SAME_TYPE: Record<keyof Faults, (value: unknown) => boolean> = {
  hang: (value) => typeof value === 'boolean',
  latencyMs: isCount,
  lagDaa: isCount,
  claimSynced: (value) => value === null || typeof value === 'boolean',
  transitional: (value) => typeof value === 'boolean',
  network: (value) => value === null || typeof value === 'string',
  refuse: (value) => value === null || typeof value === 'string',
  utxoIndex: (value) => typeof value === 'boolean',
  hugeBlocksBytes: isCount,
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** The faults in an outside value, or the name of the first member that is not a valid fault. */
export function readFaults(value: object): { faults: Partial<Faults> } | { wrong: string } {
  for (const [name, given] of Object.entries(value)) {
    const check = Object.hasOwn(SAME_TYPE, name) ? SAME_TYPE[name as keyof Faults] : undefined
    if (check?.(given) !== true) return { wrong: name }
  }
  return { faults: value }
}
