/** Endpoints with a price per row, a fixed price and no price, whose handlers wait for a store as real ones do. */
import { Type } from 'typebox'
import { publishedRoutes } from '../../../src/api/publish/router.ts'
import { base, flat } from '../../../src/contract/costs.ts'
import { endpointFor, object } from '../../../src/contract/endpoint.ts'
import { ROW_SEPARATOR } from '../../../src/contract/envelopes.ts'
import { page } from '../../../src/contract/params.ts'
import { ApiError } from '../../../src/core/errors.ts'
import type { EventStore } from '../../../src/store/events.ts'

export interface ApiServices {
  readonly events: Pick<EventStore, 'after' | 'bounds'>
}

const endpoint = endpointFor<ApiServices>()
const Row = Type.Object({ seq: Type.Integer({ description: 'Number.' }) })
const Newest = Type.Object({ newest: Type.Integer({ description: 'Number.' }) })

const list = endpoint({
  path: 'GET /v1/rows',
  doc: { tag: 'node', summary: 'Rows at a price each' },
  params: { ...page({ default: 20, max: 500 }) },
  cost: base(5).perRow(2),
  returns: { kind: 'list', name: 'Row', row: Row },
  run: async ({ services, rowLimit, dryRun }) => {
    const { events, more } = await services.events.after({ afterSeq: 0, limit: Math.max(1, rowLimit) })
    const rows = events.slice(0, rowLimit)
    return {
      kind: 'list',
      rows: dryRun ? '' : rows.map(({ seq }) => JSON.stringify({ seq })).join(ROW_SEPARATOR),
      count: rows.length,
      hasMore: more,
      nextCursor: null,
      meta: {},
      sealed: false,
      clamped: false,
      coverageComplete: true,
    }
  },
})

const create = endpoint({
  path: 'POST /v1/orders',
  doc: { tag: 'node', summary: 'Done once for each key' },
  body: {
    name: 'Order',
    schema: Type.Object({ n: Type.Integer() }, { additionalProperties: false }),
    example: { n: 1 },
  },
  cost: flat(7),
  returns: object('Ordered', Newest, 201),
  run: async ({ services }) => {
    const { newestSeq } = await services.events.bounds()
    return { kind: 'object', value: { newest: newestSeq }, status: 201 }
  },
})

const broken = endpoint({
  path: 'GET /v1/broken',
  doc: { tag: 'node', summary: 'Fails' },
  cost: flat(10),
  returns: object('Broken', Newest),
  errors: ['upstream_timeout'],
  run: async ({ services }) => {
    await services.events.bounds()
    throw new ApiError('upstream_timeout', 'No node answered in time.')
  },
})

export const ROUTES = publishedRoutes<ApiServices>([list, create, broken])
