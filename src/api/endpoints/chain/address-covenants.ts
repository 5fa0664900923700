import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { cursorPage, withExample } from '../../../contract/params.ts'
import { integerField, nullableTextField, nullableTimeField, textField } from '../../../core/rows/fields.ts'
import type { OutputPoint } from '../../../store/output-point.ts'
import { otherCursor } from '../other-cursor.ts'
import { endpoint } from '../services.ts'
import { addressPathParam, requireNetwork } from './chain-params.ts'
import { CovenantUtxoSchema, utxoText } from './covenant-items.ts'
import { nodeTime } from './node-time.ts'

const AddressCovenants = Type.Object({
  address: textField('The address asked for.'),
  items: Type.Array(CovenantUtxoSchema, {
    description: 'By covenant, transaction id and index, ascending.',
  }),
  next_cursor: nullableTextField('Pass it as `cursor` to get the next page; null on the last.'),
  coverage_from: nullableTimeField('Outputs that were created earlier are not listed.'),
  credits_used: integerField('Credits that this answer cost.'),
})

const cost = base(10).perRow(1)

export const addressCovenants = endpoint({
  path: 'GET /v1/addresses/{address}/covenants',
  doc: {
    tag: 'node',
    summary: 'Covenant outputs of an address',
    description:
      'Unspent outputs of the address that are bound to a covenant, as the chain has confirmed them, from the index. Whose key may spend them is up to the covenant: an output is not a claim of ownership. Outputs from before `coverage_from` are left out.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: {
    address: withExample((samples) => samples.covenantAddress, addressPathParam),
    ...cursorPage('Rows per page.', { default: 50, max: 200 }),
  },
  cost,
  returns: wrappedList('AddressCovenant', CovenantUtxoSchema, {
    name: 'AddressCovenants',
    schema: AddressCovenants,
    cursor: 'cursor',
  }),
  run: async ({ input, services, rowLimit, dryRun }) => {
    const { index, cursors, upstreams } = services.chain
    const { address, cursor } = input
    requireNetwork(address, upstreams.network)
    const binding = `/v1/addresses/${address}/covenants`
    const after = cursor === undefined ? undefined : readCursor(cursors.decode(binding, cursor))
    const query = { address, limit: rowLimit }
    const page = await index.addressCovenants({ ...query, ...(after === undefined ? {} : { after }) })
    if (dryRun) return previewAnswer(page.utxos.length, false)
    const last = page.utxos.at(-1)
    const next =
      page.hasMore && last !== undefined
        ? cursors.encode(binding, [last.covenantId, last.txId, last.index])
        : null
    const coverageFrom = nodeTime((await index.coverageFromMs()) ?? null)
    return wrappedPage({
      rows: page.utxos.map(utxoText),
      head: `{"address":${JSON.stringify(address)},"items":[`,
      tail: `],"next_cursor":${JSON.stringify(next)},"coverage_from":${JSON.stringify(coverageFrom)},"credits_used":${cost.charge({ row: page.utxos.length })}}`,
      hasMore: page.hasMore,
      nextCursor: next,
    })
  },
})

function readCursor(
  place: readonly (string | number | null)[] | undefined,
): OutputPoint & { covenantId: string } {
  const [covenantId, txId, index] = place ?? []
  if (typeof covenantId === 'string' && typeof txId === 'string' && typeof index === 'number')
    return { covenantId, txId, index }
  throw otherCursor('this path')
}
