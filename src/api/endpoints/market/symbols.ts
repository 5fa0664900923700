import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object, tagged } from '../../../contract/endpoint.ts'
import { endpoint, type SymbolsBody } from '../services.ts'

const SymbolRow = Type.Object({
  symbol: Type.String({ description: 'Ticker in upper case.' }),
  name: Type.String({ description: 'Name of the asset.' }),
  sources: Type.Array(Type.String(), { description: 'Sources that cover it.' }),
  intervals: Type.Array(Type.String(), { description: 'Candle intervals, over all sources.' }),
  earliest_data: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Time of the earliest data point; null before the first one is recorded.',
  }),
})

export const symbols = endpoint({
  path: 'GET /v1/symbols',
  doc: {
    tag: 'market',
    summary: 'Symbols and what covers them',
  },
  access: { scope: 'market' },
  cost: noCredits,
  returns: tagged(
    object('Symbols', Type.Object({ symbols: Type.Array(SymbolRow, { description: 'The symbols.' }) })),
  ),
  run: ({ services }) => {
    const answer = (value: SymbolsBody) => ({ kind: 'object', value, cacheable: true }) as const
    const body = services.symbols()
    return body instanceof Promise ? body.then(answer) : answer(body)
  },
})
