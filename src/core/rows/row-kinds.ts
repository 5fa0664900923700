/** Every dataset's row: its schema, what a writer gives and the one encoder. */
import type { Dataset, Feed } from '../feed.ts'
import { type CandleInput, CandleRow, encodeCandle } from './candle.ts'
import type { EncodedRow } from './encoded-row.ts'
import { encodeFlow, type FlowInput, FlowRow } from './flow.ts'
import { encodeFunding, type FundingInput, FundingRow } from './funding.ts'
import { encodeLiquidation, type LiquidationInput, LiquidationRow } from './liquidation.ts'
import { encodeOpenInterest, type OpenInterestInput, OpenInterestRow } from './open-interest.ts'
import { encodeSnapshot, type SnapshotInput, SnapshotRow } from './snapshot.ts'
import { encodeTicker, type TickerInput, TickerRow } from './ticker.ts'
import { encodeTrade, type TradeInput, TradeRow } from './trade.ts'

export interface RowInputs {
  candles: CandleInput
  trades: TradeInput
  flow: FlowInput
  snapshots: SnapshotInput
  open_interest: OpenInterestInput
  liquidations: LiquidationInput
  funding: FundingInput
  ticker: TickerInput
}

/** Rows as they are stored and served. */
export interface ServedRows {
  candles: CandleRow
  trades: TradeRow
  flow: FlowRow
  snapshots: SnapshotRow
  open_interest: OpenInterestRow
  liquidations: LiquidationRow
  funding: FundingRow
  ticker: TickerRow
}

type Encoders = { [D in Dataset]: (feed: Feed<D>, row: RowInputs[D]) => EncodedRow }

const ROW_ENCODERS: Encoders = {
  candles: encodeCandle,
  trades: encodeTrade,
  flow: encodeFlow,
  snapshots: encodeSnapshot,
  open_interest: encodeOpenInterest,
  liquidations: encodeLiquidation,
  funding: encodeFunding,
  ticker: encodeTicker,
}

export const ROW_SCHEMAS = {
  candles: CandleRow,
  trades: TradeRow,
  flow: FlowRow,
  snapshots: SnapshotRow,
  open_interest: OpenInterestRow,
  liquidations: LiquidationRow,
  funding: FundingRow,
  ticker: TickerRow,
} as const

/** Rows of one feed, as a writer gives them. */
export type FeedRows = { [D in Dataset]: { feed: Feed<D>; rows: readonly RowInputs[D][] } }[Dataset]

/** The encoder of a feed's rows. The dataset of the feed decides which shape the rows have. */
export function rowEncoder(feed: Feed): (row: RowInputs[Dataset]) => EncodedRow {
  const encode = ROW_ENCODERS[feed.dataset] as (feed: Feed, row: RowInputs[Dataset]) => EncodedRow
  return (row) => encode(feed, row)
}

/** Puts the asked spelling of a source or an interval into rows: `cexa_spot` for `cexa`, `24h` for `1d`. */
export function respell(text: string, field: 'source' | 'interval', stored: string, asked: string): string {
  return stored === asked ? text : text.replaceAll(`"${field}":"${stored}"`, `"${field}":"${asked}"`)
}
