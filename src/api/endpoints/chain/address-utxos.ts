import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { cursorPage } from '../../../contract/params.ts'
import { flagField, integerField, nullableTextField, textField } from '../../../core/rows/fields.ts'
import { otherCursor } from '../other-cursor.ts'
import { endpoint } from '../services.ts'
import { addressPathParam, requireNetwork } from './chain-params.ts'
import { MAX_UTXOS, type Utxo } from './read-utxos.ts'

const AddressUtxo = Type.Object({
  tx_id: textField('Transaction that created it.'),
  index: integerField('Which of its outputs.'),
  amount_sompi: integerField('Amount in sompi.'),
  script_public_key: textField('Four hex digits of version, then the script.'),
  block_daa_score: integerField('DAA score of the block that accepted it.'),
  is_coinbase: flagField('Whether a coinbase created it: it can be spent when it is mature.'),
  covenant_id: nullableTextField('The covenant it is bound to; null without one.'),
})

const AddressUtxos = Type.Object({
  address: textField('The address asked for.'),
  items: Type.Array(AddressUtxo, { description: 'By transaction id and index, ascending.' }),
  next_cursor: nullableTextField('Pass it as `cursor` to get the next page; null on the last.'),
  credits_used: integerField('Credits that this answer cost.'),
})

/** Every answer takes one call to the node. */
const cost = base(10).per('upstream call', 5, 1).perRow(1)

export const addressUtxos = endpoint({
  path: 'GET /v1/addresses/{address}/utxos',
  doc: {
    tag: 'node',
    summary: 'Unspent outputs of an address',
    description: `Asked of a node, in the order of transaction id and index: a walk gives each output once that stays unspent meanwhile. Outputs that the mempool spends are still listed. An address with more than ${MAX_UTXOS.toLocaleString('en')} of them is refused. The price is 5 for the call to the node, plus 10, plus 1 per row.`,
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: { address: addressPathParam, ...cursorPage('Rows per page.', { default: 100, max: 1_000 }) },
  heavyCalls: () => 1,
  cost,
  returns: wrappedList('AddressUtxo', AddressUtxo, {
    name: 'AddressUtxos',
    schema: AddressUtxos,
    cursor: 'cursor',
  }),
  errors: ['upstream_error', 'upstream_unavailable', 'upstream_timeout'],
  run: async ({ input, services, rowLimit, dryRun }) => {
    const { cursors, upstreams, utxos } = services.chain
    const { address, cursor } = input
    requireNetwork(address, upstreams.network)
    const binding = `/v1/addresses/${address}/utxos`
    const after = cursor === undefined ? undefined : readCursor(cursors.decode(binding, cursor))
    const found = await firstAfter(utxos.of(address), after, rowLimit + 1)
    const page = found.slice(0, rowLimit)
    if (dryRun) return previewAnswer(page.length, false)
    const last = page.at(-1)
    const hasMore = found.length > rowLimit && last !== undefined
    const next = hasMore ? cursors.encode(binding, [last.txId, last.index]) : null
    return wrappedPage({
      rows: page.map(itemText),
      head: `{"address":${JSON.stringify(address)},"items":[`,
      tail: `],"next_cursor":${JSON.stringify(next)},"credits_used":${cost.charge({ row: page.length })}}`,
      hasMore,
      nextCursor: next,
    })
  },
})

type Place = Pick<Utxo, 'txId' | 'index'>

function compare(a: Place, b: Place): number {
  if (a.txId !== b.txId) return a.txId < b.txId ? -1 : 1
  return a.index - b.index
}

/** Retains only as many outputs as are shown, however many there are. */
async function firstAfter(
  all: AsyncIterable<Utxo>,
  after: Place | undefined,
  count: number,
): Promise<Utxo[]> {
  let kept: Utxo[] = []
  let highest: Utxo | undefined
  const keepFirst = () => {
    kept = kept.sort(compare).slice(0, count)
    if (kept.length === count) highest = kept.at(-1)
  }
  for await (const one of all) {
    if (after !== undefined && compare(one, after) <= 0) continue
    if (highest !== undefined && compare(one, highest) > 0) continue
    kept.push(one)
    if (kept.length >= count * 2 + 100) keepFirst()
  }
  keepFirst()
  return kept
}

function itemText(utxo: Utxo): string {
  return `{"tx_id":${JSON.stringify(utxo.txId)},"index":${utxo.index},"amount_sompi":${utxo.amount},"script_public_key":${JSON.stringify(utxo.scriptPublicKey)},"block_daa_score":${utxo.blockDaaScore},"is_coinbase":${utxo.isCoinbase === true},"covenant_id":${JSON.stringify(utxo.covenantId)}}`
}

function readCursor(place: readonly (string | number | null)[] | undefined): Place {
  const [txId, index] = place ?? []
  if (typeof txId === 'string' && typeof index === 'number') return { txId, index }
  throw otherCursor('this address')
}
