/**
 * The covenant part of the chain index: for each covenant the transactions that founded, continued or burnt it, in the
 * order of acceptance, and its outputs that are unspent. Only accepted transactions count; it is written and undone
 * with the chain blocks that accept them.
 */
import type { OutputPoint } from './output-point.ts'

/** What one accepted transaction means for one covenant. */
export interface CovenantChange {
  readonly covenantId: string
  /** Members of the served step beside id and time: `{"kind":…,"spent":…,"created":…}`. */
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
  /** Newest first; `before` is the rank of the last step of the page before. */
  covenantSteps(query: { covenantId: string; limit: number; before?: number }): Promise<CovenantSteps>
  /** The oldest step that is stored. */
  firstCovenantStep(covenantId: string): Promise<CovenantStep | undefined>
  /**
   * Unspent outputs that were created since the last gap of the chain (what is older may have been spent in it), by
   * transaction id and index.
   */
  covenantUtxos(query: { covenantId: string; limit: number; after?: OutputPoint }): Promise<CovenantUtxos>
  /** Any one that has an address. */
  someCovenantUtxo(): Promise<CovenantUtxo | undefined>
  /** The same of an address, by covenant first. */
  addressCovenants(query: {
    address: string
    limit: number
    after?: OutputPoint & { readonly covenantId: string }
  }): Promise<CovenantUtxos>
}
