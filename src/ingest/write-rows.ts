/**
 * The one way of rows into the store.
 *
 *   put ──▶ waiting (bounded) ──every flushEveryMs, or when full──▶ append ──▶ the actions put after them
 *
 * Actions (coverage, finality) run only when every row put before them is durable: a crash may leave rows
 * without coverage, which a backfill closes, but never coverage without rows. A store that fails is asked again
 * with the same rows; meanwhile `ready` holds the recorders back, which in turn stop reading their sockets.
 */
import { type Feed, feedName } from '../core/feed.ts'
import type { FeedRows, RowInputs } from '../core/rows/row-kinds.ts'
import { backoffMs } from '../kit/backoff.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import { StoreClosedError } from '../store/environment.ts'
import type { SeriesStore } from '../store/series.ts'

export const MAX_WAITING_ROWS = 50_000
const FLUSH_EVERY_MS = 200
const FLUSH_AT_ROWS = 4_000
const RETRY = { baseMs: 100, capMs: 5_000 }

export interface RowWriter {
  put<D extends Feed['dataset']>(feed: Feed<D>, rows: readonly RowInputs[D][]): void
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

interface Load {
  feeds: Map<string, { feed: Feed; rows: unknown[] }>
  rows: number
  actions: (() => Promise<unknown>)[]
}

export function createRowWriter(options: { series: SeriesStore; clock: Clock; log: Logger }): RowWriter {
  const { series, clock, log } = options
  const stop = new AbortController()
  const counts = { inserted: 0, corrected: 0, refused: 0 }
  let load = emptyLoad()
  let inFlight = 0
  let failure: string | null = null
  let flushing: Promise<void> | undefined
  let blocked: (() => void)[] = []
  let closed = false

  async function write({ feeds, actions }: Load): Promise<void> {
    const batch = [...feeds.values()] as unknown as FeedRows[]
    for (let attempt = 0; batch.length > 0; attempt++) {
      try {
        const result = await series.append(batch, { refused: 'skip' })
        counts.inserted += result.inserted
        counts.corrected += result.corrected
        counts.refused += result.refused.length
        for (const { feed, error } of result.refused.slice(0, 3))
          log.error({ feed: feedName(feed), err: error }, 'a row was refused')
        failure = null
        break
      } catch (error) {
        if (error instanceof StoreClosedError || closed) throw error
        failure = error instanceof Error ? error.message : String(error)
        log.error({ err: error }, 'rows could not be written')
        await clock.sleep(backoffMs(RETRY, attempt), stop.signal)
      }
    }
    const done = await Promise.allSettled(actions.map((action) => action()))
    for (const outcome of done)
      if (outcome.status === 'rejected' && !closed)
        log.error({ err: outcome.reason }, 'coverage could not be written')
  }

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
      const name = feedName(feed)
      const entry = load.feeds.get(name)
      if (entry === undefined) load.feeds.set(name, { feed, rows: [...rows] })
      else for (const row of rows) entry.rows.push(row)
      load.rows += rows.length
      if (load.rows >= FLUSH_AT_ROWS && flushing === undefined) quietly()
    },
    after: (action) => void load.actions.push(action),
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
