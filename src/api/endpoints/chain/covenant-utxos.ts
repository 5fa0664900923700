import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { cursorPage } from '../../../contract/params.ts'
import { integerField, nullableTextField, nullableTimeField, textField } from '../../../core/rows/fields.ts'
import type { OutputPoint } from '../../../store/output-point.ts'
import { otherCursor } from '../other-cursor.ts'
import { endpoint } from '../services.ts'
import { notFound } from './covenant.ts'
import { CovenantUtxoSchema, covenantIdParam, utxoText } from './covenant-items.ts'
import { nodeTime } from './node-time.ts'

const CovenantUtxos = Type.Object({
  covenant_id: textField('The covenant asked for.'),
  items: Type.Array(CovenantUtxoSchema, { description: 'By transaction id and index, ascending.' }),
  next_cursor: nullableTextField('Pass it as `cursor` to get the next page; null on the last.'),
  coverage_from: nullableTimeField('Outputs that were created earlier are not listed.'),
  credits_used: integerField('Credits that this answer cost.'),
})

const cost = base(10).perRow(1)

export const covenantUtxos = endpoint({
  path: 'GET /v1/covenants/{covenant_id}/utxos',
  doc: {
    tag: 'node',
    summary: 'Unspent outputs of a covenant',
    description:
      'As the chain has confirmed it, from the index. Outputs from before `coverage_from` are left out: they may have been spent where the index has a gap.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: { covenant_id: covenantIdParam, ...cursorPage('Rows per page.', { default: 50, max: 200 }) },
  cost,
  returns: wrappedList('CovenantUtxo', CovenantUtxoSchema, {
    name: 'CovenantUtxos',
    schema: CovenantUtxos,
    cursor: 'cursor',
  }),
  errors: ['not_found'],
  run: async ({ input, services, rowLimit, dryRun }) => {
    const { index, cursors } = services.chain
    const { covenant_id: covenantId, cursor } = input
    const binding = `/v1/covenants/${covenantId}/utxos`
    const after = cursor === undefined ? undefined : readCursor(cursors.decode(binding, cursor))
    if ((await index.firstCovenantStep(covenantId)) === undefined) throw notFound(covenantId)
    const query = { covenantId, limit: rowLimit }
    const page = await index.covenantUtxos({ ...query, ...(after === undefined ? {} : { after }) })
    if (dryRun) return previewAnswer(page.utxos.length, false)
    const last = page.utxos.at(-1)
    const next = page.hasMore && last !== undefined ? cursors.encode(binding, [last.txId, last.index]) : null
    const coverageFrom = nodeTime((await index.coverageFromMs()) ?? null)
    return wrappedPage({
      rows: page.utxos.map(utxoText),
      head: `{"covenant_id":"${covenantId}","items":[`,
      tail: `],"next_cursor":${JSON.stringify(next)},"coverage_from":${JSON.stringify(coverageFrom)},"credits_used":${cost.charge({ row: page.utxos.length })}}`,
      hasMore: page.hasMore,
      nextCursor: next,
    })
  },
})

function readCursor(place: readonly (string | number | null)[] | undefined): OutputPoint {
  const [txId, index] = place ?? []
  if (typeof txId === 'string' && typeof index === 'number') return { txId, index }
  throw otherCursor('this path')
}
