import type { Example } from '../../../contract/example.ts'
import { choice, insteadOf, type Param, text, translated } from '../../../contract/params.ts'
import { MARKET_TYPES, type MarketType } from '../../../core/rows/market.ts'

/** Identifiers of prediction markets: ids, condition ids, slugs, tickers and token ids share one form. */
const IDENTIFIER = /^[A-Za-z0-9._:-]{1,200}$/

export const IDENTIFIERS_IN_WORDS = 'a market id, condition id, slug, ticker or token id'

export const marketIdParam = text(
  'One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`).',
  { pattern: IDENTIFIER, expected: IDENTIFIERS_IN_WORDS },
)

export const conditionIdParam = insteadOf('market_id', marketIdParam)

export const tokenIdParam = text('One leg of a market: its order-book token id (`predmkt_a`).', {
  pattern: /^[0-9A-Za-z]{1,100}$/,
  expected: 'an order-book token id',
})

export function identifierParam(example: Example<string>): Param<string> {
  return text('Market id, condition id, slug, ticker or token id.', {
    pattern: IDENTIFIER,
    expected: IDENTIFIERS_IN_WORDS,
    example,
  })
}

export const marketTypeParam = choice('Duration of the contract.', MARKET_TYPES)

/** The names that `predmkt_b` itself uses for the durations of its contracts. */
const SERIES = { '15m': '15m', hourly: '1h', daily: '24h' } as const satisfies Record<string, MarketType>

export const seriesParam = insteadOf(
  'market_type',
  translated(choice('Series of the contract.', ['15m', 'hourly', 'daily'] as const), (word) => SERIES[word]),
)
