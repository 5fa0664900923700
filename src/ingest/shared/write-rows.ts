/**
 * How rows and coverage reach the store.
 *
 *   put, observed, gap, final ──▶ waiting (bounded) ──once a second, or when full──▶ one write of the store
 *
 * Rows, coverage and finality of a flush are written together, so coverage never exists without its rows. When the
 * store fails, the write is tried again, with only the last version of each row; meanwhile `ready` holds back the
 * recorders, which in turn stop reading their sockets.
 *
 * A row that the store refuses is left out, and the others are written. The time of the refused row becomes a gap, and
 * neither coverage nor finality extends over it (refused-rows.ts), unless a row of this time is stored and final.
 */
import { type Feed, feedName } from '../../core/feed.ts'
import type { RowInputs } from '../../core/rows/row-kinds.ts'
import { backoffMs } from '../../kit/backoff.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import { type GapReason, gap, observed, retracted } from '../../store/coverage.ts'
import { type EnvironmentStore, RowsRefusedError, StoreClosedError } from '../../store/environment.ts'
import { LeaseLostError } from '../../store/leases.ts'
import { batchChanges } from './batch-changes.ts'
import { createRefusedRows } from './refused-rows.ts'
import { type CoverageDecision, type RefusedRow, RowBatch } from './row-batch.ts'

export const MAX_WAITING_ROWS = 50_000
const FLUSH_EVERY_MS = 1_000
const FLUSH_AT_ROWS = 2_000
/** Short, so that waiting rows are written soon after the store is back. */
const RETRY = { baseMs: 100, capMs: 2_000 }
/** If many rows are refused, only the first ones are logged. */
const MAX_LOGGED = 3

export interface RowWriter {
  put<D extends Feed['dataset']>(feed: Feed<D>, rows: readonly RowInputs[D][]): void
  /**
   * Records that there is no row at this time because its input was refused. It becomes a gap, as if the row itself had
   * been refused.
   */
  refuse(feed: Feed, timeMs: number): void
  /** Records this time as observed. `isAnswer`: all of it was requested from the venue, and every row of it was put. */
  observed(feed: Feed, fromMs: number, toMs: number, isAnswer?: boolean): void
  /** Retracts coverage. */
  unobserved(feed: Feed, fromMs: number, toMs: number): void
  /** Rows of a feed before an instant will not change any more. */
  final(feed: Feed, beforeMs: number): void
  /** Records that this time was not observed, for a known reason. */
  gap(feed: Feed, fromMs: number, toMs: number, reason: GapReason): void
  /** Coverage changes that depend on what is stored after everything put before has been written. */
  change(change: CoverageDecision): void
  /** Resolves when there is room for more. */
  ready(): Promise<void>
  /** Resolves when everything put so far is durable, including its coverage. */
  flush(): Promise<void>
  stats(): RowWriterStats
  close(): Promise<void>
}

interface RowWriterStats {
  readonly inserted: number
  readonly corrected: number
  readonly refused: number
  readonly waiting: number
  /** Why the store does not accept rows at present; null while it does. */
  readonly failure: string | null
}

/** Coverage changes count as well, because they also come without rows while a venue sends unreadable data. */
const waitingIn = (batch: RowBatch) => batch.size + batch.changes.length

export function createRowWriter(options: {
  store: Pick<EnvironmentStore, 'write' | 'coverage' | 'series'>
  clock: Clock
  random: () => number
  log: Logger
  onRefused?: (refused: RefusedRow) => void
}): RowWriter {
  const { store, clock, random, log } = options
  const refused = createRefusedRows()
  const stop = new AbortController()
  const counts = { inserted: 0, corrected: 0, refused: 0 }
  let batch = new RowBatch()
  /** Size of the batch that is being written: its rows, and its rows and coverage changes together. */
  let inFlight = { rows: 0, all: 0 }
  let failure: string | null = null
  let flushing: Promise<void> | undefined
  let blocked: (() => void)[] = []
  let closed = false

  /** Repeats the work until it succeeds, so that a temporary failure of the store loses nothing. */
  async function persist<T>(work: (attempt: number) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await work(attempt)
        failure = null
        return result
      } catch (error) {
        if (error instanceof StoreClosedError || error instanceof RowsRefusedError || closed) throw error
        failure = error instanceof Error ? error.message : String(error)
        // Another process records now; whatever that process did not receive is a gap in its recording.
        if (error instanceof LeaseLostError) throw error
        log.error({ err: error }, 'rows could not be written')
        await clock.sleep(backoffMs(RETRY, attempt, random), stop.signal)
      }
    }
  }

  /** Repeats the write until none of the batch's remaining rows is refused. */
  async function write(batch: RowBatch): Promise<void> {
    for (;;) {
      const undo = refused.snapshot()
      try {
        const { coverage, series } = store
        const changes = await batchChanges(batch, { refused, clock, coverage, series, persist })
        const result = await persist((attempt) => {
          if (attempt === 1) batch.leaveOutReplaced()
          return store.write({ rows: batch.acceptedRows(), ...changes })
        })
        counts.inserted += result.inserted
        counts.corrected += result.corrected
        return
      } catch (error) {
        if (!(error instanceof RowsRefusedError)) throw error
        undo()
        counts.refused += error.refused.length
        for (const { feed, error: reason } of error.refused.slice(0, MAX_LOGGED))
          log.error({ feed: feedName(feed), err: reason }, 'a row was refused')
        for (const row of batch.markRefused(error.refused)) options.onRefused?.(row)
      }
    }
  }

  async function drain(): Promise<void> {
    while (!batch.isEmpty) {
      const current = batch
      batch = new RowBatch()
      inFlight = { rows: current.size, all: waitingIn(current) }
      try {
        await write(current)
      } finally {
        inFlight = { rows: 0, all: 0 }
        admit()
      }
    }
  }

  function admit(): void {
    if (waitingIn(batch) + inFlight.all >= MAX_WAITING_ROWS && !closed) return
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
      // All recorders flush at the same instants, so that their rows share one transaction.
      await clock.sleep(FLUSH_EVERY_MS - (clock.now() % FLUSH_EVERY_MS), stop.signal)
      quietly()
    }
  }
  run().catch(() => {})

  return {
    put(feed, rows) {
      if (rows.length === 0) return
      batch.put(feed, rows)
      if (batch.size >= FLUSH_AT_ROWS && flushing === undefined) quietly()
    },
    refuse: (feed, timeMs) => batch.refuse(feed, timeMs),
    change: (change) => void batch.changes.push(change),
    observed(feed, fromMs, toMs, isAnswer = false) {
      if (toMs <= fromMs) return
      batch.changes.push(() =>
        refused
          .clear(feed, { fromMs, toMs }, isAnswer)
          .map((piece) => observed(feed, piece.fromMs, piece.toMs)),
      )
    },
    unobserved(feed, fromMs, toMs) {
      if (toMs <= fromMs) return
      batch.changes.push(() => {
        refused.drop(feed, { fromMs, toMs })
        return [retracted(feed, fromMs, toMs)]
      })
    },
    gap(feed, fromMs, toMs, reason) {
      if (toMs > fromMs) batch.changes.push(() => [gap(feed, fromMs, toMs, reason)])
    },
    final: (feed, beforeMs) => void batch.changes.push({ feed, beforeMs }),
    async ready() {
      while (waitingIn(batch) + inFlight.all >= MAX_WAITING_ROWS && !closed)
        await new Promise<void>((resolve) => blocked.push(resolve))
    },
    async flush() {
      while (!batch.isEmpty || flushing !== undefined) await flush()
    },
    stats: () => ({ ...counts, waiting: batch.size + inFlight.rows, failure }),
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
