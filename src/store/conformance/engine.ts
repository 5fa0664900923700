/** What the suite needs to know about an engine, and the small tools that its files share. */

import { type ManualClock, manualClock } from '../../../test/fakes/manual-clock.ts'
import type { Feed } from '../../core/feed.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import type { Source } from '../../core/source.ts'
import type { EnvironmentStore } from '../environment.ts'
import type { PageQuery, Position } from '../series.ts'

export interface OpenedEngine {
  store: EnvironmentStore
  /** Closes the store and opens the same data again. */
  reopen(): Promise<EnvironmentStore>
  /** Closes and removes everything. */
  remove(): Promise<void>
}

export interface Engine {
  name: string
  open(clock: ManualClock): Promise<OpenedEngine>
}

export const START = Date.UTC(2026, 2, 14)

export async function withStore(
  engine: Engine,
  run: (store: EnvironmentStore, opened: OpenedEngine, clock: ManualClock) => Promise<void>,
): Promise<void> {
  const clock = manualClock(START)
  const opened = await engine.open(clock)
  try {
    await run(opened.store, opened, clock)
  } finally {
    await opened.remove()
  }
}

export interface Random {
  /** A whole number in [0, n). */
  below(n: number): number
  pick<T>(values: readonly T[]): T
  shuffle<T>(values: readonly T[]): T[]
}

/** The same numbers for the same seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed
  const below = (n: number) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * n)
  }
  return {
    below,
    pick: (values) => values[below(values.length)] as (typeof values)[number],
    shuffle(values) {
      const mixed = [...values]
      for (let i = mixed.length - 1; i > 0; i--) {
        const j = below(i + 1)
        const held = mixed[i] as (typeof values)[number]
        mixed[i] = mixed[j] as (typeof values)[number]
        mixed[j] = held
      }
      return mixed
    },
  }
}

export const candleFeed = (source: Source, interval: Feed['interval'] = '1m'): Feed<'candles'> => ({
  dataset: 'candles',
  source,
  symbol: 'BTC',
  interval,
})

export function candle(minute: number, changes: Partial<CandleInput> = {}): CandleInput {
  return {
    time: START + minute * 60_000,
    open: '100',
    high: '110.50',
    low: '90',
    close: 105,
    volume: '12.3400',
    closed: true,
    ...changes,
  }
}

/** Walks a query to its end and returns the texts of all rows in order. */
export async function walk(
  store: EnvironmentStore,
  query: Omit<PageQuery, 'separator' | 'position'>,
  between: () => Promise<void> = async () => {},
): Promise<string[]> {
  const rows: string[] = []
  let position: Position | undefined
  for (;;) {
    const page = await store.series.page({ ...query, separator: '\n', ...(position ? { position } : {}) })
    if (page.count > 0) rows.push(...page.text.split('\n'))
    if (!page.hasMore) return rows
    if (page.last === undefined) throw new Error('a page with more rows names its last one')
    position = page.last
    await between()
  }
}
