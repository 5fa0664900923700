/**
 * The id of a transaction: signatures and masses do not enter, so it is known before a node has seen the
 * transaction and never changes afterwards.
 */
import { bytesOfHex, hexOfBytes } from '../core/chain/hex.ts'
import type { Transaction } from '../core/chain/transaction.ts'
import { encodeTransaction } from './encode-transaction.ts'
import { blake2bDomain, blake3Domain } from './keyed-hash.ts'

const classicId = blake2bDomain('TransactionID')
const payloadDigest = blake3Domain('PayloadDigest')
const restDigest = blake3Domain('TransactionRest')
const boundId = blake3Domain('TransactionV1Id')

export function transactionId(transaction: Transaction): string {
  if (transaction.version === 0) {
    return hexOfBytes(
      classicId(encodeTransaction(transaction, { signatures: false, payload: true, mass: false })),
    )
  }
  const payload = payloadDigest(bytesOfHex(transaction.payload))
  const rest = restDigest(encodeTransaction(transaction, { signatures: false, payload: false, mass: false }))
  return hexOfBytes(boundId(Buffer.concat([payload, rest])))
}
