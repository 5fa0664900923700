/** Builds a block from its parents, and validates a submitted one. */
import { ByteWriter, fromHex, toHex } from './bytes.ts'
import type { Ghostdag } from './ghostdag.ts'
import { blockOf, hashMerkleRoot, merkleRoot } from './hashing.ts'
import type { Ledger } from './ledger.ts'
import { BLOCK_MASS_LIMIT } from './mass.ts'
import {
  type Block,
  COINBASE_SUBNETWORK,
  isCoinbase,
  outpointKey,
  type Tx,
  type TxOutput,
  ZERO_HASH,
} from './model.ts'
import { checkInContext, checkInIsolation, sealTransaction, TxRefusal } from './validate.ts'

const SUBSIDY = 300_000_000n
export const BITS = 0x1e7fffff
export const BLOCK_VERSION = 2

interface BlockParts {
  parents: readonly string[]
  transactions: readonly Tx[]
  timestamp: number
  nonce: bigint
  minerScript: string
  extraData: string
}

interface MinerData {
  subsidy: bigint
  script: string
}

export function coinbasePayload(blueScore: bigint, script: string, extraData: string): string {
  const out = new ByteWriter()
    .u64(blueScore)
    .u64(SUBSIDY)
    .u16(Number.parseInt(script.slice(0, 4), 16))
  return toHex(
    out
      .u8((script.length - 4) / 2)
      .hex(script.slice(4))
      .hex(extraData)
      .done(),
  )
}

function readCoinbase(tx: Tx | undefined): MinerData | undefined {
  const bytes = Buffer.from(fromHex(tx?.payload ?? ''))
  if (bytes.length < 19) return undefined
  const length = bytes[18] ?? 0
  if (bytes.length < 19 + length) return undefined
  const version = bytes.readUInt16LE(16).toString(16).padStart(4, '0')
  return { subsidy: bytes.readBigUInt64LE(8), script: version + toHex(bytes.subarray(19, 19 + length)) }
}

/** Every blue block of the merge set pays its miner; the rewards of red blocks go to the merging miner. */
function rewards(
  ledger: Ledger,
  data: Ghostdag,
  fees: ReadonlyMap<string, bigint>,
  minerScript: string,
): TxOutput[] {
  const minerOf = (hash: string) => readCoinbase(ledger.record(hash)?.block.transactions[0])
  const outputs: TxOutput[] = []
  for (const hash of data.blues) {
    const miner = minerOf(hash)
    if (miner === undefined) continue
    const value = miner.subsidy + (fees.get(hash) ?? 0n)
    if (value > 0n) outputs.push({ value, scriptPublicKey: miner.script, covenant: null })
  }
  const red = data.reds.reduce(
    (sum, hash) => sum + (minerOf(hash)?.subsidy ?? 0n) + (fees.get(hash) ?? 0n),
    0n,
  )
  if (red > 0n) outputs.push({ value: red, scriptPublicKey: minerScript, covenant: null })
  return outputs
}

export function buildBlock(ledger: Ledger, parts: BlockParts): Block {
  const { ghostdag: data, acceptance } = ledger.preview(parts.parents)
  const coinbase = sealTransaction({
    version: 1,
    inputs: [],
    outputs: rewards(ledger, data, acceptance.fees, parts.minerScript),
    lockTime: 0n,
    subnetworkId: COINBASE_SUBNETWORK,
    gas: 0n,
    payload: coinbasePayload(data.blueScore, parts.minerScript, parts.extraData),
    storageMass: 0n,
  })
  const transactions = [coinbase, ...parts.transactions]
  return blockOf(
    {
      version: BLOCK_VERSION,
      parentsByLevel: [[...parts.parents], [ledger.pruningPoint]],
      hashMerkleRoot: hashMerkleRoot(transactions),
      acceptedIdMerkleRoot: merkleRoot(acceptance.transactions.map(({ tx }) => tx.id).sort()),
      utxoCommitment: ZERO_HASH,
      timestamp: parts.timestamp,
      bits: BITS,
      nonce: parts.nonce,
      daaScore: data.daaScore,
      blueWork: data.blueWork,
      blueScore: data.blueScore,
      pruningPoint: ledger.pruningPoint,
    },
    transactions,
  )
}

/** Proof of work is not checked; everything else in a submitted block must be right. */
export function isValidBlock(ledger: Ledger, block: Block): boolean {
  const { header, transactions } = block
  const parents = header.parentsByLevel[0] ?? []
  const [coinbase, ...rest] = transactions
  if (parents.length === 0 || parents.some((hash) => ledger.record(hash) === undefined)) return false
  if (coinbase === undefined || !isCoinbase(coinbase) || rest.some(isCoinbase)) return false
  const miner = readCoinbase(coinbase)
  if (miner === undefined || miner.subsidy !== SUBSIDY) return false
  const same = (a: readonly TxOutput[], b: readonly TxOutput[]) =>
    a.length === b.length &&
    a.every((out, i) => out.value === b[i]?.value && out.scriptPublicKey === b[i]?.scriptPublicKey)
  return ledger.inContext(
    parents,
    ({ ghostdag: data, acceptance }) =>
      header.daaScore === data.daaScore &&
      header.blueScore === data.blueScore &&
      header.blueWork === data.blueWork &&
      header.hashMerkleRoot === hashMerkleRoot(transactions) &&
      same(coinbase.outputs, rewards(ledger, data, acceptance.fees, miner.script)) &&
      areValidTransactions(ledger, data, rest),
  )
}

/**
 * Validates in the block's own context: transactions that the chain accepted after its parents do not make it invalid.
 */
function areValidTransactions(ledger: Ledger, data: Ghostdag, transactions: readonly Tx[]): boolean {
  const view = {
    daaScore: data.daaScore,
    pastMedianTime: ledger.record(data.selectedParent ?? '')?.block.header.timestamp ?? 0,
    coinbaseMaturity: ledger.rules.coinbaseMaturity,
  }
  let mass = 0n
  try {
    for (const tx of transactions) {
      checkInIsolation(tx)
      const spent = tx.inputs.map((input) => ledger.utxos.get(outpointKey(input.previousOutpoint)))
      const known = spent.filter((entry) => entry !== undefined)
      if (known.length < spent.length) return false
      checkInContext(tx, known, view, { skipScripts: false })
      mass += BigInt(tx.computeMass)
    }
  } catch (error) {
    if (error instanceof TxRefusal) return false
    throw error
  }
  return mass <= BLOCK_MASS_LIMIT.compute
}
