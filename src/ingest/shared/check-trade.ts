/**
 * What a trade is worth to a candle. Venues now and then publish fills of nothing (the futures exchange has them with a
 * price of 0 too): they keep their number, so that none seems to be missing, and are left out of everything else.
 */
export type TradeVerdict = 'good' | 'empty' | 'bad'

interface Fill {
  readonly price: string
  readonly size: string
}

export function checkTrade(trade: Fill): TradeVerdict {
  return judge(trade, Number(trade.price) > 0)
}

/** A trade of a prediction market, whose price is a probability. */
export function checkMarketTrade(trade: Fill): TradeVerdict {
  const price = trade.price.trim() === '' ? Number.NaN : Number(trade.price)
  return judge(trade, price >= 0 && price <= 1)
}

function judge({ size }: Fill, isPrice: boolean): TradeVerdict {
  const amount = Number(size)
  if (amount > 0 && isPrice) return 'good'
  return amount === 0 && size.trim() !== '' ? 'empty' : 'bad'
}
