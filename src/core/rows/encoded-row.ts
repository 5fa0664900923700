import type { MicroSide } from '../micro-book.ts'

/** A validated row in its final form: the key and the bytes that are served. */
export interface EncodedRow {
  /** Milliseconds since the epoch. */
  ts: number
  /** The market, token or ticker that the row belongs to; '' where the feed has only one. */
  instrument: string
  /** Distinguishes rows of the same instant and instrument; given by the writer, never by arrival. */
  seq: number
  /** The JSON text of the row, without line breaks. */
  text: string
  /** False while the candle is open: such a row may be rewritten until it is closed. */
  closed: boolean
  /** Filter columns, where an endpoint filters. */
  side?: string
  usd?: number
  /** The order books that belong to the row: bids and asks of both, of the first alone where the second mirrors it. */
  books?: readonly MicroSide[]
}
