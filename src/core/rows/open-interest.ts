import type { Feed } from '../feed.ts'
import type { EncodedRow } from './encoded-row.ts'
import { amountText, checkGrid, type Numeric, stringText, timeText } from './json-text.ts'
import { RowError } from './row-error.ts'

export interface OpenInterestInput {
  time: number
  openInterest: Numeric
  openInterestUsd: Numeric
  /** `predmkt_b` only: the ticker; absent for the sum over the symbol's markets. */
  marketId?: string
}

export function encodeOpenInterest(feed: Feed<'open_interest'>, row: OpenInterestInput): EncodedRow {
  if (feed.interval === '') throw new RowError('interval', 'an open-interest feed has an interval')
  const timestamp = timeText('timestamp', row.time)
  checkGrid('timestamp', row.time, feed.interval)
  let market = ''
  if (row.marketId !== undefined) {
    if (feed.source !== 'predmkt_b') throw new RowError('market_id', `is not published by ${feed.source}`)
    market = `,"market_id":${stringText('market_id', row.marketId)}`
  }
  return {
    ts: row.time,
    instrument: row.marketId ?? '',
    seq: 0,
    closed: true,
    text: `{"timestamp":${timestamp},"symbol":"${feed.symbol}","source":"${feed.source}","interval":"${feed.interval}","open_interest":${amountText('open_interest', row.openInterest)},"open_interest_usd":${amountText('open_interest_usd', row.openInterestUsd)}${market}}`,
  }
}
