/**
 * How the mempool of a node would change the balance of an address. The node lists the transactions. The value of their
 * inputs comes from these transactions themselves if one spends another, from the index, and for older outputs from the
 * unspent outputs of the address.
 */
import { decodeAddress } from '../../../core/chain/address.ts'
import type { Outpoint } from '../../../core/chain/transaction.ts'
import { ApiError } from '../../../core/errors.ts'
import { scriptOfAddress } from '../../../parser/script-address.ts'
import type { ChainData } from './chain-data.ts'
import { knownOutputs } from './known-spent.ts'
import { mempoolOfAddress, readPendingEntry } from './mempool-of-address.ts'
import { unusableAnswer, upstreamError } from './upstream-error.ts'

export interface PendingBalance {
  readonly incoming: bigint
  readonly outgoing: bigint
  readonly transactions: number
  /** The node that answered; if another one had to supply the value of the inputs, that one. */
  readonly node: string
  /** Whether one node answered everything. */
  readonly isOfOne: boolean
}

/** How many inputs of pending transactions are looked up for one answer. */
const MAX_INPUTS = 20_000

/** Shared by all attempts to read one balance. */
export interface SharedByTries {
  /** For the next call: the remaining time, and whether the caller has disconnected. */
  readonly limits: () => { readonly deadlineMs: number; readonly isAbandoned?: () => boolean }
  /** Amounts by outpoint from a node's list of unspent outputs; 0 for outputs of other addresses. */
  readonly olderOutputs: { node: string; readonly amounts: Map<string, bigint> }
}

/** Asks the node `stayOn` if it can answer. */
export async function pendingBalance(
  address: string,
  chain: ChainData,
  stayOn: string,
  shared: SharedByTries = {
    limits: () => ({ deadlineMs: chain.waitMs }),
    olderOutputs: { node: '', amounts: new Map() },
  },
): Promise<PendingBalance> {
  const decoded = decodeAddress(address)
  if (!decoded.ok) throw new RangeError(address)
  const script = scriptOfAddress(decoded.address)
  const { upstreams } = chain
  const params = { addresses: [address], includeOrphanPool: false, filterTransactionPool: false }
  const options = { ...shared.limits(), stayOn }
  const outcome = await upstreams.callRaw('getMempoolEntriesByAddresses', params, options)
  if (!outcome.ok) throw upstreamError(outcome.failure)
  const { node } = outcome
  const txIds = new Set<string>()
  const received = new Map<string, bigint>()
  const spent: Outpoint[] = []
  let incoming = 0n
  for await (const { list, text } of mempoolOfAddress(address, outcome)) {
    const entry = await readPendingEntry(text, node)
    if (entry === undefined) throw unusableAnswer(node, 'mempool entries')
    const { txId, transaction } = entry
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
  const { sum, unknown } = await indexedAmount(script, others, chain)
  const older = await olderAmount({ address, unknown, node }, chain, shared)
  outgoing += sum + older.sum
  const isOfOne = older.node === node
  return { incoming, outgoing, transactions: txIds.size, node: older.node, isOfOne }
}

/** The sum of the address's own outputs that the index knows, and the outpoints that it does not know. */
async function indexedAmount(script: string, spent: readonly Outpoint[], { index }: ChainData) {
  let sum = 0n
  const unknown = new Set<string>()
  const found = await knownOutputs(spent, index)
  for (const [place, output] of found.entries()) {
    const point = spent[place]
    if (output?.scriptPublicKey === script) sum += output.amount
    else if (output === undefined && point) unknown.add(`${point.transactionId}:${point.index}`)
  }
  return { sum, unknown }
}

/** Pending spends stay in the list of unspent outputs, so an output that is not listed belongs to another address. */
async function olderAmount(
  { address, unknown, node }: { address: string; unknown: Set<string>; node: string },
  { utxos }: ChainData,
  { limits, olderOutputs }: SharedByTries,
): Promise<{ sum: bigint; node: string }> {
  const { amounts } = olderOutputs
  if (olderOutputs.node !== node) amounts.clear()
  olderOutputs.node = node
  let sum = 0n
  for (const point of unknown) {
    const amount = amounts.get(point)
    if (amount === undefined) continue
    sum += amount
    unknown.delete(point)
  }
  if (unknown.size === 0) return { sum, node }
  const listed = await utxos.onNode(address, node, limits().deadlineMs)
  for await (const { txId, index, amount } of listed.utxos) {
    const point = `${txId}:${index}`
    if (!unknown.delete(point)) continue
    amounts.set(point, BigInt(amount))
    sum += BigInt(amount)
    if (unknown.size === 0) break
  }
  for (const point of unknown) amounts.set(point, 0n)
  // An output that another node does not list may belong to the address but be unknown to that node so far.
  if (listed.node !== node) amounts.clear()
  return { sum, node: listed.node }
}

function tooMany(): ApiError {
  const message = `The mempool has transactions of the address with more than ${MAX_INPUTS.toLocaleString('en')} inputs.`
  return new ApiError('upstream_unavailable', message, { reason: 'mempool_too_large', retry_after: 5 }, [
    ['Retry-After', '5'],
  ])
}
