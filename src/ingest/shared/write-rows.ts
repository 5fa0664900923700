/**
 * The one way of rows into the store.
 *
 *   put ──▶ waiting (bounded) ──every flushEveryMs, or when full──▶ append ──▶ the actions put after them
 *
 * Actions (coverage, finality) run only when every row put before them is durable: a crash may leave rows
 * without coverage, which a backfill closes, but never coverage without rows. A store that fails is asked again
 * with the same rows; meanwhile `ready` holds the recorders back, which in turn stop reading their sockets.
 *
 * A row that the store refuses leaves its neighbours alone. Its own time becomes a gap before any action runs, and
 * neither coverage nor finality passes over it (refused-rows.ts).
 */
import { type Feed, feedName } from '../../core/feed.ts'
import type { RowError } from '../../core/rows/row-error.ts'
import type { FeedRows, RowInputs } from '../../core/rows/row-kinds.ts'
import { backoffMs } from '../../kit/backoff.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import { StoreClosedError } from '../../store/environment.ts'
import type { AppendResult, SeriesStore } from '../../store/series.ts'
import { createRefusedRows } from './refused-rows.ts'

export const MAX_WAITING_ROWS = 50_000
const FLUSH_EVERY_MS = 200
const FLUSH_AT_ROWS = 4_000
const RETRY = { baseMs: 100, capMs: 5_000 }
/** Of a flood of refused rows the first ones say enough. */
const MAX_LOGGED = 3

export interface RowWriter {
  put<D extends Feed['dataset']>(feed: Feed<D>, rows: readonly RowInputs[D][]): void
  /** There is no row at this time, because what it is made of was refused: a gap, as if it were refused itself. */
  refuse(feed: Feed, timeMs: number, error: RowError): void
  /** This time was observed. `isAnswer`: the venue was asked for all of it, and every row of it was put. */
  observed(feed: Feed, fromMs: number, toMs: number, isAnswer?: boolean): void
  /** Takes an observation back. */
  unobserved(feed: Feed, fromMs: number, toMs: number): void
  /** Rows of a feed before an instant will not change any more. */
  final(feed: Feed, beforeMs: number): void
  /** Runs when everything put before is durable. Its failure is logged, not thrown. */
  after(action: () => Promise<unknown>): void
  /** Resolves when there is room for more. */
  ready(): Promise<void>
  /** Resolves when everything put so far is durable and its actions have run. */
  flush(): Promise<void>
  stats(): RowWriterStats
  close(): Promise<void>
}

export interface RowWriterStats {
  readonly inserted: number
  readonly corrected: number
  readonly refused: number
  readonly waiting: number
  /** Why the store does not take rows at present; null while it does. */
  readonly failure: string | null
}

interface FeedLoad {
  readonly feed: Feed
  readonly rows: unknown[]
  /** Rows that were not even put. */
  readonly refused: { timeMs: number; error: RowError }[]
}

interface Load {
  feeds: Map<string, FeedLoad>
  rows: number
  actions: (() => Promise<unknown>)[]
}

/** A row that cannot be stored, for whoever keeps such things. */
export interface RefusedRow {
  readonly feed: Feed
  readonly row: unknown
  readonly error: RowError
}

export function createRowWriter(options: {
  series: SeriesStore
  coverage: CoverageStore
  clock: Clock
  log: Logger
  onRefused?: (refused: RefusedRow) => void
}): RowWriter {
  const { series, coverage, clock, log } = options
  const refused = createRefusedRows()
  const stop = new AbortController()
  const counts = { inserted: 0, corrected: 0, refused: 0 }
  let load = emptyLoad()
  let inFlight = 0
  let failure: string | null = null
  let flushing: Promise<void> | undefined
  let blocked: (() => void)[] = []
  let closed = false

  /** Until it succeeds: a store that fails for a while loses nothing. */
  async function persist<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await work()
        failure = null
        return result
      } catch (error) {
        if (error instanceof StoreClosedError || closed) throw error
        failure = error instanceof Error ? error.message : String(error)
        log.error({ err: error }, 'rows could not be written')
        await clock.sleep(backoffMs(RETRY, attempt), stop.signal)
      }
    }
  }

  async function write({ feeds, actions }: Load): Promise<void> {
    const loads = [...feeds.values()]
    const batch = loads.filter(({ rows }) => rows.length > 0) as unknown as FeedRows[]
    if (batch.length > 0) {
      const result = await persist(() => series.append(batch, { refused: 'skip' }))
      counts.inserted += result.inserted
      counts.corrected += result.corrected
      counts.refused += result.refused.length
      for (const { feed, error } of result.refused.slice(0, MAX_LOGGED))
        log.error({ feed: feedName(feed), err: error }, 'a row was refused')
      for (const each of loads) await settleRefused(each, result.refused)
    } else for (const each of loads) await settleRefused(each, [])
    const done = await Promise.allSettled(actions.map((action) => action()))
    for (const outcome of done)
      if (outcome.status === 'rejected' && !closed)
        log.error({ err: outcome.reason }, 'coverage could not be written')
  }

  async function settleRefused(
    { feed, rows, refused: unmade }: FeedLoad,
    all: AppendResult['refused'],
  ): Promise<void> {
    const own = all.filter((each) => feedName(each.feed) === feedName(feed))
    if (own.length === 0 && unmade.length === 0 && !refused.has(feed)) return
    const errors = new Map(own.map(({ index, error }) => [index, error]))
    for (const { timeMs } of unmade) await hold(feed, { time: timeMs })
    for (const [index, row] of rows.entries()) {
      const error = errors.get(index)
      if (error === undefined) {
        if (refused.has(feed)) for (const range of refused.taken(feed, row)) await free(feed, range)
        continue
      }
      options.onRefused?.({ feed, row, error })
      await hold(feed, row)
    }
  }

  async function hold(feed: Feed, row: unknown): Promise<void> {
    const { fromMs, toMs } = refused.add(feed, row, clock.now())
    await persist(async () => {
      const { observed } = await coverage.read([feed], fromMs, toMs)
      for (const span of observed) refused.setAside(feed, { fromMs: span.from, toMs: span.to })
      await coverage.retract(feed, fromMs, toMs)
      await coverage.recordGap(feed, fromMs, toMs, 'not_observed')
    })
  }

  const free = (feed: Feed, { fromMs, toMs }: { fromMs: number; toMs: number }) =>
    persist(() => coverage.record(feed, fromMs, toMs))

  async function drain(): Promise<void> {
    while (load.rows > 0 || load.actions.length > 0) {
      const current = load
      load = emptyLoad()
      inFlight = current.rows
      try {
        await write(current)
      } finally {
        inFlight = 0
        admit()
      }
    }
  }

  function admit(): void {
    if (load.rows + inFlight >= MAX_WAITING_ROWS && !closed) return
    const waiting = blocked
    blocked = []
    for (const resume of waiting) resume()
  }

  function flush(): Promise<void> {
    flushing ??= drain().finally(() => {
      flushing = undefined
    })
    return flushing
  }

  function loadOf(feed: Feed): FeedLoad {
    const name = feedName(feed)
    const known = load.feeds.get(name)
    if (known !== undefined) return known
    const entry: FeedLoad = { feed, rows: [], refused: [] }
    load.feeds.set(name, entry)
    return entry
  }

  const quietly = () => void flush().catch((error) => log.error({ err: error }, 'rows were not written'))

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      await clock.sleep(FLUSH_EVERY_MS, stop.signal)
      quietly()
    }
  }
  run().catch(() => {})

  return {
    put(feed, rows) {
      if (rows.length === 0) return
      const entry = loadOf(feed)
      for (const row of rows) entry.rows.push(row)
      load.rows += rows.length
      if (load.rows >= FLUSH_AT_ROWS && flushing === undefined) quietly()
    },
    refuse(feed, timeMs, error) {
      loadOf(feed).refused.push({ timeMs, error })
      load.rows += 1
    },
    after: (action) => void load.actions.push(action),
    observed(feed, fromMs, toMs, isAnswer = false) {
      if (toMs <= fromMs) return
      load.actions.push(() =>
        Promise.all(
          refused
            .clear(feed, { fromMs, toMs }, isAnswer)
            .map((piece) => coverage.record(feed, piece.fromMs, piece.toMs)),
        ),
      )
    },
    unobserved(feed, fromMs, toMs) {
      if (toMs <= fromMs) return
      load.actions.push(() => {
        refused.drop(feed, { fromMs, toMs })
        return coverage.retract(feed, fromMs, toMs)
      })
    },
    final(feed, beforeMs) {
      load.actions.push(() => series.finalize(feed, refused.finalTo(feed, beforeMs, clock.now())))
    },
    async ready() {
      while (load.rows + inFlight >= MAX_WAITING_ROWS && !closed)
        await new Promise<void>((resolve) => blocked.push(resolve))
    },
    async flush() {
      while (load.rows > 0 || load.actions.length > 0 || flushing !== undefined) await flush()
    },
    stats: () => ({ ...counts, waiting: load.rows + inFlight, failure }),
    async close() {
      try {
        await this.flush()
      } finally {
        closed = true
        stop.abort()
        admit()
      }
    },
  }
}

function emptyLoad(): Load {
  return { feeds: new Map(), rows: 0, actions: [] }
}
