/** Methods about addresses, fees and the mempool, and for submitting transactions and blocks. */
import { decodeAddress, scriptOfAddress } from '../consensus/address.ts'
import { buildBlock } from '../consensus/build-block.ts'
import { toHex } from '../consensus/bytes.ts'
import { blockOf } from '../consensus/hashing.ts'
import { BLOCK_MASS_LIMIT } from '../consensus/mass.ts'
import { type Header, MAX_SOMPI } from '../consensus/model.ts'
import { sealTransaction } from '../consensus/validate.ts'
import { estimateFees } from '../fee-estimate.ts'
import { NETWORKS } from '../networks.ts'
import { stable } from './dag-methods.ts'
import { NodePanic, RpcError } from './errors.ts'
import { SERVER_VERSION } from './info-methods.ts'
import { f64, u64 } from './json.ts'
import {
  boolean,
  hash,
  hex,
  type Json,
  list,
  malformed,
  object,
  text,
  u8,
  u16,
  u32,
  unsigned,
} from './read-params.ts'
import { readTransaction } from './read-transaction.ts'
import type { Methods, NodeView } from './view.ts'
import { wireRawHeader } from './wire.ts'

const NO_UTXO_INDEX = 'Method unavailable. Run the node with the --utxoindex argument.'
const MAX_COINBASE_PAYLOAD = 204

/** An address with a valid checksum and a wrong length crashes the real node. */
function address(value: Json): { text: string; script: string; prefix: string } {
  const found = text(value)
  const decoded = decodeAddress(found)
  if (!decoded.ok && decoded.panics) throw new NodePanic('address payload length')
  if (!decoded.ok) throw malformed()
  return { text: found, script: scriptOfAddress(decoded), prefix: decoded.prefix }
}

function indexed(view: NodeView): void {
  if (!view.hasUtxoIndex) throw new RpcError(NO_UTXO_INDEX)
  stable(view)
}

const balanceOf = (view: NodeView, script: string) => {
  const owned = view.ledger.utxos.ofScript(script)
  let sum = 0n
  for (const entry of owned.values()) sum += entry.amount
  return { sum, known: owned.size > 0 }
}

/** Which pools a query covers; one combination of the two flags makes no sense. */
function pools(params: Record<string, unknown>): { pool: boolean; orphans: boolean } {
  const orphans = boolean(params.includeOrphanPool)
  const filter = boolean(params.filterTransactionPool)
  if (filter && !orphans) {
    throw new RpcError('transaction query must either not filter transactions or include orphans')
  }
  return { pool: !filter, orphans }
}

function feeEstimate(view: NodeView) {
  const { blockMass, blocksPerSecond } = view
  const { priorityBucket, normalBuckets, lowBuckets } = estimateFees(view.mempool.ready(), {
    blockMass,
    blocksPerSecond,
  })
  const bucket = (b: { feerate: number; estimatedSeconds: number }) => ({
    feerate: f64(b.feerate),
    estimatedSeconds: f64(b.estimatedSeconds),
  })
  return {
    priorityBucket: bucket(priorityBucket),
    normalBuckets: normalBuckets.map(bucket),
    lowBuckets: lowBuckets.map(bucket),
  }
}

export const coinMethods: Methods = {
  getBalanceByAddress: (view, params) => {
    const { script } = address(params.address)
    indexed(view)
    return { balance: u64(balanceOf(view, script).sum) }
  },
  getBalancesByAddresses: (view, params) => {
    const wanted = list(params.addresses, address)
    indexed(view)
    return {
      entries: wanted.map(({ text: name, script }) => {
        const { sum, known } = balanceOf(view, script)
        return { address: name, balance: known ? u64(sum) : null }
      }),
    }
  },
  getUtxosByAddresses: (view, params) => {
    const scripts = new Set(list(params.addresses, address).map(({ script }) => script))
    indexed(view)
    const owned = [...scripts].flatMap((script) => [...view.ledger.utxos.ofScript(script)])
    return { entries: owned.map(([key, entry]) => view.wire.utxo(key, entry)) }
  },
  getUtxoReturnAddress: (view, params) =>
    returnAddress(view, hash(params.txid), unsigned(params.acceptingBlockDaaScore)),
  getCoinSupply: (view) => {
    indexed(view)
    return { maxSompi: u64(MAX_SOMPI), circulatingSompi: u64(view.ledger.utxos.total) }
  },
  getFeeEstimate: (view) => ({ estimate: feeEstimate(view) }),
  getFeeEstimateExperimental: (view, params) => {
    if (!boolean(params.verbose)) return { estimate: feeEstimate(view), verbose: null }
    const ready = view.mempool.ready()
    const rates = ready.map(({ fee, mass }) => Number(fee) / Number(mass)).sort((a, b) => a - b)
    const rate = (value = -1) => f64(value)
    return {
      estimate: feeEstimate(view),
      verbose: {
        mempoolReadyTransactionsCount: ready.length,
        mempoolReadyTransactionsTotalMass: u64(ready.reduce((sum, { mass }) => sum + mass, 0n)),
        networkMassPerSecond: u64(BLOCK_MASS_LIMIT.compute * BigInt(Math.round(view.blocksPerSecond))),
        nextBlockTemplateFeerateMin: rate(rates[0]),
        nextBlockTemplateFeerateMedian: rate(rates[Math.floor(rates.length / 2)]),
        nextBlockTemplateFeerateMax: rate(rates.at(-1)),
      },
    }
  },
  getMempoolEntry: (view, params) => {
    const id = hash(params.transactionId)
    const entry = view.mempool.get(id, pools(params))
    if (entry === undefined) throw new RpcError(`Transaction ${id} not found`)
    return { mempoolEntry: view.wire.mempoolEntry(entry) }
  },
  getMempoolEntries: (view, params) => ({
    mempoolEntries: view.mempool.entries(pools(params)).map((entry) => view.wire.mempoolEntry(entry)),
  }),
  getMempoolEntriesByAddresses: (view, params) => {
    const wanted = new Map(list(params.addresses, address).map((found) => [found.script, found.text]))
    const entries = view.mempool.entries(pools(params))
    return {
      entries: [...wanted].map(([script, name]) => ({
        address: name,
        sending: entries
          .filter(({ spent }) => spent.some((entry) => entry?.scriptPublicKey === script))
          .map((entry) => view.wire.mempoolEntry(entry)),
        receiving: entries
          .filter(({ tx }) => tx.outputs.some((output) => output.scriptPublicKey === script))
          .map((entry) => view.wire.mempoolEntry(entry)),
      })),
    }
  },
  submitTransaction: (view, params) => {
    const tx = sealTransaction(readTransaction(params.transaction))
    // Only an unsafe node would keep an orphan; the option is read and ignored.
    boolean(params.allowOrphan)
    view.submitTransaction(tx, { replace: 'forbidden' })
    return { transactionId: tx.id }
  },
  submitTransactionReplacement: (view, params) => {
    const tx = sealTransaction(readTransaction(params.transaction))
    const replaced = view.submitTransaction(tx, { replace: 'mandatory' })
    return {
      transactionId: tx.id,
      replacedTransaction: replaced ? view.wire.transaction(replaced, undefined) : null,
    }
  },
  getBlockTemplate: (view, params) => blockTemplate(view, params),
  submitBlock: (view, params) => {
    const raw = object(params.block)
    boolean(params.allowNonDaaBlocks)
    const transactions = list(raw.transactions, (tx) => sealTransaction(readTransaction(tx)))
    const block = blockOf(readRawHeader(raw.header), transactions)
    stable(view)
    if (!view.isSynced) return { report: { type: 'reject', reason: 'isInIBD' } }
    return {
      report: view.submitBlock(block) ? { type: 'success' } : { type: 'reject', reason: 'blockInvalid' },
    }
  },
}

function readRawHeader(value: Json): Omit<Header, 'hash'> {
  const header = object(value)
  return {
    version: u16(header.version),
    parentsByLevel: list(header.parentsByLevel, (level) => list(level, hash)),
    hashMerkleRoot: hash(header.hashMerkleRoot),
    acceptedIdMerkleRoot: hash(header.acceptedIdMerkleRoot),
    utxoCommitment: hash(header.utxoCommitment),
    timestamp: Number(unsigned(header.timestamp)),
    bits: u32(header.bits),
    nonce: unsigned(header.nonce),
    daaScore: unsigned(header.daaScore),
    blueWork: BigInt(`0x${hex(header.blueWork, 24)}`),
    blueScore: unsigned(header.blueScore),
    pruningPoint: hash(header.pruningPoint),
  }
}

function blockTemplate(view: NodeView, params: Record<string, unknown>) {
  const payTo = address(params.payAddress)
  const extra = list(params.extraData, u8)
  if (payTo.prefix !== NETWORKS[view.network].prefix) {
    throw new RpcError(`The address has an invalid prefix ${payTo.prefix}`)
  }
  stable(view)
  const { ledger } = view
  let mass = 0
  const transactions = view.mempool.ready().flatMap(({ tx, mass: weight }) => {
    mass += Number(weight)
    return mass <= view.blockMass ? [tx] : []
  })
  const block = buildBlock(ledger, {
    parents: ledger.virtual.parents,
    transactions,
    timestamp: Math.max(view.nowMs(), ledger.sink.header.timestamp + 1),
    nonce: 0n,
    minerScript: payTo.script,
    extraData: toHex(Buffer.from(`${SERVER_VERSION}/`)) + toHex(Buffer.from(extra)),
  })
  if ((block.transactions[0]?.payload.length ?? 0) / 2 > MAX_COINBASE_PAYLOAD) {
    throw new RpcError(
      `Coinbase payload is above max length (${MAX_COINBASE_PAYLOAD}). Try to shorten the extra data.`,
    )
  }
  return {
    block: {
      header: wireRawHeader(block.header),
      transactions: block.transactions.map((tx) => view.wire.transaction(tx, undefined)),
    },
    isSynced: view.isSynced,
  }
}

function returnAddress(view: NodeView, id: string, daaScore: bigint) {
  stable(view)
  const { ledger } = view
  const refuse = (reason: string) => new RpcError(`utxo inquirer error: ${reason}`)
  const accepting = ledger.chain.find((found) => ledger.record(found)?.block.header.daaScore === daaScore)
  if (accepting === undefined) throw refuse('Transaction not found at given accepting daa score')
  const accepted = ledger.record(accepting)?.acceptance?.transactions.find(({ tx }) => tx.id === id)
  if (accepted === undefined) throw refuse(`Did not find queried transactions in acceptance data: [${id}]`)
  const [first] = accepted.spent
  if (first === undefined) throw refuse('Transaction return address is coinbase')
  const found = view.wire.addressOf(first.scriptPublicKey)
  if (found === null) throw refuse('Transaction was found but not standard')
  return { returnAddress: found }
}
