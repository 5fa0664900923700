/** The hash of a whole transaction, signatures and masses included: the leaf of a block's merkle tree. */
import { hexOfBytes } from '../core/chain/hex.ts'
import type { Transaction } from '../core/chain/transaction.ts'
import { encodeTransaction } from './encode-transaction.ts'
import { blake2bDomain } from './keyed-hash.ts'

const wholeHash = blake2bDomain('TransactionHash')

export function transactionHash(transaction: Transaction): string {
  return hexOfBytes(
    wholeHash(encodeTransaction(transaction, { signatures: true, payload: true, mass: true })),
  )
}
