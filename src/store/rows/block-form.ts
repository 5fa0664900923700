/** Which feeds are packed into blocks after their days, and how. */
import { type Feed, hasOneRowPerInstant } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'

export interface BlockForm {
  /** Rows of a block at most. */
  readonly rows: number
  /** Blocks do not cross a multiple of it; a row that lies on one begins the next block. */
  readonly gridMs?: number
  /** Blocks end with a row on a multiple of it, or before. */
  readonly endsMs?: number
  /** Of blocks that end with a multiple of it the last row can be read alone: samples are such rows. */
  readonly samplesMs?: number
}

/** Rows that are held together in memory (`final-blocks.ts`), too: one block is read for one of those. */
export const CANDLES_OF_BLOCK = 128
/** Longer blocks take no less room per row, and much longer to unpack. */
const ROWS = 128
/** A snapshot is about as long as four candles; there are two in a second. */
const SNAPSHOTS = 32
const SNAPSHOTS_MS = 15_000
/** The finest step whose samples are not every row, or every second one. */
const SAMPLES_MS = INTERVAL_MS['5m']

/** Undefined where rows stay as they are: those of many instruments are read by instrument. */
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
