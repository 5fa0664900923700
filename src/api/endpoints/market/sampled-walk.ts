/**
 * Walks over samples that reach a step whose rows are not all written yet. A row that is written there between two
 * pages becomes the last row of its market. In a descending walk it may lie before the cursor and replace a row behind
 * it, so that the market is never listed. In an ascending walk it may lie behind the cursor although its market was
 * already listed, so that the market is listed twice. Therefore a page that ends in such a step is read again, up to
 * the time before which everything is written, and no later page of its walk reads further. All other pages are as
 * recent as the store.
 */
import type { Coverage, Gap, Span } from '../../../store/coverage.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import type { Page } from '../../../store/series.ts'
import { WRITE_DELAY_MS } from './coverage-meta.ts'
import type { CursorWalk } from './cursor-walk.ts'

type CoveredQuery = Parameters<EnvironmentStore['coveredPage']>[0]
type CoveredPage = Awaited<ReturnType<EnvironmentStore['coveredPage']>>
type Store = Pick<EnvironmentStore, 'coveredPage' | 'coverage'>

interface WalkedPage {
  readonly read: CoveredPage
  /** The exclusive end of what this page and all later pages of its walk read; undefined if there is no bound. */
  readonly boundMs: number | undefined
}

export async function readSampledPage(
  store: Store,
  query: CoveredQuery,
  { readToMs }: CursorWalk,
  nowMs: number,
): Promise<WalkedPage> {
  const read = await store.coveredPage(query)
  const unbound: WalkedPage = { read, boundMs: undefined }
  const openToMs = readToMs === undefined ? endOfCutStep(query, read.page) : undefined
  if (openToMs === undefined || openToMs <= nowMs - WRITE_DELAY_MS) return unbound
  const boundMs = await writtenTo(store, query, nowMs)
  const fromMs = Math.max(query.range.from, query.position?.ts ?? query.range.from)
  if (openToMs <= boundMs || boundMs <= fromMs) return unbound
  // Must not be older than the coverage that was just read.
  const again = await store.coveredPage({ ...query, range: { ...query.range, to: boundMs }, maxAgeMs: 0 })
  // A walk may end here, but must not begin with an empty page while there are newer rows.
  return again.page.count === 0 && query.position === undefined ? unbound : { read: again, boundMs }
}

/**
 * The exclusive end of the step in which the next page begins, if rows that are still being written there affect it.
 */
function endOfCutStep(query: CoveredQuery, { hasMore, last }: Page): number | undefined {
  const { stepMs, order, position, range, filters } = query
  if (stepMs === undefined || !hasMore || last === undefined) return undefined
  // In a descending walk only the first page can end in such a step. A single series has no other row in the step.
  const isOneSeries = last.instrument === '' || filters?.instruments?.length === 1
  if (order === 'desc' && (position !== undefined || isOneSeries)) return undefined
  return Math.min(Math.ceil(last.ts / stepMs) * stepMs + 1, range.to)
}

/** All rows before this time are written: they were observed, or are older than the maximum delay of recorders. */
async function writtenTo({ coverage }: Store, { feeds }: CoveredQuery, nowMs: number): Promise<number> {
  const { gaps } = await coverage.read(feeds, nowMs - WRITE_DELAY_MS, nowMs)
  return Math.min(nowMs, ...gaps.map((gap) => gap.from))
}

/**
 * The coverage of a page, including what its walk leaves unread before a requested end, because a client that continues
 * from that end would miss it.
 */
export function withUnread(
  { coverage, covered, page }: CoveredPage,
  walk: CursorWalk,
  { query, nowMs, endMs }: { query: CoveredQuery; nowMs: number; endMs: number | undefined },
): { coverage: Coverage; covered: Span } {
  const { readToMs } = walk
  const [feed] = query.feeds
  const isNewest = query.order === 'desc' ? query.position === undefined : !page.hasMore
  const isPast = endMs !== undefined && endMs <= nowMs
  if (feed === undefined || !isPast || !isNewest || readToMs === undefined || readToMs >= endMs)
    return { coverage, covered }
  const isBefore = (gap: Gap) => gap.reason === 'not_observed' && gap.to === readToMs
  const fromMs = Math.min(readToMs, ...coverage.gaps.filter(isBefore).map((gap) => gap.from))
  const unread: Gap = { source: feed.source, from: fromMs, to: endMs, reason: 'not_observed' }
  const gaps = [...coverage.gaps.filter((gap) => !isBefore(gap)), unread]
  return { coverage: { ...coverage, complete: false, gaps }, covered: { from: covered.from, to: endMs } }
}
