/**
 * The storage port of series: rows stored as the bytes that are served, keyed by (feed, time, instrument, sequence).
 * Nothing here knows an engine; every engine passes the suite in conformance/.
 */
import type { Dataset, Feed, FeedInterval } from '../core/feed.ts'
import type { Source } from '../core/source.ts'
import type { AssetSymbol } from '../core/symbol.ts'

/**
 * A position in the order of pages: the key of a row. It holds only numbers and text, so that it fits into a cursor.
 */
export interface Position {
  ts: number
  source: Source
  instrument: string
  seq: number
}

export interface TimeRange {
  /** Inclusive. */
  from: number
  /** Exclusive unless `toInclusive` is set. */
  to: number
  toInclusive?: boolean
}

export interface RowFilters {
  /** Only these instruments; an empty list matches no rows. */
  instruments?: readonly string[]
  side?: string
  minUsd?: number
  /** Only rows that are not closed yet. */
  open?: true
}

/** What is added to snapshot rows besides the light row. */
export interface BookRequest {
  /** Adds both books of a prediction market. */
  books: boolean
  /** Adds `diffs`: the change of the first book (Up, Yes) since the previous row of the same series. */
  diffs: boolean
  /** Levels per side; omitted: all. */
  depth?: number
}

export interface SeriesQuery {
  /** Rows are merged by (time, order of core/source.ts, instrument, sequence). */
  feeds: readonly Feed[]
  range: TimeRange
  order: 'asc' | 'desc'
  limit: number
  /** The page starts after this row. */
  position?: Position
  filters?: RowFilters
  /**
   * Samples snapshots: the last row of each step per instrument, where a step is the time (k × stepMs - stepMs, k ×
   * stepMs].
   */
  stepMs?: number
}

export interface PageQuery extends SeriesQuery {
  /** Placed between rows: `,` or a line break. */
  separator: string
  books?: BookRequest
}

export interface Page {
  /** The rows' JSON texts joined by the separator; '' for an empty page. */
  readonly text: string
  /** The same content as bytes, in order, if the engine has them without building a text first. */
  readonly parts?: readonly Buffer[]
  count: number
  hasMore: boolean
  /** The last row of the page in its order; undefined for an empty page. */
  last: Position | undefined
  /** Time of the first and the last row in the page's order. */
  firstTs: number | undefined
  lastTs: number | undefined
}

export interface AtQuery {
  feeds: readonly Feed[]
  time: number
  /** The row is never older than this. */
  notBefore?: number
  instrument?: string
  books?: BookRequest
}

export interface FoundRow {
  position: Position
  text: string
}

export interface FeedFilter {
  dataset?: Dataset
  source?: Source
  symbol?: AssetSymbol
  interval?: FeedInterval
}

/** Until when a feed is final, and the counters that show whether it has changed. */
export interface Finality {
  feed: Feed
  /** Rows before this instant are final; 0 if none are. */
  before: number
  /**
   * Changes with every correction, late row, deletion or coverage change before `before`; part of the key of sealed
   * pages.
   */
  epoch: number
  /** Changes with every write that changes the feed: two reads with the same version saw the same rows. */
  version: number
}

export interface FeedInfo extends Finality {
  firstTs: number | undefined
  lastTs: number | undefined
  corrections: number
}

export interface Revision {
  position: Position
  /** 1 is the first version; the newest version is the row itself and is not listed. */
  revision: number
  text: string
  recordedAt: number
  supersededAt: number
}

export interface RevisionQuery {
  feeds: readonly Feed[]
  range: TimeRange
  instrument?: string
  limit: number
}

export interface SeriesStore {
  page(query: PageQuery): Promise<Page>
  /** The number of rows that the page of this query would have. */
  count(query: SeriesQuery): Promise<number>
  /** The newest row at or before a time. */
  at(query: AtQuery): Promise<FoundRow | undefined>
  /** Time of the oldest row. */
  earliest(filter: FeedFilter): Promise<number | undefined>
  /** All feeds that were ever written to or observed. */
  feeds(filter: FeedFilter): Promise<FeedInfo[]>
  /**
   * In the order of `feeds`; an unknown feed has nothing final. Writes of this process are always included; those of
   * other connections may be missing for up to `maxAgeMs` (default 0). An engine that already has the answer returns it
   * without a promise.
   */
  finality(feeds: readonly Feed[], maxAgeMs?: number): Finality[] | Promise<Finality[]>
  /** Old versions of corrected rows, by (time, source, instrument, sequence, revision). */
  revisions(query: RevisionQuery): Promise<Revision[]>
  /**
   * Deletes rows, books, revisions and coverage of a dataset that are older than this, in small steps, and returns the
   * number of rows. Coverage is deleted first, so that nobody sees a range as complete while its rows are being
   * deleted.
   */
  retain(
    filter: FeedFilter & { dataset: Dataset },
    maxAgeMs: number,
    options?: RetainOptions,
  ): Promise<number>
}

export interface RetainOptions {
  /** Only these feeds; the caller may not have decided yet how long others are kept, which appeared meanwhile. */
  readonly feeds?: readonly Feed[]
  /**
   * The caller's time, for a store with its own clock. The earlier of the two counts, so that a clock set ahead by
   * mistake does not delete history.
   */
  readonly nowMs?: number
  /**
   * Awaited between two steps, so that other writers get their turn; returning false leaves the rest for another time.
   */
  betweenSteps?(): Promise<boolean>
}
