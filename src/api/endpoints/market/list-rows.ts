import type { EndpointContext, ListAnswer } from '../../../contract/endpoint.ts'
import { previewAnswer, ROW_SEPARATOR } from '../../../contract/envelopes.ts'
import type { Feed } from '../../../core/feed.ts'
import { respell } from '../../../core/rows/row-kinds.ts'
import { formatTime } from '../../../core/time.ts'
import type { BookRequest, Finality, RowFilters, SeriesQuery } from '../../../store/series.ts'
import type { Services } from '../services.ts'
import { type CoverageMeta, coverageMeta } from './coverage-meta.ts'
import {
  type CursorWalk,
  downFromNow,
  readWalk,
  type WalkInput,
  walkBinding,
  writeCursor,
} from './cursor-walk.ts'
import { FINALITY_FRESH_MS } from './feed-facts.ts'
import { readSampledPage, withUnread } from './sampled-walk.ts'

/** What a list endpoint reads from the store. */
export interface RowsRequest {
  readonly feeds: readonly Feed[]
  readonly filters?: RowFilters
  readonly stepMs?: number
  readonly books?: BookRequest
  /** Names that the request spells differently from the store. */
  readonly spell?: readonly { field: 'source' | 'interval'; stored: string; asked: string }[]
  /** Additional meta fields. */
  readonly meta?: Readonly<Record<string, unknown>>
  /** Parameters that are ignored for reasons beyond the declaration. */
  readonly alsoIgnored?: readonly string[]
  readonly endInclusive?: boolean
  /** Moves a start before the first row to the first row. */
  readonly clampToEarliest?: boolean
}

type ListContext = EndpointContext<Readonly<Record<string, unknown>>, Services>

/** [fromMs, toMs). Times are whole milliseconds, so an inclusive end is an exclusive one a millisecond later. */
interface Span {
  fromMs: number
  toMs: number
}

/**
 * Reads one page: rows, cursor, coverage, and whether any of it can still change. A first row that is already known is
 * not awaited, because a microtask would cost more.
 */
export async function listRows(context: ListContext, request: RowsRequest): Promise<ListAnswer> {
  const { services, input, range } = context
  const data = services.market
  if (range === undefined) throw new Error('a list of rows needs a history gate')
  const { limit } = input
  const walk = readWalk(data.cursors, () => walkBinding(context.path, input), input as WalkInput)
  const window = movedStart(context, walk)
  const asked = spanOf(context, walk, window, request)
  const canClamp = request.clampToEarliest === true && mayClamp(walk, window)
  const first = asked.fromMs <= 0 || canClamp ? data.facts.earliest(request.feeds) : undefined
  const firstMs = first instanceof Promise ? await first : first
  const earliest = canClamp ? earliestClamp(asked, firstMs) : undefined
  const span = { ...asked, fromMs: earliest ?? knownStart(walk, asked, firstMs) }
  const query: SeriesQuery = {
    feeds: request.feeds,
    range: { from: span.fromMs, to: span.toMs },
    order: walk.order,
    limit: context.rowLimit,
    ...(walk.position ? { position: walk.position } : {}),
    ...(request.filters ? { filters: request.filters } : {}),
    ...(request.stepMs ? { stepMs: request.stepMs } : {}),
  }
  const clamp = clampMeta(walk, window, earliest)
  if (context.dryRun) return previewAnswer(await data.store.series.count(query), clamp.clamped === true)

  const pageQuery = {
    ...query,
    separator: ROW_SEPARATOR,
    coverageTo: context.nowMs,
    maxAgeMs: FINALITY_FRESH_MS,
    ...(request.books ? { books: request.books } : {}),
  }
  const { nowMs } = context
  const { read, boundMs } =
    request.stepMs === undefined
      ? { read: await data.store.coveredPage(pageQuery), boundMs: undefined }
      : await readSampledPage(data.store, pageQuery, walk, nowMs)
  const { page, finality } = read
  const moved = { ...walk, movedStartMs: window, readToMs: walk.readToMs ?? boundMs }
  const endMs = walk.endMs === undefined ? undefined : Math.max(asked.fromMs, endOf(walk.endMs, request))
  const { coverage: found, covered } = withUnread(read, moved, { query: pageQuery, nowMs, endMs })
  const coverage = spelledGaps(coverageMeta(found, covered, { nowMs, endMs }), request)
  const finalBefore = Math.min(...finality.map((feed) => feed.before))
  const next = request.stepMs === undefined ? moved : downFromNow(moved, nowMs, page.firstTs)
  const capped = page.hasMore && typeof limit === 'number' && context.rowLimit < limit
  const sealed =
    request.feeds.length > 0 &&
    isAnchored(walk, page.hasMore) &&
    boundMs === undefined &&
    covered.to <= finalBefore &&
    coverage.complete &&
    clamp.clamped === null &&
    // The first delta depends on the row before the page.
    request.books?.diffs !== true &&
    !capped
  return {
    kind: 'list',
    rows: request.spell?.length ? spelled(page.text, request) : (page.parts ?? page.text),
    count: page.count,
    hasMore: page.hasMore,
    nextCursor:
      page.hasMore && page.last
        ? writeCursor(data.cursors, walkBinding(context.path, input), next, page.last)
        : null,
    meta: {
      ...echo(context),
      ...clamp,
      ignored: [...context.ignored, ...(request.alsoIgnored ?? [])],
      coverage,
      ...request.meta,
    },
    sealed,
    clamped: clamp.clamped === true,
    coverageComplete: coverage.complete,
    ...(sealed
      ? { isCurrent: currentWhile(context, walk.startMs ?? covered.from, request.feeds, finality) }
      : {}),
  }
}

/**
 * The start of the plan's window if the range starts before it. Later pages of a walk keep the start of its first page,
 * as long as a walk may take. A cursor can come from a larger plan, so its range is checked like a given start.
 */
function movedStart({ range }: ListContext, walk: CursorWalk): number | undefined {
  if (range === undefined || range.earliestMs === 0) return undefined
  const { startMs, movedStartMs } = walk
  const allowedMs = range.earliestMs - range.graceMs
  if (movedStartMs !== undefined && movedStartMs >= allowedMs) return movedStartMs
  if (range.clamp !== undefined) return range.fromMs
  const isOlder = startMs !== undefined && startMs < allowedMs
  return isOlder ? range.earliestMs : undefined
}

/** The range to read: as requested, but not earlier than the plan allows. */
function spanOf(
  { range, nowMs }: ListContext,
  walk: CursorWalk,
  window: number | undefined,
  request: RowsRequest,
): Span {
  const fromMs = window ?? walk.startMs ?? range?.earliestMs ?? 0
  const toMs = endOf(walk.endMs ?? nowMs, request)
  return { fromMs, toMs: Math.max(fromMs, Math.min(toMs, walk.readToMs ?? toMs)) }
}

/** The exclusive end. */
function endOf(endMs: number, { endInclusive = false }: RowsRequest): number {
  return endMs + (endInclusive ? 1 : 0)
}

/**
 * Whether a start before the first row may be moved to it. A start that the plan's window has moved stays there: what
 * is missing between it and the first row is a gap.
 */
function mayClamp(walk: CursorWalk, window: number | undefined): boolean {
  // Every page of a descending walk has the same start.
  const isStart = walk.position === undefined || walk.order === 'desc'
  return window === undefined && walk.startMs !== undefined && isStart
}

function earliestClamp(span: Span, firstMs: number | undefined): number | undefined {
  return firstMs !== undefined && span.fromMs < firstMs && firstMs < span.toMs ? firstMs : undefined
}

/**
 * Without a window and without a start, a range starts at the first row, not in 1970. If there is no row before its
 * end, the range stays as it is: none of it was observed, and the coverage has to show that.
 */
function knownStart(walk: CursorWalk, span: Span, firstMs: number | undefined): number {
  if (span.fromMs > 0 || walk.startMs !== undefined) return span.fromMs
  return firstMs === undefined || firstMs >= span.toMs ? span.fromMs : firstMs
}

/** For a page whose start was not moved. */
export const NOT_CLAMPED = {
  clamped: null,
  clamped_reason: null,
  original_start: null,
  effective_start: null,
}

function clampMeta(walk: CursorWalk, window: number | undefined, earliest: number | undefined) {
  const movedTo = window ?? earliest
  if (movedTo === undefined) return NOT_CLAMPED
  return {
    clamped: true,
    clamped_reason: window === undefined ? 'before_earliest_data' : 'plan_history',
    original_start: formatTime(walk.startMs ?? movedTo),
    effective_start: formatTime(movedTo),
  }
}

/**
 * A sealed page stays current while the epochs of its feeds do not change and its start (or its oldest instant, if it
 * has none) is within the plan's window. The epochs may be as old as the facts allow.
 */
function currentWhile(
  { range, nowMs, services }: ListContext,
  startMs: number,
  feeds: readonly Feed[],
  finality: readonly Finality[],
): NonNullable<ListAnswer['isCurrent']> {
  const earliestMs = range?.earliestMs ?? 0
  const depthMs = earliestMs === 0 ? Number.POSITIVE_INFINITY : nowMs - earliestMs
  const leavesMs = startMs + depthMs
  const { facts } = services.market
  const isSame = (now: readonly Finality[]) => now.every(({ epoch }, at) => epoch === finality[at]?.epoch)
  return (atMs) => {
    if (atMs >= leavesMs) return false
    const now = facts.finality(feeds)
    return now instanceof Promise ? now.then(isSame) : isSame(now)
  }
}

/** Whether neither end of the page moves with the clock. */
function isAnchored(walk: CursorWalk, hasMore: boolean): boolean {
  const begins =
    walk.position !== undefined || (walk.order === 'asc' ? walk.startMs : walk.endMs) !== undefined
  // If a walk stops before the end of its range, how much it leaves out depends on the clock.
  const endMs = walk.readToMs === undefined ? walk.endMs : undefined
  const ends = hasMore || (walk.order === 'asc' ? endMs : walk.startMs) !== undefined
  return begins && ends
}

/** The values as requested, as fixed by the path, or the defaults. */
function echo({ input }: ListContext) {
  return { symbol: input.symbol ?? null, source: input.source ?? null, interval: input.interval ?? null }
}

function spelled(text: string, { spell = [] }: RowsRequest): string {
  return spell.reduce((rows, { field, stored, asked }) => respell(rows, field, stored, asked), text)
}

function spelledGaps(coverage: CoverageMeta, { spell = [] }: RowsRequest): CoverageMeta {
  const source = spell.find(({ field }) => field === 'source')
  if (source === undefined) return coverage
  const spelledGap = (gap: CoverageMeta['gaps'][number]) =>
    gap.source === source.stored ? { ...gap, source: source.asked } : gap
  return { ...coverage, gaps: coverage.gaps.map(spelledGap) }
}
