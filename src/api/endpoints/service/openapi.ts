import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { textField } from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'

export const openapi = endpoint({
  path: 'GET /openapi.json',
  doc: {
    tag: 'service',
    summary: 'This contract as OpenAPI 3.1',
    description: 'Generated from the declarations that the service runs on. Needs no key.',
  },
  access: { auth: 'none' },
  cost: noCredits,
  returns: object('OpenApi', Type.Object({ openapi: textField('Version of OpenAPI.') })),
  run: async ({ services }) => ({
    kind: 'text',
    text: await services.documents.openapi(),
    isShared: true,
    contentType: 'application/json; charset=utf-8',
  }),
})
