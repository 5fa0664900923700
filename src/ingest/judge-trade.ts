/**
 * What a trade is worth to a candle. Venues now and then publish fills of nothing (the futures exchange has them with a
 * price of 0 too): they keep their number, so that none seems to be missing, and are left out of everything else.
 */
export type TradeVerdict = 'good' | 'empty' | 'bad'

export function judgeTrade({ price, size }: { price: string; size: string }): TradeVerdict {
  const amount = Number(size)
  if (amount > 0 && Number(price) > 0) return 'good'
  return amount === 0 && size.trim() !== '' ? 'empty' : 'bad'
}
