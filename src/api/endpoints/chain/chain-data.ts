import type { Upstreams } from '../../../upstreams/pool.ts'
import type { Submitter } from './submit-transaction.ts'

/** What the chain endpoints of one environment work with. */
export interface ChainData {
  readonly upstreams: Upstreams
  readonly submitter: Submitter
}
