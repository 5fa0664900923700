import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { endpoint } from '../services.ts'
import { Status } from './service-status.ts'

export const status = endpoint({
  path: 'GET /v1/status',
  doc: {
    tag: 'account',
    summary: 'State of the recorders, the nodes and the deliveries',
  },
  cost: noCredits,
  returns: object('Status', Status),
  run: async ({ services }) => ({ kind: 'object', value: await services.status() }),
})
