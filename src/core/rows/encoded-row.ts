import type { MicroSide } from '../micro-book.ts'

/** A validated row in its final form: the key and the text that is served. */
export interface EncodedRow {
  /** Milliseconds since the epoch. */
  ts: number
  /** The market, token or ticker that the row belongs to; '' if the feed has only one. */
  instrument: string
  /** Distinguishes rows of the same instant and instrument. The writer assigns it; it does not depend on arrival. */
  seq: number
  /** The JSON text of the row, without line breaks. */
  text: string
  /** False while the candle is open: such a row may be rewritten until it is closed. */
  closed: boolean
  /** Columns that endpoints filter by. */
  side?: string
  usd?: number
  /** The order books of the row: bids and asks of both, or only of the first if the second one mirrors it. */
  books?: readonly MicroSide[]
}
