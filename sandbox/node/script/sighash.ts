/** What the signature of an input commits to. One instance per transaction, so that shared parts are hashed once. */
import { sha256 } from '@noble/hashes/sha2.js'
import { ByteWriter } from '../consensus/bytes.ts'
import { domainHash, writeOutput, writeScriptPublicKey } from '../consensus/hashing.ts'
import { NATIVE_SUBNETWORK, type TxBody } from '../consensus/model.ts'

const hashForSigning = domainHash('TransactionSigningHash')
const SIGNING_HASH_ECDSA = sha256(Buffer.from('TransactionSigningHashECDSA', 'ascii'))
const ZERO = new Uint8Array(32)

export const SIGHASH_ALL = 1
const SIGHASH_NONE = 2
const SIGHASH_SINGLE = 4
const ANYONE_CAN_PAY = 0x80
const KNOWN_TYPES = new Set([1, 2, 4, 0x81, 0x82, 0x84])

export function isSighashType(value: number): boolean {
  return KNOWN_TYPES.has(value)
}

export interface SpentOutput {
  amount: bigint
  scriptPublicKey: string
}

export class SigHasher {
  readonly #tx: TxBody
  readonly #reused = new Map<string, Uint8Array>()

  constructor(tx: TxBody) {
    this.#tx = tx
  }

  schnorr(index: number, spent: SpentOutput, type: number): Uint8Array {
    const tx = this.#tx
    const input = tx.inputs[index]
    if (input === undefined) throw new RangeError(`no input ${index}`)
    const base = type & 7
    const anyone = (type & ANYONE_CAN_PAY) !== 0
    const out = new ByteWriter().u16(tx.version)
    out.bytes(anyone ? ZERO : this.#once('previous', (w) => this.#previousOutputs(w)))
    const noSequences = anyone || base === SIGHASH_SINGLE || base === SIGHASH_NONE
    out.bytes(
      noSequences ? ZERO : this.#once('sequences', (w) => tx.inputs.forEach((i) => void w.u64(i.sequence))),
    )
    if (tx.version < 1) {
      out.bytes(
        anyone ? ZERO : this.#once('sigops', (w) => tx.inputs.forEach((i) => void w.u8(i.sigOpCount))),
      )
    }
    out.hex(input.previousOutpoint.transactionId).u32(input.previousOutpoint.index)
    writeScriptPublicKey(out, spent.scriptPublicKey)
    out.u64(spent.amount).u64(input.sequence)
    if (tx.version < 1) out.u8(input.sigOpCount)
    out.bytes(this.#outputs(index, base)).u64(tx.lockTime).hex(tx.subnetworkId).u64(tx.gas)
    const noPayload = tx.subnetworkId === NATIVE_SUBNETWORK && tx.payload === ''
    out.bytes(noPayload ? ZERO : this.#once('payload', (w) => w.varHex(tx.payload))).u8(type)
    return hashForSigning(out.done())
  }

  ecdsa(index: number, spent: SpentOutput, type: number): Uint8Array {
    const inner = this.schnorr(index, spent, type)
    return sha256(new ByteWriter().bytes(SIGNING_HASH_ECDSA).bytes(inner).done())
  }

  #previousOutputs(out: ByteWriter): void {
    for (const { previousOutpoint } of this.#tx.inputs) {
      out.hex(previousOutpoint.transactionId).u32(previousOutpoint.index)
    }
  }

  #outputs(index: number, base: number): Uint8Array {
    const tx = this.#tx
    if (base === SIGHASH_NONE) return ZERO
    if (base !== SIGHASH_SINGLE) {
      return this.#once('outputs', (w) =>
        tx.outputs.forEach((output) => void writeOutput(w, output, tx.version)),
      )
    }
    const output = tx.outputs[index]
    if (output === undefined) return ZERO
    const out = new ByteWriter()
    writeOutput(out, output, tx.version)
    return hashForSigning(out.done())
  }

  #once(name: string, write: (out: ByteWriter) => unknown): Uint8Array {
    const known = this.#reused.get(name)
    if (known !== undefined) return known
    const out = new ByteWriter()
    write(out)
    const hash = hashForSigning(out.done())
    this.#reused.set(name, hash)
    return hash
  }
}
