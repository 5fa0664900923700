/** The market data of one environment (test or live). */
import type { Feed } from '../core/feed.ts'
import type { MarketInput } from '../core/rows/market.ts'
import type { RowError } from '../core/rows/row-error.ts'
import type { FeedRows } from '../core/rows/row-kinds.ts'
import type { Coverage, CoverageChange, CoverageStore, Span } from './coverage.ts'
import type { MarketStore } from './markets.ts'
import type { AtQuery, Finality, FoundRow, Page, PageQuery, RetainOptions, SeriesStore } from './series.ts'

/** One flush of a recorder. The lists are applied in this order, and each list in its own order. */
export interface EnvironmentWrite {
  /** Idempotent by key (feed, time, instrument, sequence). */
  readonly rows?: readonly FeedRows[]
  readonly coverage?: readonly CoverageChange[]
  /** Rows of the feed before this instant will not change any more. The instant never moves back. */
  readonly finalize?: readonly { readonly feed: Feed; readonly before: number }[]
  /** Catalogue entries; an existing entry is replaced. */
  readonly markets?: readonly MarketInput[]
}

export interface WriteResult {
  inserted: number
  /** The key was already stored with the same bytes, or the stored row is closed and the new version is open. */
  unchanged: number
  /** An open row was rewritten or closed. */
  rewritten: number
  /** A closed row arrived with different bytes; the old bytes became a revision. */
  corrected: number
  /** Catalogue entries that were new or changed. */
  markets: number
}

interface CoveredPageQuery extends PageQuery {
  /** Coverage ends at this instant at the latest, because the future is not a gap. */
  readonly coverageTo: number
  /**
   * Writes of other connections may be missing for up to this long (default 0). The answer is still consistent: its
   * rows, coverage and finality are all of the same age.
   */
  readonly maxAgeMs?: number
}

interface CoveredPage {
  readonly page: Page
  /** In the order of the feeds. */
  readonly finality: readonly Finality[]
  /** The part of the range that the page covers; it may end after `coverageTo`. */
  readonly covered: Span
  readonly coverage: Coverage
}

interface CoveredRowQuery extends AtQuery {
  /** Where coverage starts if no row is found; otherwise it starts at the row. It ends at the requested time. */
  readonly coverageFrom: number
  readonly coverageTo: number
}

export interface CoveredRow {
  readonly row: FoundRow | undefined
  readonly covered: Span
  readonly coverage: Coverage
}

export interface EnvironmentStore {
  series: SeriesStore
  coverage: CoverageStore
  markets: MarketStore
  /**
   * A page with the coverage and finality of its feeds, all read at one moment. With separate reads, a backfill in
   * between could seal a page that lacks the rows it wrote.
   */
  coveredPage(query: CoveredPageQuery): Promise<CoveredPage>
  /** The newest row at or before a time, with the coverage from that row to the time, both read at one moment. */
  coveredRow(query: CoveredRowQuery): Promise<CoveredRow>
  /**
   * Resolves when the whole write survives the death of the process. Writes are applied in the order of the calls. Up
   * to MAX_BATCH_ROWS rows and MAX_BATCH_BYTES are one transaction, so the write is applied completely or not at all. A
   * larger write takes several transactions; coverage, finality and markets are part of the last, so that coverage is
   * never stored without its rows.
   *
   * Rows are checked first. If any of them cannot be stored, nothing is written and RowsRefusedError lists all of them;
   * the caller then writes again without those rows, with a gap in place of each.
   */
  write(write: EnvironmentWrite): Promise<WriteResult>
  /**
   * Stores final rows older than this more compactly, in small steps, if the engine can. Reads return the same rows as
   * before. Returns the number of rows packed.
   */
  compact(maxAgeMs: number, options?: CompactOptions): Promise<number>
  /**
   * Returns the space of deleted rows to the file system, in small steps, unless the engine does so by itself. Some of
   * it is kept for new rows. Returns the number of bytes.
   */
  giveBackRoom(options?: RetainOptions): Promise<number>
  /** A small read that throws when the store cannot be read. */
  probe(): Promise<void>
  /** Finishes the accepted writes, then releases files and threads. Later calls are rejected. */
  close(): Promise<void>
}

interface CompactOptions extends RetainOptions {
  /** Overrides the engine's own block size. */
  blockRows?: number
  /** Also packs rows that may still change; they are unpacked when they do. */
  withUnfinal?: boolean
}

/** Maximum number of rows written in one transaction. */
export const MAX_BATCH_ROWS = 10_000
/** Maximum bytes of their texts and books. */
export const MAX_BATCH_BYTES = 4_000_000

export interface RowRefusal {
  readonly feed: Feed
  /** Index among the rows of its feed. */
  readonly index: number
  readonly error: RowError
}

export class RowsRefusedError extends Error {
  override readonly name = 'RowsRefusedError'
  readonly refused: readonly RowRefusal[]

  constructor(refused: readonly RowRefusal[]) {
    super(`${refused.length} rows cannot be stored: ${refused[0]?.error.message}`)
    this.refused = refused
  }
}

export class StoreClosedError extends Error {
  override readonly name = 'StoreClosedError'
  constructor() {
    super('the store is closed')
  }
}
