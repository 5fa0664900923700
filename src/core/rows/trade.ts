import type { Feed } from '../feed.ts'
import type { EncodedRow } from './encoded-row.ts'
import {
  absent,
  checkSequence,
  fractionText,
  type Numeric,
  orNull,
  positiveText,
  stringText,
  timeText,
} from './json-text.ts'
import { RowError } from './row-error.ts'

export interface TradeInput {
  time: number
  /** Distinguishes trades of one instant; stays the same each time the trade is ingested. */
  seq: number
  tradeId: string
  price: Numeric
  size: Numeric
  side: 'buy' | 'sell'
  makerTaker?: 'maker' | 'taker' | null
  marketId?: string | null
  tokenId?: string | null
  outcome?: string | null
}

export function encodeTrade(feed: Feed<'trades'>, row: TradeInput): EncodedRow {
  const market = feed.source === 'predmkt_a' || feed.source === 'predmkt_b'
  const timestamp = timeText('timestamp', row.time)
  const price = (market ? fractionText : positiveText)('price', row.price)
  const size = positiveText('size', row.size)
  if (row.side !== 'buy' && row.side !== 'sell') throw new RowError('side', 'must be buy or sell')
  const role = row.makerTaker ?? null
  if (role !== null && role !== 'maker' && role !== 'taker') {
    throw new RowError('maker_taker', 'must be maker, taker or null')
  }
  const marketId = market
    ? stringText('market_id', row.marketId ?? '')
    : absent('market_id', feed.source, row.marketId)
  const tokenId =
    feed.source === 'predmkt_a'
      ? stringText('token_id', row.tokenId ?? '')
      : absent('token_id', feed.source, row.tokenId)
  const outcome = market
    ? orNull(stringText, 'outcome', row.outcome)
    : absent('outcome', feed.source, row.outcome)
  return {
    ts: row.time,
    instrument: row.tokenId ?? row.marketId ?? '',
    seq: checkSequence('seq', row.seq),
    closed: true,
    side: row.side,
    text: `{"timestamp":${timestamp},"symbol":"${feed.symbol}","source":"${feed.source}","trade_id":${stringText('trade_id', row.tradeId)},"price":${price},"size":${size},"side":"${row.side}","maker_taker":${role === null ? 'null' : `"${role}"`},"market_id":${marketId},"token_id":${tokenId},"outcome":${outcome}}`,
  }
}
