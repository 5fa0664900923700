import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { integer, optional } from '../../../contract/params.ts'
import { endpoint } from '../services.ts'
import { Status } from './service-status.ts'

export const status = endpoint({
  path: 'GET /v1/status',
  doc: {
    tag: 'account',
    summary: 'State of the recorders, the nodes and the deliveries',
  },
  params: {
    limit: optional(integer('Records of `ingestion` at most. Left out: all.', { min: 1, max: 100 })),
  },
  cost: noCredits,
  returns: object('Status', Status),
  run: async ({ services, input }) => {
    const value = await services.status()
    return { kind: 'object', value: { ...value, ingestion: value.ingestion.slice(0, input.limit) } }
  },
})
