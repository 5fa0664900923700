/** Every dataset's row: its schema, what a writer gives and the one encoder. */
import type { Static, TSchema } from 'typebox'
import type { Dataset, Feed } from '../feed.ts'
import { CandleRow, encodeCandle } from './candle.ts'
import type { EncodedRow } from './encoded-row.ts'
import { encodeFlow, FlowRow } from './flow.ts'
import { encodeFunding, FundingRow } from './funding.ts'
import { encodeLiquidation, LiquidationRow } from './liquidation.ts'
import { encodeOpenInterest, OpenInterestRow } from './open-interest.ts'
import { encodeSnapshot, SnapshotRow } from './snapshot.ts'
import { encodeTicker, TickerRow } from './ticker.ts'
import { encodeTrade, TradeRow } from './trade.ts'

const ROW_ENCODERS = {
  candles: encodeCandle,
  trades: encodeTrade,
  flow: encodeFlow,
  snapshots: encodeSnapshot,
  open_interest: encodeOpenInterest,
  liquidations: encodeLiquidation,
  funding: encodeFunding,
  ticker: encodeTicker,
} satisfies { [D in Dataset]: (feed: Feed<D>, row: never) => EncodedRow }

export const ROW_SCHEMAS = {
  candles: CandleRow,
  trades: TradeRow,
  flow: FlowRow,
  snapshots: SnapshotRow,
  open_interest: OpenInterestRow,
  liquidations: LiquidationRow,
  funding: FundingRow,
  ticker: TickerRow,
} as const satisfies Record<Dataset, TSchema>

/** Rows as a writer gives them. */
export type RowInputs = { [D in Dataset]: Parameters<(typeof ROW_ENCODERS)[D]>[1] }
/** Rows as they are stored and served. */
export type ServedRows = { [D in Dataset]: Static<(typeof ROW_SCHEMAS)[D]> }

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
