/** Which feeds are packed into blocks when their rows are some days old, and how. */
import { type Feed, hasOneRowPerInstant } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'

export interface BlockForm {
  /** Maximum number of rows per block. */
  readonly rows: number
  /** Blocks do not cross a multiple of this; a row on a multiple begins the next block. */
  readonly gridMs?: number
  /** Blocks end with a row on a multiple of this, or before it. */
  readonly endsMs?: number
  /** If a block ends at a multiple of this, its last row can be read alone, because it may be a sample. */
  readonly samplesMs?: number
}

/** The same number as in `final-blocks.ts`, so that one stored block fills one block in memory. */
export const CANDLES_OF_BLOCK = 128
/** Longer blocks take no less space per row, and much longer to unpack. */
const ROWS = 128
/** A snapshot is about as long as four candles, and there are two per second. */
const SNAPSHOTS = 32
const SNAPSHOTS_MS = 15_000
/** The smallest step whose samples are not every row or every second row. */
const SAMPLES_MS = INTERVAL_MS['5m']

/** Undefined for feeds that are not packed: rows of many instruments are read by instrument. */
export function blockFormOf(feed: Feed): BlockForm | undefined {
  const { dataset, source, interval } = feed
  if (hasOneRowPerInstant(feed))
    return interval === ''
      ? { rows: ROWS }
      : { rows: CANDLES_OF_BLOCK, gridMs: CANDLES_OF_BLOCK * INTERVAL_MS[interval] }
  if (source !== 'perpdex') return undefined
  if (dataset === 'trades') return { rows: ROWS }
  return dataset === 'snapshots'
    ? { rows: SNAPSHOTS, endsMs: SNAPSHOTS_MS, samplesMs: SAMPLES_MS }
    : undefined
}
