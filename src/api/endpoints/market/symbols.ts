import { noCredits } from '../../../contract/costs.ts'
import { object, tagged } from '../../../contract/endpoint.ts'
import { endpoint } from '../services.ts'
import { Symbols, type SymbolsBody } from './catalog-schema.ts'

export const symbols = endpoint({
  path: 'GET /v1/symbols',
  doc: {
    tag: 'market',
    summary: 'Symbols and what covers them',
  },
  access: { scope: 'market' },
  cost: noCredits,
  returns: tagged(object('Symbols', Symbols)),
  run: ({ services }) => {
    const answer = (value: SymbolsBody) => ({ kind: 'object', value, cacheable: true }) as const
    const body = services.symbols()
    return body instanceof Promise ? body.then(answer) : answer(body)
  },
})
