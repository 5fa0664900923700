/** The part of a node that the methods see. */
import type { Ledger } from '../consensus/ledger.ts'
import type { Block, Tx } from '../consensus/model.ts'
import type { Mempool, SubmitRules } from '../mempool.ts'
import type { NetworkId } from '../networks.ts'
import type { JsonObject } from './read-params.ts'
import type { Wire } from './wire.ts'

export interface NodeView {
  readonly ledger: Ledger
  readonly mempool: Mempool
  readonly wire: Wire
  readonly network: NetworkId
  readonly isSynced: boolean
  readonly hasUtxoIndex: boolean
  /** In the middle of a sync: everything that needs the whole state is refused. */
  readonly isTransitional: boolean
  readonly blocksPerSecond: number
  readonly blockMass: number
  readonly nodeId: string
  readonly counters: {
    connections: number
    attempts: number
    bytesIn: number
    bytesOut: number
    blocks: number
    transactions: number
  }
  nowMs(): number
  submitTransaction(tx: Tx, rules: Pick<SubmitRules, 'replace'>): Tx | undefined
  submitBlock(block: Block): boolean
}

type Method = (view: NodeView, params: JsonObject) => unknown
export type Methods = Record<string, Method>
