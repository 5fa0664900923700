/** Reads coverage together with the state of its feeds: both are needed to tell what was observed. */
import type { Feed } from '../../core/feed.ts'
import type { Coverage } from '../coverage.ts'
import type { Finality } from '../series.ts'
import { coverageOf, fillGaps, type StoredSpan } from '../spans/coverage-spans.ts'
import { arrayOf } from './columns.ts'
import { type Queries, type Statement, statement } from './database.ts'
import { servedNumber } from './series-feeds.ts'

/** A feed as it was when it was read. */
export interface StoredFeedState {
  readonly id: number
  readonly before: number
  readonly epoch: number
  readonly version: number
  readonly observedFrom: number | null
  readonly openFrom: number | null
  readonly openTo: number | null
  /** Of its rows. */
  readonly firstTs: number | null
  readonly lastTs: number | null
}

/** What a statement selects of feeds and spans, each as one JSON text. */
export interface CoverageColumns {
  readonly states: string | null
  readonly spans: string | null
}

/** How many feeds or instruments a statement is made for: the next of these sizes, so that there are few statements. */
const SIZES = [1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 200]
export function sizeFor(count: number): number {
  return SIZES.find((size) => size >= count) ?? count
}

/** Selects the states of the feeds in a parameter. */
export function statesColumn(feeds: string): string {
  return `(SELECT json_agg(json_build_array(id, final_before, ${servedNumber('epoch')}, ${servedNumber('version')}, observed_from, open_from, open_to,
        first_ts, last_ts))::text
      FROM feeds WHERE id = ANY (${feeds}::bigint[])) AS states`
}

/**
 * Selects the spans of the feeds in a parameter, from `low` to `high`. One range per feed: the span that holds `low`,
 * and those that begin before `high`.
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

/** The states of the feeds and their spans in [low, high), of one moment. */
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

/** The feeds of a statement; those that it has room for beyond are none. */
export function feedsFor(ids: readonly number[]): string {
  return arrayOf([...ids, ...new Array<number>(sizeFor(ids.length) - ids.length).fill(-1)])
}

type StateRow = [number, number, number, number, ...(number | null)[]]
type SpanRow = [number, number, number, StoredSpan['state']]

/** Feeds and their spans, all of one moment. */
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

  /** Whether no span of these feeds was needed to know what was observed from a time on. */
  isKnownFrom(ids: readonly number[], from: number): boolean {
    return ids.every((id) => from >= (this.states.get(id)?.openFrom ?? Number.POSITIVE_INFINITY))
  }

  finality(feed: Feed, id: number | undefined): Finality {
    const { before = 0, epoch = 0, version = 0 } = (id === undefined ? undefined : this.states.get(id)) ?? {}
    return { feed, before, epoch, version }
  }

  /** The coverage of [from, to), which is inside what was read. */
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
