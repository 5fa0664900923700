/**
 * What the mempool of a node would do to the balance of an address. The node names the transactions; what their inputs
 * are worth is known by the transactions themselves where one spends another, by the index, and for older outputs by
 * the address's unspent ones.
 */
import { decodeAddress } from '../../../core/chain/address.ts'
import type { Outpoint } from '../../../core/chain/transaction.ts'
import { readTransaction } from '../../../core/chain/transaction-json.ts'
import { ApiError } from '../../../core/errors.ts'
import { type ExactJson, parseExact } from '../../../kit/exact-json.ts'
import { nestedElementsOf } from '../../../kit/json-slices.ts'
import { scriptOfAddress } from '../../../parser/script-address.ts'
import type { ChainData } from './chain-data.ts'
import { unusableAnswer, upstreamError } from './upstream-error.ts'

export interface PendingBalance {
  readonly incoming: bigint
  readonly outgoing: bigint
  readonly transactions: number
}

/** Inputs of pending transactions that are looked up for one answer, and at a time. */
const MAX_INPUTS = 20_000
const INPUTS_AT_A_TIME = 100

export async function pendingBalance(address: string, chain: ChainData): Promise<PendingBalance> {
  const decoded = decodeAddress(address)
  if (!decoded.ok) throw new RangeError(address)
  const script = scriptOfAddress(decoded.address)
  const { upstreams, waitMs } = chain
  const params = { addresses: [address], includeOrphanPool: false, filterTransactionPool: false }
  const outcome = await upstreams.callRaw('getMempoolEntriesByAddresses', params, { deadlineMs: waitMs })
  if (!outcome.ok) throw upstreamError(outcome.failure)
  const { bytes, node } = outcome
  if (!bytes.includes('"entries"')) throw unusableAnswer(node, 'mempool entries')
  const txIds = new Set<string>()
  const received = new Map<string, bigint>()
  const spent: Outpoint[] = []
  let incoming = 0n
  for await (const { list, text } of nestedElementsOf(bytes, 'entries', ['receiving', 'sending'])) {
    const { txId, transaction } = readEntry(text, node)
    txIds.add(txId)
    if (list === 'receiving') {
      for (const [index, output] of transaction.outputs.entries()) {
        if (output.scriptPublicKey !== script) continue
        incoming += output.value
        received.set(`${txId}:${index}`, output.value)
      }
    } else {
      for (const input of transaction.inputs) spent.push(input.previousOutpoint)
      if (spent.length > MAX_INPUTS) throw tooMany()
    }
  }
  let outgoing = 0n
  const others: Outpoint[] = []
  for (const point of spent) {
    const value = received.get(`${point.transactionId}:${point.index}`)
    if (value === undefined) others.push(point)
    else outgoing += value
  }
  outgoing += await ownAmount(address, script, others, chain)
  return { incoming, outgoing, transactions: txIds.size }
}

async function ownAmount(
  address: string,
  script: string,
  spent: readonly Outpoint[],
  { index, utxos }: ChainData,
): Promise<bigint> {
  let sum = 0n
  const unknown = new Set<string>()
  for (let at = 0; at < spent.length; at += INPUTS_AT_A_TIME) {
    const points = spent.slice(at, at + INPUTS_AT_A_TIME)
    const found = await index.outputs(
      points.map((point) => ({ txId: point.transactionId, index: point.index })),
    )
    for (const [place, output] of found.entries()) {
      const point = points[place]
      if (output?.scriptPublicKey === script) sum += output.amount
      else if (output === undefined && point) unknown.add(`${point.transactionId}:${point.index}`)
    }
  }
  if (unknown.size === 0) return sum
  // The mempool changes nothing about what is unspent: an own output is still listed.
  for await (const utxo of utxos.of(address))
    if (unknown.has(`${utxo.txId}:${utxo.index}`)) sum += BigInt(utxo.amount)
  return sum
}

function readEntry(text: string, node: string) {
  const entry = parseExact(text)
  const json = entry.ok ? (entry.value as { transaction?: ExactJson } | null)?.transaction : undefined
  const read = readTransaction(json ?? null)
  if (!read.ok) throw unusableAnswer(node, 'mempool entries')
  const verbose = (json as { verboseData?: { transactionId?: unknown } }).verboseData
  return { txId: String(verbose?.transactionId), transaction: read.transaction }
}

function tooMany(): ApiError {
  const message = `The mempool has transactions of the address with more than ${MAX_INPUTS.toLocaleString('en')} inputs.`
  return new ApiError('upstream_unavailable', message, { reason: 'mempool_too_large', retry_after: 5 }, [
    ['Retry-After', '5'],
  ])
}
