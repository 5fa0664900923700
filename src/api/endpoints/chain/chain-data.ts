import type { CursorCodec } from '../../../core/cursor.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { ChainStore } from '../../../store/chain.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'
import type { PastBalances } from './past-balance.ts'
import type { UtxoReader } from './read-utxos.ts'
import type { Submitter } from './submit-transaction.ts'

/** What the chain endpoints of one environment depend on. */
export interface ChainData {
  readonly upstreams: Upstreams
  readonly submitter: Submitter
  readonly index: Omit<ChainStore, 'write' | 'prune'>
  readonly utxos: UtxoReader
  readonly pastBalances: PastBalances
  readonly cursors: CursorCodec
  /** How long an endpoint waits for the nodes. */
  readonly waitMs: number
  readonly clock: Clock
}
