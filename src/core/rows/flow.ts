import { add, compare, decimal, decimalText, divide, subtract, ZERO } from '../decimal.ts'
import type { Feed } from '../feed.ts'
import type { EncodedRow } from './encoded-row.ts'
import {
  amountText,
  checkGrid,
  countText,
  type Numeric,
  orNull,
  positiveText,
  timeText,
} from './json-text.ts'
import { RowError } from './row-error.ts'

const RATIO_DECIMALS = 6

export interface FlowInput {
  time: number
  buyVolume: Numeric
  sellVolume: Numeric
  numBuys?: number | null
  numSells?: number | null
  vwapBuy?: Numeric | null
  vwapSell?: Numeric | null
  /** False while the bucket is open. Not served. */
  closed: boolean
}

export function encodeFlow(feed: Feed<'flow'>, row: FlowInput): EncodedRow {
  if (feed.interval === '') throw new RowError('interval', 'a flow feed has an interval')
  const timestamp = timeText('timestamp', row.time)
  checkGrid('timestamp', row.time, feed.interval)
  const buy = amountText('buy_volume', row.buyVolume)
  const sell = amountText('sell_volume', row.sellVolume)
  const buyUnits = decimal(buy)
  const sellUnits = decimal(sell)
  const ratio = divide(buyUnits, add(buyUnits, sellUnits), RATIO_DECIMALS)
  checkVwap('vwap_buy', compare(buyUnits, ZERO) !== 0, row.vwapBuy)
  checkVwap('vwap_sell', compare(sellUnits, ZERO) !== 0, row.vwapSell)
  return {
    ts: row.time,
    instrument: '',
    seq: 0,
    closed: row.closed,
    text: `{"timestamp":${timestamp},"symbol":"${feed.symbol}","source":"${feed.source}","interval":"${feed.interval}","buy_volume":${buy},"sell_volume":${sell},"num_buys":${orNull(countText, 'num_buys', row.numBuys)},"num_sells":${orNull(countText, 'num_sells', row.numSells)},"vwap_buy":${orNull(positiveText, 'vwap_buy', row.vwapBuy)},"vwap_sell":${orNull(positiveText, 'vwap_sell', row.vwapSell)},"net_volume":${decimalText(subtract(buyUnits, sellUnits))},"buy_ratio":${ratio === undefined ? 'null' : decimalText(ratio)}}`,
  }
}

function checkVwap(field: string, traded: boolean, value: Numeric | null | undefined): void {
  const given = value !== null && value !== undefined
  if (given && !traded) throw new RowError(field, 'must be null without volume')
  if (!given && traded) throw new RowError(field, 'is needed where there is volume')
}
