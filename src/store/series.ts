/**
 * The storage port of series: rows stored as the bytes that are served, keyed by (feed, time, instrument,
 * sequence). Nothing here knows an engine; every engine passes the suite in conformance/.
 */
import type { Dataset, Feed, FeedInterval } from '../core/feed.ts'
import type { Source } from '../core/source.ts'
import type { AssetSymbol } from '../core/symbol.ts'

/** The position of a walk: the key of a row in the order of pages. Numbers and text only, so it fits a cursor. */
export interface Position {
  ts: number
  source: Source
  instrument: string
  seq: number
}

export interface TimeRange {
  /** Inclusive. */
  from: number
  /** Exclusive unless toInclusive. */
  to: number
  toInclusive?: boolean
}

export interface RowFilters {
  /** Only these instruments; an empty list gives no rows. */
  instruments?: readonly string[]
  side?: string
  minUsd?: number
  /** Only rows that are not closed yet. */
  open?: true
}

/** What is composed into snapshot rows beside the light row. */
export interface BookRequest {
  /** Adds both books of a prediction market. */
  books: boolean
  /** Adds `diffs`: the change of the first book (Up, Yes) since the row before in the same series. */
  diffs: boolean
  /** Levels per side; left out: all. */
  depth?: number
}

export interface SeriesQuery {
  /** Merged by (time, order of core/source.ts, instrument, sequence). */
  feeds: readonly Feed[]
  range: TimeRange
  order: 'asc' | 'desc'
  limit: number
  /** The page continues after this row. */
  position?: Position
  filters?: RowFilters
  /**
   * Samples (snapshots only): per instrument the last row of each step, a step being the time (k × stepMs - stepMs, k × stepMs].
   */
  stepMs?: number
}

export interface PageQuery extends SeriesQuery {
  /** Between rows: `,` or a line break. */
  separator: string
  books?: BookRequest
}

export interface Page {
  /** The rows' JSON texts joined by the separator; '' when there is none. */
  readonly text: string
  /** The same as bytes, in order, where the engine has them at hand: no text has to be made first. */
  readonly parts?: readonly Buffer[]
  count: number
  hasMore: boolean
  /** The last row of the page in its order; undefined when the page is empty. */
  last: Position | undefined
  /** Time of the first and the last row in the page's order. */
  firstTs: number | undefined
  lastTs: number | undefined
}

export interface AtQuery {
  feeds: readonly Feed[]
  time: number
  /** Never older than this. */
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

/** Until when a feed will not change, and the numbers that show whether it did. */
export interface Finality {
  feed: Feed
  /** Rows before this instant are final; 0 when nothing is. */
  before: number
  /** Changes with every correction, late row, retention or coverage change before `before`: the key of sealed pages. */
  epoch: number
  /** Changes with every write that changed something of the feed: two reads with the same one saw the same rows. */
  version: number
}

export interface FeedInfo extends Finality {
  firstTs: number | undefined
  lastTs: number | undefined
  corrections: number
}

export interface Revision {
  position: Position
  /** 1 is the first version; the newest one is the row itself and is not listed. */
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
  /** How many rows the page of this query would have. */
  count(query: SeriesQuery): Promise<number>
  /** The newest row at or before a time. */
  at(query: AtQuery): Promise<FoundRow | undefined>
  /** Time of the oldest row. */
  earliest(filter: FeedFilter): Promise<number | undefined>
  /** The feeds that were ever written to or observed. */
  feeds(filter: FeedFilter): Promise<FeedInfo[]>
  /**
   * In the order asked; a feed that is not known has nothing final. What this process wrote is always in it; what
   * other connections wrote may be missing for up to `maxAgeMs` (default 0). An engine that has the answer at hand
   * gives it at once.
   */
  finality(feeds: readonly Feed[], maxAgeMs?: number): Finality[] | Promise<Finality[]>
  /** Old versions of corrected rows, by (time, source, instrument, sequence, revision). */
  revisions(query: RevisionQuery): Promise<Revision[]>
  /**
   * Deletes rows, books, revisions and coverage of a dataset that are older than that, in small steps; gives the number
   * of rows. Coverage goes first: nobody sees a range as complete whose rows are being deleted.
   */
  retain(
    filter: FeedFilter & { dataset: Dataset },
    maxAgeMs: number,
    options?: RetainOptions,
  ): Promise<number>
}

export interface RetainOptions {
  /**
   * The caller's time, where the store has a clock of its own: the one that is behind counts. A clock that was set ahead by
   * mistake must not delete history.
   */
  readonly nowMs?: number
  /** Between two steps, so that other writers get their turn; the rest is left for another time once it gives false. */
  betweenSteps?(): Promise<boolean>
}
