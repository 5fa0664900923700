import { decimal, decimalText, multiply } from '../decimal.ts'
import type { Feed } from '../feed.ts'
import type { EncodedRow } from './encoded-row.ts'
import { checkSequence, type Numeric, positiveText, timeText } from './json-text.ts'
import { RowError } from './row-error.ts'

export interface LiquidationInput {
  time: number
  seq: number
  side: 'long' | 'short'
  quantity: Numeric
  price: Numeric
  avgPrice: Numeric
}

export function encodeLiquidation(feed: Feed<'liquidations'>, row: LiquidationInput): EncodedRow {
  const timestamp = timeText('timestamp', row.time)
  if (row.side !== 'long' && row.side !== 'short') throw new RowError('side', 'must be long or short')
  const quantity = positiveText('quantity', row.quantity)
  const average = positiveText('avg_price', row.avgPrice)
  const usd = decimalText(multiply(decimal(quantity), decimal(average)))
  return {
    ts: row.time,
    instrument: '',
    seq: checkSequence('seq', row.seq),
    closed: true,
    side: row.side,
    usd: Number(usd),
    text: `{"timestamp":${timestamp},"symbol":"${feed.symbol}","source":"${feed.source}","side":"${row.side}","quantity":${quantity},"price":${positiveText('price', row.price)},"avg_price":${average},"usd_value":${usd}}`,
  }
}
