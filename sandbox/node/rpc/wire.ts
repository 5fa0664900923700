/** The node's objects as on the wire: member names, order and types of its JSON. */
import { Lru } from '../../../src/kit/lru.ts'
import { type AddressPrefix, addressOfScript, classify } from '../consensus/address.ts'
import type { BlockRecord } from '../consensus/block-record.ts'
import type { Ledger } from '../consensus/ledger.ts'
import { type Header, parseOutpointKey, type Tx, type UtxoEntry, ZERO_HASH } from '../consensus/model.ts'
import type { MempoolEntry } from '../mempool.ts'
import { f64, u64 } from './json.ts'

export const DIFFICULTY = 25_000_000_000_000.5

const addresses = (prefix: AddressPrefix) => {
  const known = new Lru<string, string>({ maxEntries: 4096 })
  return (script: string): string | null => {
    const found = known.get(script)
    if (found !== undefined) return found
    const address = addressOfScript(prefix, script)
    if (address === undefined) return null
    known.set(script, address)
    return address
  }
}

export type Wire = ReturnType<typeof createWire>

export function createWire(prefix: AddressPrefix) {
  const addressOf = addresses(prefix)

  const outputVerbose = (script: string) => {
    const address = addressOf(script)
    return address === null
      ? null
      : { scriptPublicKeyType: classify(script), scriptPublicKeyAddress: address }
  }

  /** `at` is the block that carries the transaction, `mempool` for a waiting one, or undefined for the bare form. */
  const transaction = (tx: Tx, at: Header | 'mempool' | undefined) => ({
    version: tx.version,
    inputs: tx.inputs.map((input) => ({
      previousOutpoint: input.previousOutpoint,
      signatureScript: input.signatureScript,
      sequence: u64(input.sequence),
      sigOpCount: input.sigOpCount,
      computeBudget: input.computeBudget,
      verboseData: null,
    })),
    outputs: tx.outputs.map((output) => ({
      value: u64(output.value),
      scriptPublicKey: output.scriptPublicKey,
      verboseData: at === undefined ? null : outputVerbose(output.scriptPublicKey),
      covenant: output.covenant,
    })),
    lockTime: u64(tx.lockTime),
    subnetworkId: tx.subnetworkId,
    gas: u64(tx.gas),
    payload: tx.payload,
    storageMass: u64(tx.storageMass),
    mass: u64(tx.storageMass),
    verboseData:
      at === undefined
        ? null
        : {
            transactionId: tx.id,
            hash: tx.hash,
            computeMass: tx.computeMass,
            blockHash: at === 'mempool' ? ZERO_HASH : at.hash,
            blockTime: at === 'mempool' ? 0 : at.timestamp,
          },
  })

  const utxo = (key: string, entry: UtxoEntry) => ({
    address: addressOf(entry.scriptPublicKey),
    outpoint: parseOutpointKey(key),
    utxoEntry: {
      amount: u64(entry.amount),
      scriptPublicKey: entry.scriptPublicKey,
      blockDaaScore: u64(entry.blockDaaScore),
      isCoinbase: entry.isCoinbase,
      covenantId: entry.covenantId,
    },
  })

  const block = (ledger: Ledger, record: BlockRecord, withTransactions: boolean) => {
    const { header, transactions } = record.block
    return {
      header: wireHeader(header),
      transactions: withTransactions ? transactions.map((tx) => transaction(tx, header)) : [],
      verboseData: {
        hash: header.hash,
        difficulty: f64(DIFFICULTY),
        selectedParentHash: record.selectedParent ?? ZERO_HASH,
        transactionIds: transactions.map((tx) => tx.id),
        isHeaderOnly: false,
        blueScore: u64(header.blueScore),
        childrenHashes: record.children,
        mergeSetBluesHashes: record.blues,
        mergeSetRedsHashes: record.reds,
        isChainBlock: ledger.isChainBlock(header.hash),
      },
    }
  }

  const mempoolEntry = (entry: MempoolEntry) => ({
    fee: u64(entry.fee),
    transaction: transaction(entry.tx, 'mempool'),
    is_orphan: entry.isOrphan,
  })

  return { addressOf, outputVerbose, transaction, utxo, block, mempoolEntry }
}

export const blueWork = (work: bigint) => work.toString(16).padStart(48, '0')

/** The header without its hash, as in templates. */
export function wireRawHeader(header: Omit<Header, 'hash'>) {
  return {
    version: header.version,
    parentsByLevel: header.parentsByLevel,
    hashMerkleRoot: header.hashMerkleRoot,
    acceptedIdMerkleRoot: header.acceptedIdMerkleRoot,
    utxoCommitment: header.utxoCommitment,
    timestamp: header.timestamp,
    bits: header.bits,
    nonce: u64(header.nonce),
    daaScore: u64(header.daaScore),
    blueWork: blueWork(header.blueWork),
    blueScore: u64(header.blueScore),
    pruningPoint: header.pruningPoint,
  }
}

export function wireHeader(header: Header) {
  return { hash: header.hash, ...wireRawHeader(header) }
}
