import type { DatabaseSync } from 'node:sqlite'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import { StoreClosedError } from '../environment.ts'
import type { SeriesQuery } from '../series.ts'
import type { CoverageReader } from './coverage-read.ts'
import type { FeedLookup } from './series-lookup.ts'
import type { SeriesReader } from './series-read.ts'

const TURN_MS = 4
/** Maximum number of reads that wait for the connection: samples, which may take hundreds of milliseconds each, … */
const MAX_WAITING_SAMPLES = 64
/** … and pages of rows, which take tens. All of them are read within a request's time. */
const MAX_WAITING_PAGES = 512

/**
 * How long a read waits for the writer to restart its log, and how long the following reads skip this wait after it was
 * in vain. The pause doubles each time, because if nothing can truncate the log every read would wait in vain.
 */
const LOG_WAIT = { pollMs: 10, maxMs: 1_000, pauseMs: 10_000, maxPauseMs: 5 * 60_000 }

/** The readers of one connection. */
export interface Readers {
  readonly database: DatabaseSync
  readonly reader: SeriesReader
  readonly lookup: FeedLookup
  readonly coverage: CoverageReader
}

/**
 * Samples of many markets, and pages that cannot be read in one turn, are read in turns with other work of the thread.
 * A page must come from one state of the file, so these reads share a separate connection, whose transaction stays open
 * between turns, and use it one after another. The first of them opens it.
 *
 * The writer restarts its log only when nobody reads from it. One long read after another would prevent that and let
 * the log grow, so once it is too long, the next read waits until it was truncated.
 *
 * @param open undefined for a database in memory, whose only connection also writes: everything is read at once
 */
export function longReads(
  open: (() => Readers) | undefined,
  { clock, isLogTooLong }: { clock: Clock; isLogTooLong: () => boolean },
) {
  let readers: Readers | undefined
  let closed: Promise<void> | undefined
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let pauseMs = LOG_WAIT.pauseMs
  let nextWaitMs = Number.NEGATIVE_INFINITY

  /** The wait is bounded, because others may read from the log, too, and the writer may have nothing to write. */
  const letLogEnd = async (): Promise<void> => {
    const sinceMs = elapsedMs(clock)
    while (isLogTooLong()) {
      const nowMs = elapsedMs(clock)
      if (nowMs < nextWaitMs || closed !== undefined) return
      if (nowMs - sinceMs >= LOG_WAIT.maxMs) {
        nextWaitMs = nowMs + pauseMs
        pauseMs = Math.min(2 * pauseMs, LOG_WAIT.maxPauseMs)
        return
      }
      await clock.sleep(LOG_WAIT.pollMs)
    }
    pauseMs = LOG_WAIT.pauseMs
    nextWaitMs = Number.NEGATIVE_INFINITY
  }

  const run = async <T>(read: (readers: Readers) => Promise<T>): Promise<T> => {
    if (closed !== undefined) throw new StoreClosedError()
    if (open === undefined) throw new Error('a database in memory is read at once')
    readers ??= open()
    await letLogEnd()
    const { database } = readers
    database.exec('BEGIN')
    try {
      return await read(readers)
    } finally {
      if (database.isTransaction) database.exec('COMMIT')
    }
  }

  return {
    /** Whether a page takes long in most cases. */
    isFor: ({ stepMs }: SeriesQuery) => open !== undefined && stepMs !== undefined,
    /** How long a page may take on the main connection before it is read here. */
    turnMs: open === undefined ? Number.POSITIVE_INFINITY : TURN_MS,
    inOneState<T>({ stepMs }: SeriesQuery, read: (readers: Readers) => Promise<T>): Promise<T> {
      if (waiting >= (stepMs === undefined ? MAX_WAITING_PAGES : MAX_WAITING_SAMPLES))
        return Promise.reject(new StoreUnavailableError('Too many long reads wait for their turn.'))
      waiting++
      const result = last.then(() => {
        waiting--
        return run(read)
      })
      last = result.catch(() => {})
      return result
    },
    /** Waits for the read that is in progress. */
    close(): Promise<void> {
      closed ??= last.then(() => readers?.database.close())
      return closed
    },
  }
}

export type LongReads = ReturnType<typeof longReads>
