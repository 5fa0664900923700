/** Transaction ids and hashes, block hashes, merkle roots and covenant ids, written from the consensus rules. */
import { blake2b } from '@noble/hashes/blake2.js'
import { blake3 } from '@noble/hashes/blake3.js'
import { ByteWriter, fromHex, toHex } from './bytes.ts'
import {
  type Block,
  type Header,
  type Outpoint,
  type Tx,
  type TxBody,
  type TxOutput,
  ZERO_HASH,
} from './model.ts'

type Hash = (data: Uint8Array) => Uint8Array

/** Hashes of one domain. Keeping the state after its key saves a third of the work for the inputs hashed here. */
export function domainHash(domain: string): Hash {
  const keyed = blake2b.create({ dkLen: 32, key: Buffer.from(domain, 'ascii') })
  return (data) => keyed.clone().update(data).digest()
}

const paddedKeyOf = (domain: string) =>
  Buffer.concat([Buffer.from(domain, 'ascii'), Buffer.alloc(32 - domain.length)])

const hashTransactionId = domainHash('TransactionID')
const hashTransaction = domainHash('TransactionHash')
const hashHeader = domainHash('BlockHash')
const hashBranch = domainHash('MerkleBranchHash')
const hashCovenantId = domainHash('CovenantID')
const PAYLOAD_DIGEST = paddedKeyOf('PayloadDigest')
const TRANSACTION_REST = paddedKeyOf('TransactionRest')
const TRANSACTION_V1_ID = paddedKeyOf('TransactionV1Id')

export function keyedBlake2b(key: Uint8Array, data: Uint8Array): Uint8Array {
  return blake2b(data, { dkLen: 32, key })
}

export function plainBlake2b(data: Uint8Array): Uint8Array {
  return blake2b(data, { dkLen: 32 })
}

function keyedBlake3(key: Uint8Array, data: Uint8Array): Uint8Array {
  return blake3(data, { key })
}

/** Which parts of a transaction are encoded: ids leave out signatures and mass, v1 ids also the payload. */
interface Parts {
  signatures: boolean
  mass: boolean
  payload: boolean
}

function encode(tx: TxBody, parts: Parts): Uint8Array {
  const out = new ByteWriter().u16(tx.version).u64(tx.inputs.length)
  for (const input of tx.inputs) {
    out.hex(input.previousOutpoint.transactionId).u32(input.previousOutpoint.index)
    if (parts.signatures) {
      out.varHex(input.signatureScript)
      if (tx.version === 0) out.u8(input.sigOpCount)
    } else {
      out.u64(0)
    }
    out.u64(input.sequence)
    if (tx.version >= 1 && parts.mass) out.u16(input.computeBudget)
  }
  out.u64(tx.outputs.length)
  for (const output of tx.outputs) writeOutput(out, output, tx.version)
  out.u64(tx.lockTime).hex(tx.subnetworkId).u64(tx.gas)
  if (parts.payload) out.varHex(tx.payload)
  else out.u64(0)
  if (parts.mass && (tx.version >= 1 || tx.storageMass > 0n)) out.u64(tx.storageMass)
  return out.done()
}

/** Writes value, script version and script; v1 adds the covenant. Signatures commit to the same form. */
export function writeOutput(out: ByteWriter, output: TxOutput, txVersion: number): void {
  out.u64(output.value)
  writeScriptPublicKey(out, output.scriptPublicKey)
  if (txVersion < 1) return
  out.u8(output.covenant === null ? 0 : 1)
  if (output.covenant !== null) out.u16(output.covenant.authorizingInput).hex(output.covenant.covenantId)
}

export function writeScriptPublicKey(out: ByteWriter, scriptPublicKey: string): void {
  out.u16(Number.parseInt(scriptPublicKey.slice(0, 4), 16)).varHex(scriptPublicKey.slice(4))
}

export function transactionId(tx: TxBody): string {
  if (tx.version === 0) {
    return toHex(hashTransactionId(encode(tx, { signatures: false, mass: false, payload: true })))
  }
  const payload = keyedBlake3(PAYLOAD_DIGEST, fromHex(tx.payload))
  const rest = keyedBlake3(TRANSACTION_REST, encode(tx, { signatures: false, mass: false, payload: false }))
  return toHex(keyedBlake3(TRANSACTION_V1_ID, new ByteWriter().bytes(payload).bytes(rest).done()))
}

export function transactionHash(tx: TxBody): string {
  return toHex(hashTransaction(encode(tx, { signatures: true, mass: true, payload: true })))
}

/** Header hash; the `hash` member itself is not included. */
export function headerHash(header: Omit<Header, 'hash'>): string {
  const out = new ByteWriter().u16(header.version).u64(header.parentsByLevel.length)
  for (const level of header.parentsByLevel) {
    out.u64(level.length)
    for (const parent of level) out.hex(parent)
  }
  out.hex(header.hashMerkleRoot).hex(header.acceptedIdMerkleRoot).hex(header.utxoCommitment)
  out.u64(header.timestamp).u32(header.bits).u64(header.nonce).u64(header.daaScore).u64(header.blueScore)
  const work = header.blueWork === 0n ? '' : header.blueWork.toString(16)
  out.varHex(work.length % 2 === 0 ? work : `0${work}`).hex(header.pruningPoint)
  return toHex(hashHeader(out.done()))
}

export function merkleRoot(hashes: readonly string[]): string {
  if (hashes.length === 0) return ZERO_HASH
  let level = [...hashes]
  while (level.length > 1) {
    const next: string[] = []
    for (let i = 0; i < level.length; i += 2) {
      const pair = new ByteWriter().hex(level[i] ?? ZERO_HASH).hex(level[i + 1] ?? ZERO_HASH)
      next.push(toHex(hashBranch(pair.done())))
    }
    level = next
  }
  return level[0] ?? ZERO_HASH
}

export function hashMerkleRoot(transactions: readonly Tx[]): string {
  return merkleRoot(transactions.map((tx) => tx.hash))
}

/** The id of a covenant created in a transaction: its authorising outpoint and every output that it authorises. */
export function genesisCovenantId(
  outpoint: Outpoint,
  outputs: readonly { index: number; output: TxOutput }[],
): string {
  const out = new ByteWriter().hex(outpoint.transactionId).u32(outpoint.index).u64(outputs.length)
  for (const { index, output } of outputs) {
    out.u32(index).u64(output.value)
    writeScriptPublicKey(out, output.scriptPublicKey)
  }
  return toHex(hashCovenantId(out.done()))
}

export function blockOf(header: Omit<Header, 'hash'>, transactions: Tx[]): Block {
  return { header: { hash: headerHash(header), ...header }, transactions }
}
