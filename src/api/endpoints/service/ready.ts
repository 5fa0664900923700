import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { flagField, textField } from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'

export const ready = endpoint({
  path: 'GET /ready',
  doc: {
    tag: 'service',
    summary: 'Readiness',
    description:
      'Whether every part works, venues and nodes included: 200, or 503 with the failing parts. Needs no key.',
  },
  access: { auth: 'none' },
  cost: noCredits,
  returns: object(
    'Ready',
    Type.Object({
      ready: flagField('Whether every part works.'),
      parts: Type.Array(
        Type.Object({
          name: textField('Name of the part.'),
          ok: flagField('Whether it works.'),
          detail: Type.Optional(textField('What is wrong with it.')),
        }),
        { description: 'The parts that were asked.' },
      ),
    }),
    200,
    { 503: 'Some part fails.' },
  ),
  run: async ({ services }) => {
    const value = await services.readiness()
    return { kind: 'object', value, status: value.ready ? 200 : 503 }
  },
})
