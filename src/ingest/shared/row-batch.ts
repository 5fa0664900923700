/** The content of one write: rows by feed, and the coverage and finality to record with them. */
import { type Feed, feedName } from '../../core/feed.ts'
import type { RowError } from '../../core/rows/row-error.ts'
import type { FeedRows } from '../../core/rows/row-kinds.ts'
import type { CoverageChange } from '../../store/coverage.ts'
import type { RowsRefusedError } from '../../store/environment.ts'
import { isOpen, rowKeyOf, timeOf } from './refused-rows.ts'

/** A coverage change that is decided when the rows of its batch are written. */
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
  /** Rows that were never put because their input was refused: their time, and the place that they would have had. */
  readonly unmade: { readonly timeMs: number; readonly place: number }[]
  /** Places of the rows that the store refused. */
  readonly refused: Set<number>
  /** Places of the rows that a later row of the same key replaces; filled only for a write that is repeated. */
  replaced: ReadonlySet<number>
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

  /** The rows that the store has not refused and that are not replaced. */
  acceptedRows(): FeedRows[] {
    return [...this.byName.values()]
      .map(({ feed, rows, refused, replaced }) => ({
        feed,
        rows:
          refused.size + replaced.size === 0
            ? rows
            : rows.filter((_, place) => !refused.has(place) && !replaced.has(place)),
      }))
      .filter(({ rows }) => rows.length > 0) as unknown as FeedRows[]
  }

  /**
   * Leaves out every row that a later one replaces. The write that failed may have stored them all, and an earlier
   * closed version that is written again would count as a correction.
   */
  leaveOutReplaced(): void {
    for (const own of this.byName.values()) own.replaced = replacedIn(own)
  }

  /** Marks rows that the store refused as no longer accepted, and returns them. */
  markRefused(refusals: RowsRefusedError['refused']): RefusedRow[] {
    // The store counts places among the rows that it was given, which did not include those left out.
    const before = new Map(
      [...this.byName.values()].map((own) => [
        own,
        [...own.refused.union(own.replaced)].sort((a, b) => a - b),
      ]),
    )
    // A row that is refused replaces none.
    for (const own of this.byName.values()) own.replaced = new Set()
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
    const own: FeedBatch = { feed, rows: [], unmade: [], refused: new Set(), replaced: new Set() }
    this.byName.set(name, own)
    return own
  }
}

/** An open row does not replace a closed one. */
function replacedIn({ rows, refused }: FeedBatch): Set<number> {
  const replaced = new Set<number>()
  const latest = new Map<string, number>()
  for (const [place, row] of rows.entries()) {
    const timeMs = timeOf(row)
    if (refused.has(place) || Number.isNaN(timeMs)) continue
    const key = rowKeyOf(row, timeMs)
    const before = latest.get(key)
    const isLate = before !== undefined && isOpen(row) && !isOpen(rows[before])
    if (isLate) replaced.add(place)
    else if (before !== undefined) replaced.add(before)
    if (!isLate) latest.set(key, place)
  }
  return replaced
}
