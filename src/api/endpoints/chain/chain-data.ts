import type { CursorCodec } from '../../../core/cursor.ts'
import type { ChainStore } from '../../../store/chain.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'
import type { Submitter } from './submit-transaction.ts'

/** What the chain endpoints of one environment work with. */
export interface ChainData {
  readonly upstreams: Upstreams
  readonly submitter: Submitter
  readonly index: Omit<ChainStore, 'write' | 'prune'>
  readonly cursors: CursorCodec
  /** How long an answer waits for the nodes. */
  readonly waitMs: number
}

/** Times of the node group: `2026-03-14T04:00:00.000+00:00`. */
export function nodeTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString().replace('Z', '+00:00')
}
