import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { CONTENT_TYPES } from '../../../contract/envelopes.ts'
import { integerField } from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'
import { TokenSchema, tokenNotFound, tokenParam, tokenText } from './token-items.ts'

const Token = Type.Object({
  ...TokenSchema.properties,
  credits_used: integerField('Credits that this answer cost.'),
})

const cost = base(10)

export const token = endpoint({
  path: 'GET /v1/tokens/{token}',
  doc: {
    tag: 'node',
    summary: 'A token',
    description:
      'As far as the chain reveals it; `history` says what its amounts rest on. Accepted transactions only: what a block that left the chain had done is undone.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: { token: tokenParam },
  cost,
  returns: object('TokenDetail', Token),
  errors: ['not_found'],
  run: async ({ input, services, dryRun }) => {
    const value = await services.chain.index.token(input.token)
    if (value === undefined) throw tokenNotFound(input.token)
    if (dryRun) return { kind: 'object', value: {} }
    const text = tokenText({ token: input.token, value })
    const answer = `${text.slice(0, -1)},"credits_used":${cost.charge({})}}`
    return { kind: 'text', text: answer, contentType: CONTENT_TYPES.json }
  },
})
