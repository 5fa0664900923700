/** The id of a covenant at its genesis (KIP-20): a hash of the outpoint that founds it and of its outputs. */
import { hexOfBytes } from '../core/chain/hex.ts'
import type { Outpoint, TransactionOutput } from '../core/chain/transaction.ts'
import { ByteWriter } from './byte-writer.ts'
import { blake2bDomain } from './keyed-hash.ts'

const covenantHash = blake2bDomain('CovenantID')

/** `outputs` are all outputs that name the same authorising input and covenant, in the order of their index. */
export function genesisCovenantId(
  outpoint: Outpoint,
  outputs: readonly { readonly index: number; readonly output: TransactionOutput }[],
): string {
  let size = 36 + 8
  for (const { output } of outputs) size += 4 + 8 + 2 + 8 + (output.scriptPublicKey.length - 4) / 2
  const writer = new ByteWriter(size)
  writer.hex(outpoint.transactionId)
  writer.u32(outpoint.index)
  writer.length(outputs.length)
  for (const { index, output } of outputs) {
    writer.u32(index)
    writer.u64(output.value)
    writer.u16(Number.parseInt(output.scriptPublicKey.slice(0, 4), 16))
    writer.lengthAndHex(output.scriptPublicKey.slice(4))
  }
  return hexOfBytes(covenantHash(writer.bytes()))
}
