/** Reads coverage together with the state of its feeds, because both are needed to decide what was observed. */
import type { Feed } from '../../core/feed.ts'
import type { Coverage } from '../coverage.ts'
import type { Finality } from '../series.ts'
import { coverageOf, fillGaps, type StoredSpan } from '../spans/coverage-spans.ts'
import { arrayOf } from './columns.ts'
import { type Queries, type Statement, statement } from './database.ts'
import { servedNumber } from './series-feeds.ts'

/** The state of a feed when it was read. */
export interface StoredFeedState {
  readonly id: number
  readonly before: number
  readonly epoch: number
  readonly version: number
  readonly observedFrom: number | null
  readonly openFrom: number | null
  readonly openTo: number | null
  /** The times of its first and last row. */
  readonly firstTs: number | null
  readonly lastTs: number | null
}

/** The feeds and spans that a statement selects, each as one JSON text. */
export interface CoverageColumns {
  readonly states: string | null
  readonly spans: string | null
}

/** Statements are made for these numbers of feeds or instruments, rounded up, so that there are few of them. */
const SIZES = [1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 200]
export function sizeFor(count: number): number {
  return SIZES.find((size) => size >= count) ?? count
}

const STATE = `json_build_array(id, final_before, ${servedNumber('epoch')}, ${servedNumber('version')}, observed_from,
        open_from, open_to, first_ts, last_ts)`

/** The column with the states of the feeds in a parameter. */
export function statesColumn(feeds: string): string {
  return `(SELECT json_agg(${STATE})::text FROM feeds WHERE id = ANY (${feeds}::bigint[])) AS states`
}

/** The same for a single feed. */
export function stateColumn(feed: string): string {
  return `(SELECT json_build_array(${STATE})::text FROM feeds WHERE id = ${feed}::bigint) AS states`
}

/**
 * The column with the spans of the feeds in a parameter, from `low` to `high`. Each feed has one range: the span that
 * contains `low`, and those that begin before `high`.
 */
export function spansColumn(feeds: string, count: number, low: string, high: string): string {
  const arms = Array.from({ length: count }, (_, i) => {
    const own = `feed_id = (${feeds}::bigint[])[${i + 1}]`
    return `(SELECT feed_id, from_ts, to_ts, state FROM coverage_spans WHERE ${own} AND from_ts < ${high} AND from_ts >=
      coalesce((SELECT max(from_ts) FROM coverage_spans WHERE ${own} AND from_ts <= ${low}), ${low}))`
  })
  return `(SELECT json_agg(json_build_array(feed_id, from_ts, to_ts, state) ORDER BY feed_id, from_ts)::text
      FROM (${arms.join(' UNION ALL ')}) s) AS spans`
}

const statements = new Map<number, Statement>()

function statementFor(size: number): Statement {
  const known = statements.get(size)
  if (known !== undefined) return known
  const made = statement(
    `coverage_${size}`,
    `SELECT ${statesColumn('$1')}, ${spansColumn('$1', size, '$2::bigint', '$3::bigint')}`,
  )
  statements.set(size, made)
  return made
}

/** The states of the feeds and their spans in [low, high), all of one moment. */
export async function readCoverage(
  queries: Queries,
  ids: readonly number[],
  low: number,
  high: number,
): Promise<ReadFeeds> {
  if (ids.length === 0) return new ReadFeeds({ states: null, spans: null })
  const [row] = await queries.rows<CoverageColumns>(statementFor(sizeFor(ids.length)), [
    feedsFor(ids),
    low,
    high,
  ])
  return new ReadFeeds(row ?? { states: null, spans: null })
}

/** The feed ids for a statement, padded with -1 to its size. */
export function feedsFor(ids: readonly number[]): string {
  return arrayOf([...ids, ...new Array<number>(sizeFor(ids.length) - ids.length).fill(-1)])
}

type StateRow = [number, number, number, number, ...(number | null)[]]
type SpanRow = [number, number, number, StoredSpan['state']]

export class ReadFeeds {
  readonly states = new Map<number, StoredFeedState>()
  readonly #spans = new Map<number, StoredSpan[]>()

  constructor({ states, spans }: CoverageColumns) {
    for (const [id, before, epoch, version, ...times] of JSON.parse(states ?? '[]') as StateRow[]) {
      const [observedFrom = null, openFrom = null, openTo = null, firstTs = null, lastTs = null] = times
      const state = { id, before, epoch, version, observedFrom, openFrom, openTo, firstTs, lastTs }
      this.states.set(id, state)
    }
    for (const [feed, from, to, state] of JSON.parse(spans ?? '[]') as SpanRow[]) {
      const own = this.#spans.get(feed) ?? []
      this.#spans.set(feed, own)
      own.push({ from, to, state })
    }
    for (const { id, openFrom, openTo } of this.states.values()) {
      if (openFrom === null || openTo === null) continue
      const own = this.#spans.get(id) ?? []
      this.#spans.set(id, own)
      own.push({ from: openFrom, to: openTo, state: 'observed' })
    }
  }

  /** Whether the open spans of these feeds alone show what was observed from this time on. */
  isKnownFrom(ids: readonly number[], from: number): boolean {
    return ids.every((id) => from >= (this.states.get(id)?.openFrom ?? Number.POSITIVE_INFINITY))
  }

  finality(feed: Feed, id: number | undefined): Finality {
    const { before = 0, epoch = 0, version = 0 } = (id === undefined ? undefined : this.states.get(id)) ?? {}
    return { feed, before, epoch, version }
  }

  /** The coverage of [from, to), which must lie within what was read. */
  coverage(
    feeds: readonly Feed[],
    idOf: (feed: Feed) => number | undefined,
    from: number,
    to: number,
  ): Coverage {
    const spansOf = (feed: Feed): StoredSpan[] => {
      const id = idOf(feed)
      const state = id === undefined ? undefined : this.states.get(id)
      if (state === undefined) return [{ from, to, state: 'not_observed' }]
      const inside = (this.#spans.get(state.id) ?? []).filter((span) => span.to > from && span.from < to)
      return fillGaps(inside, from, to, state.observedFrom ?? undefined)
    }
    return coverageOf(feeds, spansOf, from, to)
  }
}
