/** Everything an environment (test or live) stores of the market half. */
import type { Feed } from '../core/feed.ts'
import type { MarketInput } from '../core/rows/market.ts'
import type { RowError } from '../core/rows/row-error.ts'
import type { FeedRows } from '../core/rows/row-kinds.ts'
import type { Coverage, CoverageChange, CoverageStore, Span } from './coverage.ts'
import type { MarketStore } from './markets.ts'
import type { AtQuery, Finality, FoundRow, Page, PageQuery, RetainOptions, SeriesStore } from './series.ts'

/** What one flush of a recorder brings. Applied in this order, each list in its own order. */
export interface EnvironmentWrite {
  /** Idempotent by key (feed, time, instrument, sequence). */
  readonly rows?: readonly FeedRows[]
  readonly coverage?: readonly CoverageChange[]
  /** Rows of the feed before this instant will not change any more. Never moves back. */
  readonly finalize?: readonly { readonly feed: Feed; readonly before: number }[]
  /** Catalogue entries; one that is there already is replaced. */
  readonly markets?: readonly MarketInput[]
}

export interface WriteResult {
  inserted: number
  /** The same key with the same bytes, or an open version of a row that is closed already. */
  unchanged: number
  /** An open row that was rewritten (or closed). */
  rewritten: number
  /** A closed row that arrived with other bytes: the old bytes became a revision. */
  corrected: number
  /** Catalogue entries that were new or changed. */
  markets: number
}

interface CoveredPageQuery extends PageQuery {
  /** Coverage is read up to this instant at most: the future is not a gap. */
  readonly coverageTo: number
  /**
   * What other connections wrote may be missing for up to this long (default 0). Then all of the answer is that old:
   * rows, coverage and finality still belong together.
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
  /** Where coverage starts when there is no row; with one it starts at the row. It ends with the time asked for. */
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
   * A page with the coverage and the finality of its feeds, all of one moment: read one after another, a backfill in
   * between would seal a page without the rows that it wrote.
   */
  coveredPage(query: CoveredPageQuery): Promise<CoveredPage>
  /** The newest row at or before a time, with the coverage from there to the time, both of one moment. */
  coveredRow(query: CoveredRowQuery): Promise<CoveredRow>
  /**
   * Resolves when all of it is durable against the death of the process. Writes are applied in the order of their
   * calls. Up to MAX_BATCH_ROWS rows and MAX_BATCH_BYTES are one transaction: all of the write is there, or nothing. A
   * larger one is several, and coverage, finality and markets come with the last: coverage is never there without its rows.
   *
   * Rows are checked first. If one cannot be stored, nothing is written and RowsRefusedError lists all that cannot:
   * the caller writes again without them, with a gap in place of each.
   */
  write(write: EnvironmentWrite): Promise<WriteResult>
  /**
   * Stores final rows that are older than that more compactly, in small steps, where the engine can. What is read stays
   * the same. Gives the number of rows.
   */
  compact(maxAgeMs: number, options?: CompactOptions): Promise<number>
  /**
   * Gives room of deleted rows back to the system, in small steps, where the engine does not by itself. Some stays for
   * the next rows. Gives the number of bytes.
   */
  giveBackRoom(options?: RetainOptions): Promise<number>
  /** Writes what was accepted, then releases files and threads. Later calls are refused. */
  close(): Promise<void>
}

interface CompactOptions extends RetainOptions {
  /** In place of the engine's own number. */
  blockRows?: number
  /** Whether rows that may still change are packed, too; they are unpacked when they do. */
  withUnfinal?: boolean
}

/** Rows that are written in one transaction at most. */
export const MAX_BATCH_ROWS = 10_000
/** The bytes of their texts and books. */
export const MAX_BATCH_BYTES = 4_000_000

export interface RowRefusal {
  readonly feed: Feed
  /** Place among the rows of its feed. */
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
