import { Type } from 'typebox'
import { flat } from '../../../contract/costs.ts'
import { object, tagged } from '../../../contract/endpoint.ts'
import { TIERS } from '../../../core/plan.ts'
import { endpoint } from '../services.ts'

const SourceRow = Type.Object({
  source: Type.String({ description: 'Source identifier.' }),
  display_name: Type.String({ description: 'Name for people.' }),
  symbols: Type.Array(Type.String(), { description: 'Supported symbols.' }),
  intervals: Type.Array(Type.String(), { description: 'Supported candle intervals.' }),
  endpoints: Type.Array(
    Type.Object({
      path: Type.String({ description: 'Path, with the `source` query where it takes one.' }),
      method: Type.Literal('GET', { description: 'Always GET.' }),
      description: Type.String({ description: 'What it answers.' }),
      min_tier: Type.Union(
        TIERS.map((tier) => Type.Literal(tier)),
        { description: 'Lowest tier that may call it.' },
      ),
      credits: Type.String({ description: 'What it costs.' }),
    }),
    { description: 'Endpoints that serve this source.' },
  ),
})

/** The contract wants every meta field null but the count. */
const SourcesMeta = Type.Object(
  {
    symbol: Type.Null({ description: 'Always null.' }),
    source: Type.Null({ description: 'Always null.' }),
    interval: Type.Null({ description: 'Always null.' }),
    count: Type.Integer({ description: 'Number of sources.' }),
    next_cursor: Type.Null({ description: 'Always null.' }),
  },
  { description: 'The count; everything else is null.' },
)

export const sources = endpoint({
  path: 'GET /v1/sources',
  doc: {
    tag: 'market',
    summary: 'Catalog of sources and their endpoints',
    description: 'The same for every plan; each endpoint record carries its `min_tier`.',
  },
  access: { scope: 'market' },
  cost: flat(25),
  returns: tagged(
    object(
      'Sources',
      Type.Object({ data: Type.Array(SourceRow, { description: 'The sources.' }), meta: SourcesMeta }),
    ),
  ),
  rateLimitError: 'rate_limit_exceeded',
  run: ({ services }) => ({
    kind: 'object',
    value: services.sourcesCatalog,
    units: { row: services.sourcesCatalog.meta.count },
    cacheable: true,
  }),
})
