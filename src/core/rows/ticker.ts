import type { Feed } from '../feed.ts'
import type { EncodedRow } from './encoded-row.ts'
import { amountText, checkGrid, type Numeric, positiveText, timeText } from './json-text.ts'
import { RowError } from './row-error.ts'

export interface TickerInput {
  time: number
  bidPrice: Numeric
  bidSize: Numeric
  askPrice: Numeric
  askSize: Numeric
}

export function encodeTicker(feed: Feed<'ticker'>, row: TickerInput): EncodedRow {
  const timestamp = timeText('timestamp', row.time)
  checkGrid('timestamp', row.time, '1s')
  const bid = positiveText('bid_price', row.bidPrice)
  const ask = positiveText('ask_price', row.askPrice)
  if (Number(bid) > Number(ask)) throw new RowError('bid_price', `${bid} is above ask ${ask}`)
  return {
    ts: row.time,
    instrument: '',
    seq: 0,
    closed: true,
    text: `{"timestamp":${timestamp},"symbol":"${feed.symbol}","source":"${feed.source}","bid_price":${bid},"bid_size":${amountText('bid_size', row.bidSize)},"ask_price":${ask},"ask_size":${amountText('ask_size', row.askSize)}}`,
  }
}
