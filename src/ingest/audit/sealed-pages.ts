/**
 * Rule: a sealed page does not change. A few random pages that are final and completely covered are remembered as
 * fingerprints of their rows, and read again later:
 *
 *   the same rows                                         ──▶ nothing
 *   rows were corrected, and the remembered ones are among their revisions ──▶ nothing
 *   a row is gone, or has other bytes without a revision  ──▶ its time becomes a gap; the backfill requests it again
 *   a row was added                                       ──▶ reported: the row stays, a cached page lacks it
 *
 * A page is forgotten if it is no longer covered (a gap was found in it), or if retention has deleted a part of it.
 */
import { hash } from 'node:crypto'
import { type Feed, feedName } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { Clock } from '../../kit/clock.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { Revision } from '../../store/series.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { AuditCheck, AuditDifference, SampleStorage } from './audit.ts'
import { pick } from './draw.ts'

const MAX_ROWS = 50
/** A page with this many old versions is not worth reading. */
const MAX_REVISIONS = 200
/** How many rows may have been added to a page since it was remembered. */
const MAX_ADDED = 50
const MAX_SAMPLES = 48
/** Half of the pages are more recent than this, because recent data is read most. */
const RECENT_MS = 6 * 3_600_000
/** A page is read again after this at the earliest. */
const AGAIN_AFTER_MS = 5 * 60_000
/** How often samples are saved; they are also saved when recording ends. */
const SAVE_EVERY_MS = 10 * 60_000

interface SealedPage {
  readonly feed: Feed
  readonly from: number
  readonly to: number
  /** When the page was last seen in this state. */
  seenMs: number
  /** Time and fingerprint of each row. */
  rows: (readonly [timeMs: number, print: string])[]
}

interface ReadPage {
  readonly texts: readonly string[]
  readonly hasMore: boolean
  readonly lastTs: number | undefined
}

export function auditSealedPages(options: {
  readonly feeds: readonly Feed[]
  readonly store: Pick<EnvironmentStore, 'series' | 'coverage'>
  readonly tracker: Pick<CoverageTracker, 'lost'>
  readonly clock: Clock
  readonly random: () => number
  readonly samples?: SampleStorage | undefined
}): AuditCheck & { close(): Promise<void> } {
  const { feeds, store, tracker, clock, random } = options
  const { series, coverage } = store
  let pages: SealedPage[] | undefined
  let savedMs = clock.now()
  let hasNews = false

  async function remembered(): Promise<SealedPage[]> {
    pages ??= await loadPages(options.samples, feeds)
    return pages
  }

  async function save(): Promise<void> {
    if (pages === undefined || !hasNews || options.samples === undefined) return
    hasNews = false
    savedMs = clock.now()
    await options.samples.save(JSON.stringify(pages))
  }

  async function readPage(feed: Feed, from: number, to: number, limit: number): Promise<ReadPage> {
    const page = await series.page({
      ...{ feeds: [feed], range: { from, to }, order: 'asc', limit, separator: '\n' },
    })
    const texts = page.count === 0 ? [] : page.text.split('\n')
    return { texts, hasMore: page.hasMore, lastTs: page.lastTs }
  }

  /** Undefined if rows or coverage changed between the reads, or the range is not final and complete. */
  async function readSealed(
    feed: Feed,
    from: number,
    to: number,
    limit: number,
  ): Promise<(ReadPage & { readonly to: number }) | undefined> {
    const [before] = await series.finality([feed])
    if (before === undefined || before.before < to) return undefined
    const page = await readPage(feed, from, to, limit)
    // The rows of the last instant may be incomplete.
    const endMs = page.hasMore ? (page.lastTs ?? from) : to
    if (endMs <= from) return undefined
    const texts = page.hasMore ? page.texts.filter((text) => timeOf(text) < endMs) : page.texts
    const { complete } = await coverage.read([feed], from, endMs)
    const [after] = await series.finality([feed])
    return complete && after?.epoch === before.epoch ? { ...page, texts, to: endMs } : undefined
  }

  /** Remembers another page. */
  async function sample(known: SealedPage[]): Promise<boolean> {
    const feed = pick(feeds, random)
    if (feed === undefined) return false
    const { dataset, source, symbol, interval } = feed
    const [info] = await series.feeds({ dataset, source, symbol, interval })
    if (info?.firstTs === undefined || info.before <= info.firstTs) return false
    const spanMs = info.before - info.firstTs
    const backMs = random() < 0.5 ? Math.min(RECENT_MS, spanMs) : spanMs
    const from = Math.floor(info.before - random() * backMs)
    const read = await readSealed(feed, from, info.before, MAX_ROWS)
    if (read === undefined || read.texts.length === 0) return false
    known.push({ feed, from, to: read.to, seenMs: clock.now(), rows: printsOf(read.texts) })
    // The oldest make room, so that in the end all of the past is sampled.
    if (known.length > MAX_SAMPLES) known.shift()
    hasNews = true
    return true
  }

  async function examine(page: SealedPage): Promise<readonly AuditDifference[] | 'forget' | 'later'> {
    const { feed, from, to } = page
    const { dataset, source, symbol, interval } = feed
    const [info] = await series.feeds({ dataset, source, symbol, interval })
    if (info?.firstTs === undefined || info.firstTs > from) return 'forget'
    const covered = await coverage.read([feed], from, to)
    if (!covered.complete) return 'forget'
    const read = await readSealed(feed, from, to, page.rows.length + MAX_ADDED)
    if (read === undefined) return 'later'
    if (read.to < to) {
      pages?.splice(pages.indexOf(page), 1)
      const what = `more than ${MAX_ADDED} rows were added to a sealed page`
      return [{ what, action: 'reported', feed, fromMs: from, toMs: to }]
    }
    const now = printsOf(read.texts)
    if (areSame(now, page.rows)) return []
    const revisions = await series.revisions({ feeds: [feed], range: { from, to }, limit: MAX_REVISIONS })
    if (revisions.length === MAX_REVISIONS) return 'forget'
    const differences = differencesOf(page, now, revisions)
    for (const { action, fromMs, toMs } of differences)
      if (action === 'gap' && fromMs !== undefined && toMs !== undefined)
        tracker.lost(feed, fromMs, toMs, 'not_observed')
    page.rows = now
    return differences
  }

  /** Ignores when a row was corrected: if its old versions are known, the change is explained. */
  function differencesOf(
    { feed, rows }: SealedPage,
    now: SealedPage['rows'],
    revisions: readonly Revision[],
  ): AuditDifference[] {
    const printsNow = new Set([
      ...now.map(([, print]) => print),
      ...revisions.map(({ text }) => printOf(text)),
    ])
    const printsThen = new Set(rows.map(([, print]) => print))
    const corrected = new Set(revisions.map(({ position }) => position.ts))
    // Old versions of books have all levels, pages do not, so the texts cannot be compared; that a revision exists is
    // enough.
    const isKnown = ([timeMs, print]: SealedPage['rows'][number]) =>
      printsNow.has(print) || (feed.dataset === 'snapshots' && corrected.has(timeMs))
    const lost = new Set(rows.filter((row) => !isKnown(row)).map(([timeMs]) => timeMs))
    const added = now.filter(
      ([timeMs, print]) => !printsThen.has(print) && !lost.has(timeMs) && !corrected.has(timeMs),
    )
    return [
      ...[...lost].map(
        (timeMs): AuditDifference => ({
          ...{ feed, fromMs: timeMs, toMs: timeMs + lengthOf(feed), action: 'gap' },
          what: 'a row of a sealed page changed or is gone, without a revision',
        }),
      ),
      ...added.map(
        ([timeMs]): AuditDifference => ({
          ...{ feed, fromMs: timeMs, toMs: timeMs + lengthOf(feed), action: 'reported' },
          what: 'a row was added to a sealed page',
        }),
      ),
    ]
  }

  return {
    kind: 'sealed',
    weight: 2,
    async run() {
      const known = await remembered()
      if (hasNews && clock.now() - savedMs >= SAVE_EVERY_MS) await save()
      const due = known.filter(({ seenMs }) => clock.now() - seenMs >= AGAIN_AFTER_MS)
      const page = random() < 0.7 ? pick(due, random) : undefined
      if (page === undefined) return (await sample(known)) ? [] : null
      const found = await examine(page)
      if (found === 'later') return null
      if (found === 'forget') known.splice(known.indexOf(page), 1)
      else page.seenMs = clock.now()
      hasNews = true
      return found === 'forget' ? null : found
    },
    close: save,
  }
}

function lengthOf({ interval, dataset }: Feed): number {
  if (dataset === 'snapshots' || interval === '') return 1
  return INTERVAL_MS[interval]
}

/** Every row begins with its time. */
const TIME_AT = '{"timestamp":"'.length
const TIME_LENGTH = '2026-03-14T04:00:00.000Z'.length

const timeOf = (text: string): number => Date.parse(text.slice(TIME_AT, TIME_AT + TIME_LENGTH))
const printOf = (text: string): string => hash('sha1', text, 'base64').slice(0, 12)
const printsOf = (texts: readonly string[]) => texts.map((text) => [timeOf(text), printOf(text)] as const)

/** The order of rows of one instant does not count. */
function areSame(a: SealedPage['rows'], b: SealedPage['rows']): boolean {
  if (a.length !== b.length) return false
  const prints = (rows: SealedPage['rows']) => rows.map(([, print]) => print).sort()
  const others = prints(b)
  return prints(a).every((print, index) => print === others[index])
}

async function loadPages(samples: SampleStorage | undefined, feeds: readonly Feed[]): Promise<SealedPage[]> {
  const text = await samples?.load().catch(() => undefined)
  if (text === undefined) return []
  const names = new Set(feeds.map(feedName))
  try {
    // A file that is damaged, or was written by another version of this program, proves nothing.
    return (JSON.parse(text) as SealedPage[]).filter(
      ({ feed, from, to, seenMs, rows }) =>
        names.has(feedName(feed)) && from < to && Number.isFinite(seenMs) && Array.isArray(rows),
    )
  } catch {
    return []
  }
}
