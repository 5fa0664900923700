/**
 * The data model of the simulated chain. Hashes, scripts and payloads are lower-case hex, as on the wire; amounts and
 * scores that are u64 on the wire are bigint.
 */
export interface Outpoint {
  transactionId: string
  index: number
}

export interface TxInput {
  previousOutpoint: Outpoint
  signatureScript: string
  sequence: bigint
  /** v0 only; 0 in v1. */
  sigOpCount: number
  /** v1 only; 0 in v0. */
  computeBudget: number
}

interface Covenant {
  authorizingInput: number
  covenantId: string
}

export interface TxOutput {
  value: bigint
  /** Four hex digits of version (big-endian), then the script, as on the wire. */
  scriptPublicKey: string
  covenant: Covenant | null
}

/** A transaction as it is signed and sent, before its id is known. */
export interface TxBody {
  version: number
  inputs: TxInput[]
  outputs: TxOutput[]
  lockTime: bigint
  subnetworkId: string
  gas: bigint
  payload: string
  storageMass: bigint
}

export interface Tx extends TxBody {
  id: string
  hash: string
  computeMass: number
}

export interface UtxoEntry {
  amount: bigint
  scriptPublicKey: string
  blockDaaScore: bigint
  isCoinbase: boolean
  covenantId: string | null
}

export interface Header {
  hash: string
  version: number
  parentsByLevel: string[][]
  hashMerkleRoot: string
  acceptedIdMerkleRoot: string
  utxoCommitment: string
  timestamp: number
  bits: number
  nonce: bigint
  daaScore: bigint
  blueWork: bigint
  blueScore: bigint
  pruningPoint: string
}

export interface Block {
  header: Header
  transactions: Tx[]
}

export const NATIVE_SUBNETWORK = '00'.repeat(20)
export const COINBASE_SUBNETWORK = `01${'00'.repeat(19)}`
export const ZERO_HASH = '00'.repeat(32)
export const MAX_SOMPI = 2_900_000_000_000_000_000n
export const SOMPI_PER_KASPA = 100_000_000n

export function isCoinbase(tx: TxBody): boolean {
  return tx.subnetworkId === COINBASE_SUBNETWORK
}

/** The key of an outpoint in maps: `txid:index`. */
export function outpointKey(outpoint: Outpoint): string {
  return `${outpoint.transactionId}:${outpoint.index}`
}

export function parseOutpointKey(key: string): Outpoint {
  return { transactionId: key.slice(0, 64), index: Number(key.slice(65)) }
}
