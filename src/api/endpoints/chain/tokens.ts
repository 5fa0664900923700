import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { cursorPage } from '../../../contract/params.ts'
import { integerField, nullableTextField, nullableTimeField } from '../../../core/rows/fields.ts'
import { otherCursor } from '../other-cursor.ts'
import { endpoint } from '../services.ts'
import { nodeTime } from './node-time.ts'
import { TokenSchema, tokenText } from './token-items.ts'

const Tokens = Type.Object({
  items: Type.Array(TokenSchema, { description: 'By id, ascending.' }),
  next_cursor: nullableTextField('Pass it as `cursor` to get the next page; null on the last.'),
  coverage_from: nullableTimeField('Tokens that did nothing since then are not listed.'),
  credits_used: integerField('Credits that this answer cost.'),
})

const cost = base(10).perRow(1)
const BINDING = '/v1/tokens'

export const tokens = endpoint({
  path: 'GET /v1/tokens',
  doc: {
    tag: 'node',
    summary: 'Tokens',
    description:
      'KRC-20 tokens and covenant tokens that the index has seen at work, as far as the chain reveals them. KRC-20 operations are judged by the rules of its reference indexer.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: cursorPage('Tokens per page.', { default: 50, max: 200 }),
  cost,
  returns: wrappedList('Token', TokenSchema, { name: 'Tokens', schema: Tokens, cursor: 'cursor' }),
  run: async ({ input: { cursor }, services, rowLimit, dryRun }) => {
    const { index, cursors } = services.chain
    const after = cursor === undefined ? undefined : readCursor(cursors.decode(BINDING, cursor))
    const page = await index.tokens({ limit: rowLimit, ...(after === undefined ? {} : { after }) })
    if (dryRun) return previewAnswer(page.tokens.length, false)
    const last = page.tokens.at(-1)
    const next = page.hasMore && last !== undefined ? cursors.encode(BINDING, [last.token]) : null
    const coverageFrom = nodeTime((await index.coverageFromMs()) ?? null)
    return wrappedPage({
      rows: page.tokens.map(tokenText),
      head: '{"items":[',
      tail: `],"next_cursor":${JSON.stringify(next)},"coverage_from":${JSON.stringify(coverageFrom)},"credits_used":${cost.charge({ row: page.tokens.length })}}`,
      hasMore: page.hasMore,
      nextCursor: next,
    })
  },
})

function readCursor(place: readonly (string | number | null)[] | undefined): string {
  const [token] = place ?? []
  if (typeof token === 'string') return token
  throw otherCursor('this path')
}
