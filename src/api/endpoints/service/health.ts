import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { at, object } from '../../../contract/endpoint.ts'
import { integerField, textField } from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'

export const health = endpoint({
  path: 'GET /health',
  doc: {
    tag: 'service',
    summary: 'Liveness',
    description: 'Answers while the process runs. Needs no key.',
  },
  access: { auth: 'none' },
  cost: noCredits,
  returns: object(
    'Health',
    Type.Object({
      status: Type.Literal('ok', { description: 'Always ok: a process that cannot answer does not.' }),
      version: textField('Version of the running service.'),
      uptime_seconds: integerField('Seconds since the process started.'),
    }),
  ),
  aliases: [at('GET /v1/health')],
  run: ({ services: { about }, nowMs }) => ({
    kind: 'object',
    value: {
      status: 'ok',
      version: about.version,
      uptime_seconds: Math.max(0, Math.floor((nowMs - about.startedAtMs) / 1000)),
    },
  }),
})
