import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { textField } from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'

export const asyncapi = endpoint({
  path: 'GET /asyncapi.json',
  doc: {
    tag: 'service',
    summary: 'The stream and the webhooks as AsyncAPI 3',
    description: 'Generated from the kinds of events that the service runs on. Needs no key.',
  },
  access: { auth: 'none' },
  cost: noCredits,
  returns: object('AsyncApi', Type.Object({ asyncapi: textField('Version of AsyncAPI.') })),
  run: ({ services }) => ({
    kind: 'text',
    text: services.documents.asyncapi,
    isShared: true,
    contentType: 'application/json; charset=utf-8',
  }),
})
