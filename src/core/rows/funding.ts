import type { Feed } from '../feed.ts'
import type { EncodedRow } from './encoded-row.ts'
import { type Numeric, numberText, timeText } from './json-text.ts'
import { RowError } from './row-error.ts'

export interface FundingInput {
  time: number
  fundingRate: Numeric
  nextFundingTime: number
}

export function encodeFunding(feed: Feed<'funding'>, row: FundingInput): EncodedRow {
  const timestamp = timeText('timestamp', row.time)
  const next = timeText('next_funding_time', row.nextFundingTime)
  if (row.nextFundingTime <= row.time)
    throw new RowError('next_funding_time', 'must lie after the settlement')
  return {
    ts: row.time,
    instrument: '',
    seq: 0,
    closed: true,
    text: `{"timestamp":${timestamp},"symbol":"${feed.symbol}","source":"${feed.source}","funding_rate":${numberText('funding_rate', row.fundingRate)},"next_funding_time":${next}}`,
  }
}
