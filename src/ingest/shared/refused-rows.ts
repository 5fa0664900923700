/**
 * Rows that the store refused, per feed. The time of such a row is a gap until a row of the same key is accepted:
 *
 *   refused ──▶ its time is held: coverage recorded there, before or later, is set aside
 *   accepted, or missing in a later answer of the venue ──▶ the coverage set aside is recorded again
 *
 * A feed does not become final beyond a row that was refused recently, because the row may still be repaired.
 */
import { type Feed, feedName } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { uncovered } from './uncovered.ts'

/** How long a refused row holds back finality. A later repair, by a backfill, changes data that is already final. */
export const HOLDS_FINALITY_MS = 10 * 60_000
/** Above this number, the two oldest entries of a feed are merged into one that spans both. */
const MAX_REFUSED_ROWS = 500
/** A row without a usable time may belong to any moment of this much time before it was refused. */
const UNTIMED_MS = 15_000
/** A book is valid until the next one, which comes within this time. */
const BOOK_VALID_MS = 60_000
const MAX_TIME_MS = 253_402_300_799_999

export type RefusedRows = ReturnType<typeof createRefusedRows>

/** Entries are replaced, never modified, because `snapshot` keeps the earlier ones. */
interface Refused {
  readonly key: string
  readonly instrument: string
  readonly sinceMs: number
  readonly fromMs: number
  readonly toMs: number
  readonly aside: readonly HistoryRange[]
  /** Refused since the venue last answered for this time. */
  readonly isFresh: boolean
}

/** Rows of these datasets are put again with every answer of the venue; trades and books are put only once. */
const PUT_AGAIN: readonly Feed['dataset'][] = ['candles', 'flow', 'open_interest', 'funding']

export const isPutAgain = ({ dataset }: Feed): boolean => PUT_AGAIN.includes(dataset)

const NONE: readonly Refused[] = []

export function createRefusedRows() {
  const feeds = new Map<string, readonly Refused[]>()
  const of = (feed: Feed) => (feeds.size === 0 ? NONE : (feeds.get(feedName(feed)) ?? NONE))

  function keep(feed: Feed, entries: readonly Refused[]): void {
    if (entries.length === 0) feeds.delete(feedName(feed))
    else
      feeds.set(
        feedName(feed),
        entries.toSorted((a, b) => a.fromMs - b.fromMs),
      )
  }

  /** For changes that keep the entries in order of time. */
  function change(feed: Feed, changed: (entry: Refused) => Refused): void {
    const entries = of(feed)
    if (entries.length > 0) feeds.set(feedName(feed), entries.map(changed))
  }

  function add(feed: Feed, row: unknown, nowMs: number): HistoryRange {
    const span = spanOfRow(feed, row, nowMs)
    const key = rowKeyOf(row, span.fromMs)
    const known = of(feed).find((entry) => entry.key === key)
    if (known !== undefined) {
      change(feed, (entry) => (entry === known ? { ...entry, isFresh: true } : entry))
      return known
    }
    const entry: Refused = {
      ...{ key, instrument: instrumentOf(row), sinceMs: nowMs, isFresh: true, aside: [] },
      ...span,
    }
    const entries = [...of(feed), entry]
    if (entries.length > MAX_REFUSED_ROWS) entries.splice(0, 2, joined(entries))
    keep(feed, entries)
    return span
  }

  return {
    get size() {
      return feeds.size
    },
    has: (feed: Feed) => feeds.size > 0 && feeds.has(feedName(feed)),
    /** Returns the time of the row. The caller passes the coverage within it to `setAside`. */
    add,
    /** A row was accepted: returns the time that may be recorded as observed now. */
    taken(feed: Feed, row: unknown): HistoryRange[] {
      const timeMs = timeOf(row)
      const key = rowKeyOf(row, spanOfRow(feed, row, timeMs).fromMs)
      const instrument = instrumentOf(row)
      const freed: HistoryRange[] = []
      const left = of(feed).flatMap((entry) => {
        if (entry.key === key) {
          freed.push(...entry.aside)
          return []
        }
        // A later book ends the validity of the refused one.
        const ends = entry.instrument === instrument && timeMs > entry.fromMs && timeMs < entry.toMs
        if (feed.dataset !== 'snapshots' || !ends) return [entry]
        freed.push(...inside(entry.aside, { fromMs: timeMs, toMs: entry.toMs }))
        const aside = inside(entry.aside, { fromMs: entry.fromMs, toMs: timeMs })
        return [{ ...entry, aside, toMs: timeMs }]
      })
      keep(feed, left)
      return freed.flatMap((range) => uncovered(range, left))
    },
    setAside(feed: Feed, range: HistoryRange) {
      change(feed, (entry) => {
        const [piece] = inside([range], entry)
        return piece === undefined ? entry : { ...entry, aside: withRange(entry.aside, piece) }
      })
    },
    /**
     * Returns the parts of a range that may be recorded as observed, and sets the rest aside. `isAnswer`: all rows of
     * the range were put again.
     */
    clear(feed: Feed, range: HistoryRange, isAnswer: boolean): HistoryRange[] {
      const isWhole = (entry: Refused) => range.fromMs <= entry.fromMs && entry.toMs <= range.toMs
      if (isAnswer && isPutAgain(feed) && feeds.size > 0) {
        const answered = of(feed).filter(isWhole)
        keep(
          feed,
          of(feed).filter((entry) => entry.isFresh || !answered.includes(entry)),
        )
        change(feed, (entry) => (answered.includes(entry) ? { ...entry, isFresh: false } : entry))
      }
      if (of(feed).length === 0) return range.fromMs < range.toMs ? [range] : []
      this.setAside(feed, range)
      return uncovered(range, of(feed)).filter(({ fromMs, toMs }) => fromMs < toMs)
    },
    /** Coverage was retracted, so the part of it that was set aside must not be recorded later. */
    drop(feed: Feed, range: HistoryRange) {
      change(feed, (entry) => ({ ...entry, aside: entry.aside.flatMap((each) => uncovered(each, [range])) }))
    },
    /** Returns a function that restores the present state, for a write that has to be repeated. */
    snapshot(): () => void {
      const saved = new Map(feeds)
      return () => {
        feeds.clear()
        for (const [name, entries] of saved) feeds.set(name, entries)
      }
    },
    /** The instant up to which a feed may become final. */
    finalTo: (feed: Feed, beforeMs: number, nowMs: number) =>
      of(feed)
        .filter(({ sinceMs }) => nowMs - sinceMs < HOLDS_FINALITY_MS)
        .reduce((least, { fromMs }) => Math.min(least, fromMs), beforeMs),
  }
}

function joined([first, second]: readonly Refused[]): Refused {
  const [a, b] = [first as Refused, second as Refused]
  return {
    ...{ key: '', instrument: '', sinceMs: Math.min(a.sinceMs, b.sinceMs), isFresh: true },
    ...{ fromMs: Math.min(a.fromMs, b.fromMs), toMs: Math.max(a.toMs, b.toMs), aside: [] },
  }
}

/** Coverage is recorded second by second, so ranges that touch are merged. */
function withRange(ranges: readonly HistoryRange[], added: HistoryRange): readonly HistoryRange[] {
  const last = ranges.at(-1)
  if (last === undefined || added.fromMs < last.fromMs || added.fromMs > last.toMs) return [...ranges, added]
  return [...ranges.slice(0, -1), { fromMs: last.fromMs, toMs: Math.max(last.toMs, added.toMs) }]
}

function inside(ranges: readonly HistoryRange[], { fromMs, toMs }: HistoryRange): HistoryRange[] {
  return ranges
    .map((range) => ({ fromMs: Math.max(range.fromMs, fromMs), toMs: Math.min(range.toMs, toMs) }))
    .filter((range) => range.fromMs < range.toMs)
}

/** The time that a row of a feed covers. */
export function spanOfRow({ dataset, interval }: Feed, row: unknown, nowMs: number): HistoryRange {
  const timeMs = timeOf(row)
  if (!Number.isFinite(timeMs) || timeMs < 0 || timeMs > MAX_TIME_MS)
    return { fromMs: nowMs - UNTIMED_MS, toMs: nowMs + 1 }
  const candles = (lengthMs: number) => {
    const fromMs = Math.floor(timeMs / lengthMs) * lengthMs
    return { fromMs, toMs: fromMs + lengthMs }
  }
  if (dataset === 'snapshots') return { fromMs: Math.floor(timeMs), toMs: Math.floor(timeMs) + BOOK_VALID_MS }
  if (dataset === 'ticker') return candles(INTERVAL_MS['1s'])
  if (interval !== '') return candles(INTERVAL_MS[interval])
  return candles(1)
}

interface AnyRow {
  readonly time?: unknown
  readonly seq?: unknown
  readonly closed?: unknown
  readonly marketId?: unknown
  readonly tokenId?: unknown
  readonly market?: { readonly marketId?: unknown; readonly tokenId?: unknown }
}

const asRow = (row: unknown) => (typeof row === 'object' && row !== null ? (row as AnyRow) : {})

export function timeOf(row: unknown): number {
  const { time } = asRow(row)
  return typeof time === 'number' ? time : Number.NaN
}

/** Only candles and flow have open rows. */
export const isOpen = (row: unknown): boolean => asRow(row).closed === false

export function instrumentOf(row: unknown): string {
  const { market, tokenId, marketId } = asRow(row)
  return String(market?.tokenId ?? market?.marketId ?? tokenId ?? marketId ?? '')
}

export function rowKeyOf(row: unknown, fromMs: number): string {
  return `${fromMs}/${instrumentOf(row)}/${String(asRow(row).seq ?? '')}`
}
