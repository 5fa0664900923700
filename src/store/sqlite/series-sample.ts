/**
 * Sampling: per instrument the last row of each step (e - step, e]. The walk jumps from one step that has
 * rows to the next by a seek, and inside a step seeks once per instrument that was active in those hours, so
 * its cost follows the rows it returns and not the rows it skips.
 */
import type { DatabaseSync } from 'node:sqlite'
import { SOURCES, type Source } from '../../core/source.ts'
import type { Position, SeriesQuery } from '../series.ts'
import { HOUR_MS } from './series-append.ts'
import { type Arm, compareText, endOf, rankOf } from './series-arms.ts'
import type { StoredRow } from './series-page.ts'

export interface SampleReader {
  rows(arms: readonly Arm[], query: SeriesQuery & { stepMs: number }, limit: number): StoredRow[]
}

export function stepEnd(ts: number, stepMs: number): number {
  return Math.ceil(ts / stepMs) * stepMs
}

export function sampleReader(database: DatabaseSync): SampleReader {
  const nearest = {
    asc: {
      all: database.prepare('SELECT min(ts) AS ts FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ?'),
      one: database.prepare(
        `SELECT min(ts) AS ts FROM series_rows INDEXED BY series_rows_by_instrument
          WHERE feed = ? AND ts BETWEEN ? AND ? AND instrument = ? AND instrument <> ''`,
      ),
    },
    desc: {
      all: database.prepare('SELECT max(ts) AS ts FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ?'),
      one: database.prepare(
        `SELECT max(ts) AS ts FROM series_rows INDEXED BY series_rows_by_instrument
          WHERE feed = ? AND ts BETWEEN ? AND ? AND instrument = ? AND instrument <> ''`,
      ),
    },
  }
  const active = database.prepare(
    'SELECT DISTINCT instrument FROM series_active WHERE feed = ? AND hour BETWEEN ? AND ?',
  )
  const lastPlain = database.prepare(
    `SELECT ts, instrument, seq, text FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ? AND instrument = ?
      ORDER BY ts DESC, seq DESC LIMIT 1`,
  )
  const lastOfInstrument = database.prepare(
    `SELECT ts, instrument, seq, text FROM series_rows INDEXED BY series_rows_by_instrument
      WHERE feed = ? AND ts BETWEEN ? AND ? AND instrument = ? AND instrument <> ''
      ORDER BY ts DESC, seq DESC LIMIT 1`,
  )

  const nearestRow = (
    arms: readonly Arm[],
    order: 'asc' | 'desc',
    from: number,
    to: number,
  ): number | undefined => {
    let best: number | undefined
    for (const arm of arms) {
      const found = arm.instrument
        ? nearest[order].one.get(arm.feed, from, to, arm.instrument)
        : nearest[order].all.get(arm.feed, from, to)
      const ts = found?.ts
      if (typeof ts !== 'number') continue
      if (best === undefined || (order === 'asc' ? ts < best : ts > best)) best = ts
    }
    return best
  }

  /** Neighbouring steps lie in the same hours. */
  const activeCache = () => {
    let key = ''
    const lists = new Map<number, string[]>()
    return (feed: number, from: number, to: number): string[] => {
      const first = Math.floor(from / HOUR_MS)
      const last = Math.floor(to / HOUR_MS)
      if (key !== `${first}/${last}`) {
        key = `${first}/${last}`
        lists.clear()
      }
      let list = lists.get(feed)
      if (list === undefined) {
        list = active.all(feed, first, last).map((row) => String(row.instrument))
        lists.set(feed, list)
      }
      return list
    }
  }

  return {
    rows(arms, query, limit) {
      const { stepMs, order } = query
      const ascending = order === 'asc'
      const rangeEnd = endOf(query.range) - 1
      const instrumentsOf = activeCache()
      const found: StoredRow[] = []
      let from = query.range.from
      let to = rangeEnd
      if (query.position !== undefined) {
        if (ascending) from = Math.max(from, query.position.ts)
        else to = Math.min(to, query.position.ts)
      }
      while (found.length < limit && from <= to) {
        const next = nearestRow(arms, order, from, to)
        if (next === undefined) break
        const end = stepEnd(next, stepMs)
        const low = Math.max(end - stepMs + 1, query.range.from)
        const high = Math.min(end, rangeEnd)
        const inStep: StoredRow[] = []
        for (const arm of arms) {
          const instruments =
            arm.instrument === undefined ? instrumentsOf(arm.feed, low, high) : [arm.instrument]
          for (const instrument of instruments) {
            const row = (instrument === '' ? lastPlain : lastOfInstrument).get(
              arm.feed,
              low,
              high,
              instrument,
            )
            if (row === undefined) continue
            const position = {
              ts: Number(row.ts),
              source: SOURCES[arm.rank] as Source,
              instrument,
              seq: Number(row.seq),
            }
            inStep.push({ feed: arm.feed, position, text: String(row.text) })
          }
        }
        inStep.sort((a, b) => comparePositions(a.position, b.position) * (ascending ? 1 : -1))
        for (const row of inStep) if (isAfter(row.position, query)) found.push(row)
        if (ascending) from = end + 1
        else to = end - stepMs
      }
      return found.slice(0, limit)
    },
  }
}

function isAfter(position: Position, query: SeriesQuery): boolean {
  if (query.position === undefined) return true
  const order = comparePositions(position, query.position)
  return query.order === 'asc' ? order > 0 : order < 0
}

function comparePositions(a: Position, b: Position): number {
  return (
    a.ts - b.ts ||
    rankOf(a.source) - rankOf(b.source) ||
    compareText(a.instrument, b.instrument) ||
    a.seq - b.seq
  )
}
