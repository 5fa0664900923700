/**
 * Whether a trade counts for a candle. Venues now and then publish fills of size 0, some with a price of 0 too. Only
 * their trade number counts, so that no number seems to be missing.
 */
export type TradeVerdict = 'good' | 'empty' | 'bad'

interface Fill {
  readonly price: string
  readonly size: string
}

/** The trade numbers that an aggregate spans; a candle's trade count is the sum over its aggregates. */
interface Numbers {
  readonly firstTradeId?: number
  readonly lastTradeId?: number
}

/** The most trades that one aggregate of a venue can contain. */
const MAX_FILLS = 1_000_000

export function checkTrade(trade: Fill & Numbers): TradeVerdict {
  const { firstTradeId: first = 0, lastTradeId: last = first } = trade
  const hasCount = last >= first && last - first < MAX_FILLS
  return judge(trade, Number(trade.price) > 0 && hasCount)
}

/** For prediction markets, whose prices are probabilities. */
export function checkMarketTrade(trade: Fill): TradeVerdict {
  const price = trade.price.trim() === '' ? Number.NaN : Number(trade.price)
  return judge(trade, price >= 0 && price <= 1)
}

function judge({ size }: Fill, isPrice: boolean): TradeVerdict {
  const amount = Number(size)
  if (amount > 0 && isPrice) return 'good'
  return amount === 0 && size.trim() !== '' ? 'empty' : 'bad'
}
