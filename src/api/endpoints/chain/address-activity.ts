import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { integer, withDefault } from '../../../contract/params.ts'
import { integerField, nullableIntegerField, textField } from '../../../core/rows/fields.ts'
import { type ExactJson, writeExact } from '../../../kit/exact-json.ts'
import { parseTransaction } from '../../../parser/parse-transaction.ts'
import { endpoint } from '../services.ts'
import type { ChainData } from './chain-data.ts'
import { addressPathParam, requireNetwork } from './chain-params.ts'
import { knownSpent } from './known-spent.ts'
import { mempoolOfAddress, readPendingEntry, turnFor } from './mempool-of-address.ts'
import { ParsedTransactionSchema } from './parsed-schema.ts'
import type { Utxo, UtxoReader } from './read-utxos.ts'
import { upstreamError } from './upstream-error.ts'

const AddressActivityItem = Type.Object({
  kind: textField('mempool or utxo.'),
  tx_id: textField('Transaction id; of a utxo the one that created it.'),
  amount: nullableIntegerField('Sompi; null for mempool items.'),
  parsed: Type.Union([ParsedTransactionSchema, Type.Null()], { description: 'Null for utxo items.' }),
})

const AddressActivity = Type.Object({
  address: textField('The address asked for.'),
  items: Type.Array(AddressActivityItem, {
    description: 'Mempool items first, then unspent outputs, newest first.',
  }),
  credits_used: integerField('Credits that this answer cost.'),
})

/** Every answer takes two calls to the node. */
const cost = base(10).per('upstream call', 5, 2).perRow(1)

export const addressActivity = endpoint({
  path: 'GET /v1/addresses/{address}/activity',
  doc: {
    tag: 'node',
    summary: 'What an address holds and has under way now',
    description:
      'Asked of a node: transactions in the mempool that send from or to the address, then its unspent outputs. The price is 5 for each of the two calls to the node, plus 10, plus 1 per row.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: {
    address: addressPathParam,
    limit: withDefault(integer('Items at most.', { min: 1, max: 200 }), 50),
  },
  heavyCalls: () => 1,
  cost,
  returns: wrappedList('AddressActivityItem', AddressActivityItem, {
    name: 'AddressActivity',
    schema: AddressActivity,
    cursor: null,
  }),
  errors: ['upstream_error', 'upstream_unavailable', 'upstream_timeout'],
  run: async ({ input, services, rowLimit, dryRun }) => {
    const { upstreams } = services.chain
    const { address } = input
    requireNetwork(address, upstreams.network)
    const [pending, unspent] = await Promise.all([
      inMempool(address, rowLimit, services.chain),
      unspentOutputs(address, rowLimit, services.chain.utxos),
    ])
    const items = [...pending.items, ...unspent.items].slice(0, rowLimit)
    if (dryRun) return previewAnswer(items.length, false)
    return wrappedPage({
      rows: items,
      head: `{"address":${JSON.stringify(address)},"items":[`,
      tail: `],"credits_used":${cost.charge({ row: items.length })}}`,
      hasMore: pending.hasMore || pending.items.length + unspent.total > items.length,
    })
  },
})

/**
 * Each transaction appears once, even if it both sends and receives. A busy address can have thousands in the mempool,
 * so they are read one by one and only those that are shown are parsed.
 */
export async function inMempool(
  address: string,
  limit: number,
  { upstreams, index, waitMs }: Pick<ChainData, 'upstreams' | 'index' | 'waitMs'>,
): Promise<{ items: string[]; hasMore: boolean }> {
  const params = { addresses: [address], includeOrphanPool: false, filterTransactionPool: false }
  const options = { deadlineMs: waitMs }
  const outcome = await upstreams.callRaw('getMempoolEntriesByAddresses', params, options)
  if (!outcome.ok) throw upstreamError(outcome.failure)
  const items = new Map<string, string>()
  let hasMore = false
  for await (const { text } of mempoolOfAddress(address, outcome)) {
    // Beyond the limit, entries are read until one is not a repetition of the other side.
    if (hasMore) continue
    const entry = await readPendingEntry(text, outcome.node)
    // Undefined or the other side of one that is shown.
    if (entry === undefined || items.has(entry.txId)) continue
    if (items.size === limit) {
      hasMore = true
      continue
    }
    const { txId, transaction } = entry
    const spent = await knownSpent(transaction, index)
    const parsed = parseTransaction(transaction, { network: upstreams.network, txId, spent })
    await turnFor(text)
    const shown = writeExact(parsed as unknown as ExactJson)
    items.set(txId, `{"kind":"mempool","tx_id":"${txId}","amount":null,"parsed":${shown}}`)
  }
  return { items: [...items.values()], hasMore }
}

/** An address can have a hundred thousand outputs, so they are read one by one and only the newest are retained. */
async function unspentOutputs(
  address: string,
  limit: number,
  utxos: UtxoReader,
): Promise<{ items: string[]; total: number }> {
  let kept: Utxo[] = []
  let total = 0
  const keepNewest = () => {
    kept.sort(newestFirst)
    kept = kept.slice(0, limit)
  }
  for await (const utxo of utxos.all(address)) {
    total++
    kept.push(utxo)
    if (kept.length >= limit * 2 + 100) keepNewest()
  }
  keepNewest()
  const items = kept.map(
    ({ txId, amount }) => `{"kind":"utxo","tx_id":${JSON.stringify(txId)},"amount":${amount},"parsed":null}`,
  )
  return { items, total }
}

function newestFirst(a: Utxo, b: Utxo): number {
  return (
    Number(b.blockDaaScore) - Number(a.blockDaaScore) || a.txId.localeCompare(b.txId) || a.index - b.index
  )
}
