/** What is written together: rows by feed, and the coverage and finality that are recorded beside them. */
import { type Feed, feedName } from '../../core/feed.ts'
import type { RowError } from '../../core/rows/row-error.ts'
import type { FeedRows } from '../../core/rows/row-kinds.ts'
import type { CoverageChange } from '../../store/coverage.ts'
import type { RowsRefusedError } from '../../store/environment.ts'

/** Coverage that is decided when the rows of its batch are written. */
export type CoverageDecision = () => readonly CoverageChange[] | Promise<readonly CoverageChange[]>

/** A row that cannot be stored, for the dead letters. */
export interface RefusedRow {
  readonly feed: Feed
  readonly row: unknown
  readonly error: RowError
}

export interface FeedBatch {
  readonly feed: Feed
  readonly rows: unknown[]
  /** Rows that were not even put, because what they are made of was refused: their time, and the place they would have. */
  readonly unmade: { readonly timeMs: number; readonly place: number }[]
  /** Places of the rows that the store refused. */
  readonly refused: Set<number>
}

export class RowBatch {
  private readonly byName = new Map<string, FeedBatch>()
  /** Coverage and finality, in the order in which they were recorded. */
  readonly changes: (CoverageDecision | { readonly feed: Feed; readonly beforeMs: number })[] = []
  size = 0

  get isEmpty(): boolean {
    return this.size === 0 && this.changes.length === 0
  }

  get feeds(): Iterable<FeedBatch> {
    return this.byName.values()
  }

  put(feed: Feed, rows: readonly unknown[]): void {
    const own = this.of(feed)
    for (const row of rows) own.rows.push(row)
    this.size += rows.length
  }

  refuse(feed: Feed, timeMs: number): void {
    const own = this.of(feed)
    own.unmade.push({ timeMs, place: own.rows.length })
    this.size += 1
  }

  /** The rows that the store has not refused. */
  acceptedRows(): FeedRows[] {
    return [...this.byName.values()]
      .map(({ feed, rows, refused }) => ({
        feed,
        rows: refused.size === 0 ? rows : rows.filter((_, place) => !refused.has(place)),
      }))
      .filter(({ rows }) => rows.length > 0) as unknown as FeedRows[]
  }

  /** The store refused some of the accepted rows: they are accepted no longer. Gives them. */
  markRefused(refusals: RowsRefusedError['refused']): RefusedRow[] {
    // The store counts places among the rows it was given, which lacked those refused before.
    const before = new Map(
      [...this.byName.values()].map((own) => [own, [...own.refused].sort((a, b) => a - b)]),
    )
    return refusals.flatMap(({ feed, index, error }) => {
      const own = this.byName.get(feedName(feed))
      if (own === undefined) return []
      let place = index
      for (const earlier of before.get(own) ?? []) if (earlier <= place) place++
      own.refused.add(place)
      return [{ feed, row: own.rows[place], error }]
    })
  }

  private of(feed: Feed): FeedBatch {
    const name = feedName(feed)
    const known = this.byName.get(name)
    if (known !== undefined) return known
    const own: FeedBatch = { feed, rows: [], unmade: [], refused: new Set() }
    this.byName.set(name, own)
    return own
  }
}
