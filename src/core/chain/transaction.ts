/**
 * A Kaspa transaction as in the node's JSON. 64-bit integers are bigints, ids and scripts are lower-case hex. Version 0
 * is the classic form; version 1 has covenant bindings on outputs, a compute budget per input in place of the signature
 * operation count, and lanes (gas, user subnetworks).
 */
export interface Outpoint {
  readonly transactionId: string
  readonly index: number
}

export interface TransactionInput {
  readonly previousOutpoint: Outpoint
  readonly signatureScript: string
  readonly sequence: bigint
  /** version 0 only, otherwise 0 */
  readonly sigOpCount: number
  /** version 1 only, otherwise 0 */
  readonly computeBudget: number
}

export interface CovenantBinding {
  readonly authorizingInput: number
  readonly covenantId: string
}

export interface TransactionOutput {
  readonly value: bigint
  /** hex form: four digits of version, then the script */
  readonly scriptPublicKey: string
  readonly covenant: CovenantBinding | null
}

export interface Transaction {
  readonly version: number
  readonly inputs: readonly TransactionInput[]
  readonly outputs: readonly TransactionOutput[]
  readonly lockTime: bigint
  readonly subnetworkId: string
  readonly gas: bigint
  readonly payload: string
  /** The mass that the transaction commits to; 0 while it is unknown. */
  readonly storageMass: bigint
}

/** The output that an input spends, as far as it is known from an index or was resolved by the node. */
export interface SpentOutput {
  readonly amount: bigint | null
  readonly scriptPublicKey: string | null
  readonly covenantId: string | null
  readonly isCoinbase: boolean | null
  readonly blockDaaScore: bigint | null
}

export const NATIVE_SUBNETWORK = '00'.repeat(20)
export const COINBASE_SUBNETWORK = `01${'00'.repeat(19)}`

export function isCoinbase(transaction: Transaction): boolean {
  return transaction.subnetworkId === COINBASE_SUBNETWORK
}
