/** The row of every dataset: the input of a writer and its only encoder. */
import type { Dataset, Feed } from '../feed.ts'
import { encodeCandle } from './candle.ts'
import type { EncodedRow } from './encoded-row.ts'
import { encodeFlow } from './flow.ts'
import { encodeFunding } from './funding.ts'
import { encodeLiquidation } from './liquidation.ts'
import { encodeOpenInterest } from './open-interest.ts'
import { encodeSnapshot } from './snapshot.ts'
import { encodeTicker } from './ticker.ts'
import { encodeTrade } from './trade.ts'

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

/** Rows as a writer passes them. */
export type RowInputs = { [D in Dataset]: Parameters<(typeof ROW_ENCODERS)[D]>[1] }

/** Rows of one feed, as a writer passes them. */
export type FeedRows = { [D in Dataset]: { feed: Feed<D>; rows: readonly RowInputs[D][] } }[Dataset]

/** The encoder of a feed's rows. The dataset of the feed determines the shape of the rows. */
export function rowEncoder(feed: Feed): (row: RowInputs[Dataset]) => EncodedRow {
  const encode = ROW_ENCODERS[feed.dataset] as (feed: Feed, row: RowInputs[Dataset]) => EncodedRow
  return (row) => encode(feed, row)
}

/**
 * Replaces the stored spelling of a source or an interval in rows with the requested one: `cexa_spot` for `cexa`, `24h`
 * for `1d`.
 */
export function respell(text: string, field: 'source' | 'interval', stored: string, asked: string): string {
  return stored === asked ? text : text.replaceAll(`"${field}":"${stored}"`, `"${field}":"${asked}"`)
}
