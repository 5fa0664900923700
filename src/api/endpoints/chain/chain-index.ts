import type { CursorCodec } from '../../../core/cursor.ts'
import type { ChainStore } from '../../../store/chain.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'

/** What the endpoints about transactions and addresses work with. */
export interface ChainIndex {
  readonly chain: Omit<ChainStore, 'write' | 'prune'>
  readonly upstreams: Upstreams
  readonly cursors: CursorCodec
  /** How long an answer waits for the nodes. */
  readonly waitMs: number
}
