import type { DatabaseSync } from 'node:sqlite'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import { StoreClosedError } from '../environment.ts'
import type { SeriesQuery } from '../series.ts'
import type { CoverageReader } from './coverage-read.ts'
import type { FeedLookup } from './series-lookup.ts'
import type { SeriesReader } from './series-read.ts'

const TURN_MS = 4
/** Reads that may wait for the connection: each takes some hundredths of a second, some of them tenths. */
const MAX_WAITING = 64

/**
 * How long a read waits for the writer to begin its log anew, and how long after it waited in vain others do not: twice as
 * long each time, since where nobody can cut the log all of them would wait in vain.
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
 * All of a page is of one state of the file: they have a connection of their own, whose transaction stays open in
 * between, and take it one after another. It is opened by the first of them.
 *
 * The writer begins its log anew when nobody reads from it. While one long read follows another that would never be, and
 * the log would grow: once it is too long, the next of them waits until it was cut.
 *
 * @param open left out for a database in memory, which has one connection that also writes: all is read at once
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

  /** Others may read from it, too, and a writer may have nothing to write: then it does not help to wait. */
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
    /** How long a page may take before it is read here. */
    turnMs: open === undefined ? Number.POSITIVE_INFINITY : TURN_MS,
    inOneState<T>(read: (readers: Readers) => Promise<T>): Promise<T> {
      if (waiting >= MAX_WAITING)
        return Promise.reject(new StoreUnavailableError('Too many long reads wait for their turn.'))
      waiting++
      const result = last.then(() => {
        waiting--
        return run(read)
      })
      last = result.catch(() => {})
      return result
    },
    /** After the read that is under way. */
    close(): Promise<void> {
      closed ??= last.then(() => readers?.database.close())
      return closed
    },
  }
}

export type LongReads = ReturnType<typeof longReads>
