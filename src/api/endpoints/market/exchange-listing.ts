import { Type } from 'typebox'
import { flat } from '../../../contract/costs.ts'
import { list } from '../../../contract/endpoint.ts'
import { previewAnswer, ROW_SEPARATOR } from '../../../contract/envelopes.ts'
import { nullableTimeField, sourceField, symbolField, textField } from '../../../core/rows/fields.ts'
import { SOURCE_INFO, type Source } from '../../../core/source.ts'
import { SYMBOL_NAMES, SYMBOLS } from '../../../core/symbol.ts'
import { formatTime } from '../../../core/time.ts'
import { endpoint } from '../services.ts'
import { NO_COVERAGE } from './coverage-meta.ts'
import { feedsOf } from './feeds.ts'
import { NOT_CLAMPED } from './list-rows.ts'

const ExchangePair = Type.Object({
  symbol: symbolField(),
  name: textField('Name of the asset.'),
  source: sourceField(),
  intervals: Type.Array(Type.String(), { description: 'Candle intervals.' }),
  earliest_data: nullableTimeField('Time of the earliest candle; null before the first one is recorded.'),
})

/** Lists what is recorded from one half of exchange A, spot or futures. */
function listing(path: 'GET /v1/cexa/spot' | 'GET /v1/cexa/futures', source: Source, summary: string) {
  const { candleIntervals } = SOURCE_INFO[source]
  return endpoint({
    path,
    doc: {
      tag: 'market',
      summary,
      description: `Their rows are on the endpoints with \`source=${source}\`.`,
    },
    access: { scope: 'market' },
    cost: flat(25),
    returns: list('ExchangePair', ExchangePair),
    onlySource: source,
    run: async ({ services, rowLimit, dryRun }) => {
      const symbols = SYMBOLS.slice(0, rowLimit)
      if (dryRun) return previewAnswer(symbols.length, false)
      const rows = await Promise.all(
        symbols.map(async (symbol) => {
          const feeds = candleIntervals.flatMap((interval) => feedsOf('candles', [source], symbol, interval))
          const firstMs = await services.market.facts.earliest(feeds)
          return JSON.stringify({
            symbol,
            name: SYMBOL_NAMES[symbol],
            source,
            intervals: candleIntervals,
            earliest_data: firstMs === undefined ? null : formatTime(firstMs),
          })
        }),
      )
      return {
        kind: 'list',
        rows: rows.join(ROW_SEPARATOR),
        count: rows.length,
        hasMore: false,
        nextCursor: null,
        meta: {
          symbol: null,
          source,
          interval: null,
          ...NOT_CLAMPED,
          ignored: [],
          coverage: NO_COVERAGE,
        },
        sealed: false,
        clamped: false,
        coverageComplete: true,
      }
    },
  })
}

export const spotListing = listing('GET /v1/cexa/spot', 'cexa', 'Symbols of spot exchange A')
export const futuresListing = listing('GET /v1/cexa/futures', 'cexa_futures', 'Symbols of futures exchange A')
