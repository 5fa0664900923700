/** The binary form of a transaction that is hashed. What is left out depends on which hash is wanted. */
import type { Transaction } from '../core/chain/transaction.ts'
import { ByteWriter } from './byte-writer.ts'

export interface EncodedParts {
  readonly signatures: boolean
  readonly payload: boolean
  /** The commitments to mass: the storage mass and, in version 1, the compute budgets. */
  readonly mass: boolean
}

export function encodeTransaction(transaction: Transaction, parts: EncodedParts): Uint8Array {
  const { version, inputs, outputs } = transaction
  const writer = new ByteWriter(encodedSize(transaction, parts))
  writer.u16(version)
  writer.length(inputs.length)
  for (const input of inputs) {
    writer.hex(input.previousOutpoint.transactionId)
    writer.u32(input.previousOutpoint.index)
    if (parts.signatures) {
      writer.lengthAndHex(input.signatureScript)
      if (version === 0) writer.u8(input.sigOpCount)
    } else {
      writer.length(0)
    }
    writer.u64(input.sequence)
    if (version > 0 && parts.mass) writer.u16(input.computeBudget)
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
  writer.lengthAndHex(parts.payload ? transaction.payload : '')
  if (writesStorageMass(transaction, parts)) writer.u64(transaction.storageMass)
  return writer.bytes()
}

/** Version 0 writes it only when there is one, so that older hashes stay what they were. */
function writesStorageMass(transaction: Transaction, parts: EncodedParts): boolean {
  return parts.mass && (transaction.version > 0 || transaction.storageMass > 0n)
}

function encodedSize(transaction: Transaction, parts: EncodedParts): number {
  const { version, inputs, outputs, payload } = transaction
  let size = 2 + 8 + 8 + 8 + 20 + 8 + 8
  const inputSize =
    36 + 8 + 8 + (version > 0 && parts.mass ? 2 : 0) + (version === 0 && parts.signatures ? 1 : 0)
  size += inputs.length * inputSize
  if (parts.signatures) for (const input of inputs) size += input.signatureScript.length / 2
  for (const output of outputs) {
    size += 8 + 2 + 8 + output.scriptPublicKey.length / 2 - 2
    if (version > 0) size += output.covenant === null ? 1 : 35
  }
  if (parts.payload) size += payload.length / 2
  if (writesStorageMass(transaction, parts)) size += 8
  return size
}
