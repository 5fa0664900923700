/**
 * The covenant part of the chain index: for each covenant, the transactions that founded, continued or burnt it, in the
 * order of acceptance, and its unspent outputs. Only accepted transactions count. The rows are written and undone
 * together with the chain blocks that accept the transactions.
 */
import type { OutputPoint } from './output-point.ts'

/** The effect of one accepted transaction on one covenant. */
export interface CovenantChange {
  readonly covenantId: string
  /** Members of the served step apart from id and time: `{"kind":…,"spent":…,"created":…}`. */
  readonly text: string
  readonly spent: readonly OutputPoint[]
  readonly created: readonly CreatedCovenantOutput[]
}

interface CreatedCovenantOutput {
  readonly index: number
  readonly amount: bigint
  readonly scriptPublicKey: string
  readonly address: string | null
}

export interface CovenantStep {
  readonly txId: string
  /** Place in the order of acceptance. */
  readonly rank: number
  readonly timeMs: number
  readonly text: string
}

export interface CovenantUtxo extends OutputPoint {
  readonly covenantId: string
  readonly amount: bigint
  readonly scriptPublicKey: string
  readonly address: string | null
  readonly timeMs: number
}

export interface CovenantSteps {
  readonly steps: readonly CovenantStep[]
  readonly hasMore: boolean
}

export interface CovenantUtxos {
  readonly utxos: readonly CovenantUtxo[]
  readonly hasMore: boolean
}

export interface CovenantStore {
  /** Newest first; `before` is the rank of the last step on the previous page. */
  covenantSteps(query: { covenantId: string; limit: number; before?: number }): Promise<CovenantSteps>
  /** The oldest stored step. */
  firstCovenantStep(covenantId: string): Promise<CovenantStep | undefined>
  /**
   * Unspent outputs created since the last gap of the chain, by transaction id and index. Older ones are left out
   * because they may have been spent during the gap.
   */
  covenantUtxos(query: { covenantId: string; limit: number; after?: OutputPoint }): Promise<CovenantUtxos>
  /** Any unspent output that has an address. */
  someCovenantUtxo(): Promise<CovenantUtxo | undefined>
  /** The unspent outputs of an address, by covenant, transaction id and index. */
  addressCovenants(query: {
    address: string
    limit: number
    after?: OutputPoint & { readonly covenantId: string }
  }): Promise<CovenantUtxos>
}
