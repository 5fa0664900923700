import { flat } from '../../../contract/costs.ts'
import { object, tagged } from '../../../contract/endpoint.ts'
import { endpoint } from '../services.ts'
import { Sources } from './catalog-schema.ts'

export const sources = endpoint({
  path: 'GET /v1/sources',
  doc: {
    tag: 'market',
    summary: 'Catalog of sources and their endpoints',
    description: 'The same for every plan; each endpoint record carries its `min_tier`.',
  },
  access: { scope: 'market' },
  cost: flat(25),
  returns: tagged(object('Sources', Sources)),
  rateLimitError: 'rate_limit_exceeded',
  run: ({ services }) => ({
    kind: 'object',
    value: services.sourcesCatalog,
    units: { row: services.sourcesCatalog.meta.count },
    cacheable: true,
  }),
})
