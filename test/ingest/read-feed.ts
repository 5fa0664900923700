/** Stored rows and recorded gaps of a feed, for comparisons with what really happened. */

import type { Feed, FeedInterval } from '../../src/core/feed.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import type { TestExchanges } from '../sandbox/start.ts'
import { EXCHANGES, type SandboxVenue } from './recording.ts'

export type Row = Record<string, unknown> & { timestamp: string }

export interface Range {
  readonly fromMs: number
  readonly toMs: number
}

export interface Subject {
  readonly store: EnvironmentStore
  readonly truth: TestExchanges['truth']
  readonly venue: SandboxVenue
  readonly symbol: AssetSymbol
  readonly range: Range
  /** Whether a bar of flow may have been built without the trades that it counts. */
  readonly mayLackCounts?: (fromMs: number, toMs: number) => boolean
  /** The range of a feed, where feeds are judged over different ones. */
  readonly rangeOf?: ((dataset: Feed['dataset'], interval: FeedInterval) => Range) | undefined
  /** Times in which nothing was sent though nothing is wrong, as far as a recorder can know. */
  readonly quietOf?: (dataset: Feed['dataset'], interval: FeedInterval) => readonly Range[]
  /** A moment of the machine, on the clock of the recording: 0 where nothing depends on arrival. */
  readonly slackMs: number
  /** By how much the venue's clock was ahead of ours at times; what it sends without a time is then that new. */
  readonly aheadMs?: number
  /** Both at an instant, where they are not the same at all times; then the others are the most of them. */
  readonly slackAt?: (timeMs: number) => { readonly slackMs: number; readonly aheadMs: number }
}

export interface Read {
  readonly rows: Row[]
  readonly name: string
  /** Whether some of a range lies in a recorded gap. */
  inGap(fromMs: number, toMs: number): boolean
}

export async function readRows(store: EnvironmentStore, feed: Feed, { fromMs, toMs }: Range): Promise<Row[]> {
  const page = await store.series.page({
    feeds: [feed],
    range: { from: fromMs, to: toMs },
    order: 'asc',
    limit: 200_000,
    separator: ',',
  })
  return JSON.parse(`[${page.text}]`) as Row[]
}

export async function readGaps(store: EnvironmentStore, feed: Feed, { fromMs, toMs }: Range) {
  return (await store.coverage.read([feed], fromMs, toMs)).gaps
}

export const timeOf = (row: Row) => Date.parse(row.timestamp)
export const at = (timeMs: number) => new Date(timeMs).toISOString().slice(11)

/** The rows of the range, the gaps of the range and of `aroundMs` before it. */
export async function read(
  subject: Subject,
  dataset: Feed['dataset'],
  interval: FeedInterval = '',
  aroundMs = 0,
): Promise<Read> {
  const { store, venue, symbol, range } = subject
  const feed: Feed = { dataset, source: EXCHANGES[venue].source, symbol, interval }
  const around = { fromMs: range.fromMs - aroundMs, toMs: range.toMs }
  const rows = await readRows(store, feed, around)
  const gaps = await readGaps(store, feed, around)
  const quiet = subject.quietOf?.(dataset, interval) ?? []
  return {
    rows,
    inGap: (fromMs, toMs) =>
      gaps.some((gap) => gap.from < toMs && gap.to > fromMs) ||
      quiet.some((range) => range.fromMs < toMs && range.toMs > fromMs),
    name: `${dataset} ${venue} ${symbol} ${interval}`.trim(),
  }
}

/** A text for each instant that is there more than once, or not on the grid. */
export function offGrid({ rows, name }: Read, gridMs: number): string[] {
  const seen = new Set<number>()
  const wrong: string[] = []
  for (const row of rows) {
    const timeMs = timeOf(row)
    if (timeMs % gridMs !== 0) wrong.push(`${name}: ${at(timeMs)} is off the grid`)
    if (seen.has(timeMs)) wrong.push(`${name}: ${at(timeMs)} is there twice`)
    seen.add(timeMs)
  }
  return wrong
}
