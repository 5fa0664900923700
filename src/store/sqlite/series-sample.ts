/**
 * Sampling: per instrument the last row of each step (e - step, e]. The walk jumps from one step that has
 * rows to the next by a seek, and inside a step seeks once per instrument that was active in those hours, so
 * its cost follows the rows it returns and not the rows it skips.
 */
import type { DatabaseSync } from 'node:sqlite'
import { SOURCES, type Source } from '../../core/source.ts'
import type { Position, SeriesQuery } from '../series.ts'
import { spanOf } from './books-block.ts'
import { type GroupReader, lastBefore, lowerBound } from './books-groups.ts'
import { type BookRef, refOf } from './books-rows.ts'
import { HOUR_MS } from './series-append.ts'
import { type Arm, comparePositions, endOf, isAfter } from './series-arms.ts'
import type { StoredRow } from './series-page.ts'

/** What sampling asks of rows, wherever they lie. */
export interface Samples<Row extends { position: Position }> {
  /** Time of the first (last) row of an arm between two times, both included. */
  nearest(arm: Arm, order: 'asc' | 'desc', from: number, to: number): number | undefined
  /** The instruments of a feed that may have rows between two times. */
  instruments(feed: number, from: number, to: number): string[]
  last(arm: Arm, instrument: string, from: number, to: number): Row | undefined
}

export function stepEnd(ts: number, stepMs: number): number {
  return Math.ceil(ts / stepMs) * stepMs
}

export function sampledRows<Row extends { position: Position }>(
  samples: Samples<Row>,
  arms: readonly Arm[],
  query: SeriesQuery & { stepMs: number },
  limit: number,
): Row[] {
  const { stepMs, order } = query
  const ascending = order === 'asc'
  const rangeEnd = endOf(query.range) - 1
  const found: Row[] = []
  let from = query.range.from
  let to = rangeEnd
  if (query.position !== undefined) {
    if (ascending) from = Math.max(from, query.position.ts)
    else to = Math.min(to, query.position.ts)
  }
  while (found.length < limit && from <= to) {
    const times = arms.map((arm) => samples.nearest(arm, order, from, to)).filter((ts) => ts !== undefined)
    if (times.length === 0) break
    const end = stepEnd(ascending ? Math.min(...times) : Math.max(...times), stepMs)
    const low = Math.max(end - stepMs + 1, query.range.from)
    const high = Math.min(end, rangeEnd)
    const inStep: Row[] = []
    for (const arm of arms) {
      const instruments =
        arm.instrument === undefined ? samples.instruments(arm.feed, low, high) : [arm.instrument]
      for (const instrument of instruments) {
        const row = samples.last(arm, instrument, low, high)
        if (row !== undefined) inStep.push(row)
      }
    }
    inStep.sort((a, b) => comparePositions(a.position, b.position) * (ascending ? 1 : -1))
    for (const row of inStep) if (isAfter(row.position, query)) found.push(row)
    if (ascending) from = end + 1
    else to = end - stepMs
  }
  return found.slice(0, limit)
}

/** Samples of snapshots that lie in series_rows; they have no instruments. */
export function plainSamples(database: DatabaseSync): () => Samples<StoredRow> {
  const nearest = {
    asc: database.prepare('SELECT min(ts) AS ts FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ?'),
    desc: database.prepare('SELECT max(ts) AS ts FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ?'),
  }
  const active = database.prepare(
    'SELECT DISTINCT instrument FROM series_active WHERE feed = ? AND hour BETWEEN ? AND ?',
  )
  const last = database.prepare(
    `SELECT ts, seq, text FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ? AND instrument = ?
      ORDER BY ts DESC, seq DESC LIMIT 1`,
  )
  return () => ({
    nearest(arm, order, from, to) {
      const ts = nearest[order].get(arm.feed, from, to)?.ts
      return typeof ts === 'number' ? ts : undefined
    },
    instruments: (feed, from, to) =>
      active
        .all(feed, Math.floor(from / HOUR_MS), Math.floor(to / HOUR_MS))
        .map((row) => String(row.instrument)),
    last(arm, instrument, from, to) {
      const row = last.get(arm.feed, from, to, instrument)
      if (row === undefined) return undefined
      const position = {
        ts: Number(row.ts),
        source: SOURCES[arm.rank] as Source,
        instrument,
        seq: Number(row.seq),
      }
      return { feed: arm.feed, position, text: String(row.text) }
    },
  })
}

/** Samples of snapshots with books. */
export function bookSamples(groups: GroupReader): Samples<BookRef> {
  /** Neighbouring steps lie in the same spans. */
  const lists = new Map<string, string[]>()
  return {
    nearest({ feed, instrument }, order, from, to) {
      const ascending = order === 'asc'
      let span: number | undefined = spanOf(ascending ? from : to)
      for (;;) {
        span = groups.nearestSpan(feed, instrument, order, span)
        if (span === undefined || (ascending ? span > spanOf(to) : span < spanOf(from))) return undefined
        const views =
          instrument === undefined ? groups.views(feed, span) : [groups.view(feed, span, instrument)]
        const times = views.flatMap((view) => {
          if (view === undefined) return []
          const ts = ascending ? view.ts[lowerBound(view.ts, from)] : view.ts[lowerBound(view.ts, to + 1) - 1]
          return ts === undefined || ts < from || ts > to ? [] : [ts]
        })
        if (times.length > 0) return ascending ? Math.min(...times) : Math.max(...times)
        span += ascending ? 1 : -1
      }
    },
    instruments(feed, from, to) {
      const key = `${feed}/${spanOf(from)}/${spanOf(to)}`
      const known = lists.get(key) ?? groups.instruments(feed, spanOf(from), spanOf(to))
      lists.set(key, known)
      return known
    },
    last(arm, instrument, from, to) {
      const edge = { ts: to, seq: Number.MAX_SAFE_INTEGER }
      const found = lastBefore(groups, arm.feed, instrument, edge, from)
      return found && refOf(found.view, found.index, arm.rank)
    },
  }
}
