/**
 * The id of a transaction. It does not depend on signatures or masses, so it is known before a node has seen the
 * transaction and never changes afterwards.
 */
import { bytesOfHex, hexOfBytes } from '../core/chain/hex.ts'
import type { Transaction } from '../core/chain/transaction.ts'
import { ByteWriter } from './byte-writer.ts'
import { blake2bDomain, blake3Domain } from './keyed-hash.ts'

const classicId = blake2bDomain('TransactionID')
const payloadDigest = blake3Domain('PayloadDigest')
const restDigest = blake3Domain('TransactionRest')
const boundId = blake3Domain('TransactionV1Id')

export function transactionId(transaction: Transaction): string {
  const { version, payload } = transaction
  if (version === 0) return hexOfBytes(classicId(encode(transaction, payload)))
  const digest = payloadDigest(bytesOfHex(payload))
  const rest = restDigest(encode(transaction, ''))
  return hexOfBytes(boundId(Buffer.concat([digest, rest])))
}

/** The binary form that is hashed, with empty signature scripts and without the mass commitments. */
function encode(transaction: Transaction, payload: string): Uint8Array {
  const { version, inputs, outputs } = transaction
  const writer = new ByteWriter(encodedSize(transaction, payload))
  writer.u16(version)
  writer.length(inputs.length)
  for (const input of inputs) {
    writer.hex(input.previousOutpoint.transactionId)
    writer.u32(input.previousOutpoint.index)
    writer.length(0)
    writer.u64(input.sequence)
  }
  writer.length(outputs.length)
  for (const output of outputs) {
    writer.u64(output.value)
    writer.u16(Number.parseInt(output.scriptPublicKey.slice(0, 4), 16))
    writer.lengthAndHex(output.scriptPublicKey.slice(4))
    if (version === 0) continue
    writer.u8(output.covenant === null ? 0 : 1)
    if (output.covenant === null) continue
    writer.u16(output.covenant.authorizingInput)
    writer.hex(output.covenant.covenantId)
  }
  writer.u64(transaction.lockTime)
  writer.hex(transaction.subnetworkId)
  writer.u64(transaction.gas)
  writer.lengthAndHex(payload)
  return writer.bytes()
}

function encodedSize({ version, inputs, outputs }: Transaction, payload: string): number {
  let size = 2 + 8 + 8 + 8 + 20 + 8 + 8 + inputs.length * (36 + 8 + 8) + payload.length / 2
  for (const output of outputs) {
    size += 8 + 2 + 8 + output.scriptPublicKey.length / 2 - 2
    if (version > 0) size += output.covenant === null ? 1 : 35
  }
  return size
}
