/** The coverage and finality to write with a batch, given which of its rows the store refused. */
import type { Feed } from '../../core/feed.ts'
import type { Clock } from '../../kit/clock.ts'
import { type CoverageChange, type CoverageStore, gap, observed, retracted } from '../../store/coverage.ts'
import type { EnvironmentWrite } from '../../store/environment.ts'
import type { SeriesStore } from '../../store/series.ts'
import { instrumentOf, isPutAgain, type RefusedRows, spanOfRow } from './refused-rows.ts'
import type { CoverageDecision, FeedBatch, RowBatch } from './row-batch.ts'

interface ChangeParts {
  readonly refused: RefusedRows
  readonly clock: Clock
  readonly coverage: Pick<CoverageStore, 'read'>
  readonly series: Pick<SeriesStore, 'finality' | 'count'>
  /** Repeats a read of the store until it succeeds. */
  readonly persist: <T>(work: () => Promise<T>) => Promise<T>
}

export async function batchChanges(
  batch: RowBatch,
  parts: ChangeParts,
): Promise<{ coverage: CoverageChange[]; finalize: NonNullable<EnvironmentWrite['finalize']> }> {
  const { refused, clock, persist } = parts
  const coverage: CoverageChange[] = []
  for (const own of batch.feeds)
    if (concernsRefused(own, refused)) coverage.push(...(await changesOfRefused(own, parts)))
  const finalize: { feed: Feed; before: number }[] = []
  for (const change of batch.changes) {
    if (typeof change === 'function') {
      // Most decisions return at once, and a batch has hundreds of them, so only promises are awaited.
      const made = change()
      coverage.push(...(made instanceof Promise ? await persist(firstWith(made, change)) : made))
    } else {
      const { feed, beforeMs } = change
      finalize.push({ feed, before: refused.finalTo(feed, beforeMs, clock.now()) })
    }
  }
  return { coverage, finalize }
}

/** Repeats a decision; the promise that is already pending serves as its first attempt. */
function firstWith(
  made: Promise<readonly CoverageChange[]>,
  decide: CoverageDecision,
): () => Promise<readonly CoverageChange[]> {
  let first: typeof made | undefined = made
  return async () => {
    const pending = first
    first = undefined
    return pending ?? decide()
  }
}

const concernsRefused = (own: FeedBatch, refused: RefusedRows) =>
  own.refused.size > 0 || own.unmade.length > 0 || refused.has(own.feed)

async function changesOfRefused(own: FeedBatch, parts: ChangeParts): Promise<CoverageChange[]> {
  const { feed } = own
  const { refused } = parts
  const changes: CoverageChange[] = []
  // In the order in which the rows were put, because an earlier row of the same time does not replace one that was
  // refused after it.
  let nextUnmade = 0
  const holdUnmade = async (beforePlace: number) => {
    for (; (own.unmade[nextUnmade]?.place ?? Infinity) <= beforePlace; nextUnmade++)
      changes.push(...(await hold(feed, { time: own.unmade[nextUnmade]?.timeMs }, parts)))
  }
  for (const [place, row] of own.rows.entries()) {
    await holdUnmade(place)
    if (own.refused.has(place)) changes.push(...(await hold(feed, row, parts)))
    else if (refused.has(feed))
      for (const { fromMs, toMs } of refused.taken(feed, row)) changes.push(observed(feed, fromMs, toMs))
  }
  await holdUnmade(own.rows.length)
  return changes
}

/**
 * The time of a refused row becomes a gap; coverage recorded there is set aside. A row that is stored, final and outside
 * of gaps stays as it is: that the venue's answer for it cannot be read now says nothing about the one before.
 */
async function hold(feed: Feed, row: unknown, parts: ChangeParts): Promise<CoverageChange[]> {
  const { refused, clock, coverage, persist } = parts
  if (isPutAgain(feed) && (await persist(() => isSealed(feed, row, parts)))) return []
  const { fromMs, toMs } = refused.add(feed, row, clock.now())
  const known = await persist(() => coverage.read([feed], fromMs, toMs))
  for (const span of known.observed) refused.setAside(feed, { fromMs: span.from, toMs: span.to })
  return [retracted(feed, fromMs, toMs), gap(feed, fromMs, toMs, 'not_observed')]
}

async function isSealed(feed: Feed, row: unknown, parts: ChangeParts): Promise<boolean> {
  const { clock, coverage, series } = parts
  const { fromMs, toMs } = spanOfRow(feed, row, clock.now())
  const [known] = await series.finality([feed])
  if (known === undefined || known.before < toMs) return false
  if (!(await coverage.read([feed], fromMs, toMs)).complete) return false
  const instrument = instrumentOf(row)
  const filters = instrument === '' ? {} : { filters: { instruments: [instrument] } }
  const query = {
    feeds: [feed],
    range: { from: fromMs, to: toMs },
    order: 'asc',
    limit: 1,
    ...filters,
  } as const
  return (await series.count(query)) > 0
}
