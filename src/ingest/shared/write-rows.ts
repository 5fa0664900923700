/**
 * How rows and coverage reach the store.
 *
 *   put, observed, gap, final ──▶ waiting (bounded) ──every flushEveryMs, or when full──▶ one write of the store
 *
 * Rows, coverage and finality of a flush are written together: there is never coverage without its rows. When the
 * store fails, the same write is tried again; meanwhile `ready` holds the recorders back, which in turn stop reading
 * their sockets.
 *
 * A row that the store refuses is left out, and the others are written. Its own time becomes a gap, and neither
 * coverage nor finality passes over it (refused-rows.ts).
 */
import { type Feed, feedName } from '../../core/feed.ts'
import type { RowError } from '../../core/rows/row-error.ts'
import type { FeedRows, RowInputs } from '../../core/rows/row-kinds.ts'
import { backoffMs } from '../../kit/backoff.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import { type CoverageChange, type GapReason, gap, observed, retracted } from '../../store/coverage.ts'
import {
  type EnvironmentStore,
  type EnvironmentWrite,
  RowsRefusedError,
  StoreClosedError,
} from '../../store/environment.ts'
import { createRefusedRows } from './refused-rows.ts'

export const MAX_WAITING_ROWS = 50_000
const FLUSH_EVERY_MS = 200
const FLUSH_AT_ROWS = 4_000
const RETRY = { baseMs: 100, capMs: 5_000 }
/** Of many refused rows only the first ones are logged. */
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
  /** This time was not observed, for a known reason. */
  gap(feed: Feed, fromMs: number, toMs: number, reason: GapReason): void
  /** Changes of coverage that depend on what is stored when everything put before is written. */
  change(change: Change): void
  /** Resolves when there is room for more. */
  ready(): Promise<void>
  /** Resolves when everything put so far is durable, its coverage included. */
  flush(): Promise<void>
  stats(): RowWriterStats
  close(): Promise<void>
}

interface RowWriterStats {
  readonly inserted: number
  readonly corrected: number
  readonly refused: number
  readonly waiting: number
  /** Why the store does not take rows at present; null while it does. */
  readonly failure: string | null
}

type Change = () => readonly CoverageChange[] | Promise<readonly CoverageChange[]>

interface FeedLoad {
  readonly feed: Feed
  readonly rows: unknown[]
  /** Rows that were not even put. */
  readonly refused: { timeMs: number; error: RowError }[]
}

interface Load {
  feeds: Map<string, FeedLoad>
  rows: number
  /** Coverage, decided when the rows are written, and finality. */
  changes: (Change | { feed: Feed; beforeMs: number })[]
}

/** A row that cannot be stored, for the dead letters. */
export interface RefusedRow {
  readonly feed: Feed
  readonly row: unknown
  readonly error: RowError
}

export function createRowWriter(options: {
  store: Pick<EnvironmentStore, 'write' | 'coverage'>
  clock: Clock
  log: Logger
  onRefused?: (refused: RefusedRow) => void
}): RowWriter {
  const { store, clock, log } = options
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
        if (error instanceof StoreClosedError || error instanceof RowsRefusedError || closed) throw error
        failure = error instanceof Error ? error.message : String(error)
        log.error({ err: error }, 'rows could not be written')
        await clock.sleep(backoffMs(RETRY, attempt), stop.signal)
      }
    }
  }

  async function write(current: Load): Promise<void> {
    const errors = new Map<FeedLoad, Map<number, RowError>>()
    for (;;) {
      const undo = refused.snapshot()
      try {
        const changes = await changesOf(current, errors)
        const result = await persist(() => store.write({ rows: rowsWithout(current, errors), ...changes }))
        counts.inserted += result.inserted
        counts.corrected += result.corrected
        return
      } catch (error) {
        if (!(error instanceof RowsRefusedError)) throw error
        undo()
        noteRefused(current, errors, error.refused)
      }
    }
  }

  function noteRefused(
    { feeds }: Load,
    errors: Map<FeedLoad, Map<number, RowError>>,
    rows: RowsRefusedError['refused'],
  ): void {
    counts.refused += rows.length
    for (const { feed, error } of rows.slice(0, MAX_LOGGED))
      log.error({ feed: feedName(feed), err: error }, 'a row was refused')
    // Places are those among the rows that were written, which lacked the rows refused before.
    const before = new Map([...errors].map(([own, known]) => [own, [...known.keys()].sort((a, b) => a - b)]))
    for (const { feed, index, error } of rows) {
      const own = feeds.get(feedName(feed))
      if (own === undefined) continue
      let place = index
      for (const earlier of before.get(own) ?? []) if (earlier <= place) place++
      const known = errors.get(own) ?? new Map<number, RowError>()
      errors.set(own, known.set(place, error))
      options.onRefused?.({ feed, row: own.rows[place], error })
    }
  }

  /** What is recorded beside the rows, given the rows that are refused. */
  async function changesOf(
    { feeds, changes }: Load,
    errors: ReadonlyMap<FeedLoad, ReadonlyMap<number, RowError>>,
  ): Promise<{ coverage: CoverageChange[]; finalize: NonNullable<EnvironmentWrite['finalize']> }> {
    const coverage: CoverageChange[] = []
    for (const own of feeds.values()) coverage.push(...(await changesOfRefused(own, errors.get(own))))
    const finalize: { feed: Feed; before: number }[] = []
    for (const change of changes) {
      if (typeof change === 'function') coverage.push(...(await persist(async () => change())))
      else {
        const { feed, beforeMs } = change
        finalize.push({ feed, before: refused.finalTo(feed, beforeMs, clock.now()) })
      }
    }
    return { coverage, finalize }
  }

  async function changesOfRefused(
    { feed, rows, refused: unmade }: FeedLoad,
    errors: ReadonlyMap<number, RowError> | undefined,
  ): Promise<CoverageChange[]> {
    if (errors === undefined && unmade.length === 0 && !refused.has(feed)) return []
    const changes: CoverageChange[] = []
    for (const { timeMs } of unmade) changes.push(...(await hold(feed, { time: timeMs })))
    for (const [index, row] of rows.entries()) {
      if (errors?.has(index)) changes.push(...(await hold(feed, row)))
      else if (refused.has(feed))
        for (const { fromMs, toMs } of refused.taken(feed, row)) changes.push(observed(feed, fromMs, toMs))
    }
    return changes
  }

  /** The time of a refused row becomes a gap; what was observed there is set aside. */
  async function hold(feed: Feed, row: unknown): Promise<CoverageChange[]> {
    const { fromMs, toMs } = refused.add(feed, row, clock.now())
    const known = await persist(() => store.coverage.read([feed], fromMs, toMs))
    for (const span of known.observed) refused.setAside(feed, { fromMs: span.from, toMs: span.to })
    return [retracted(feed, fromMs, toMs), gap(feed, fromMs, toMs, 'not_observed')]
  }

  async function drain(): Promise<void> {
    while (load.rows > 0 || load.changes.length > 0) {
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
    change: (change) => void load.changes.push(change),
    observed(feed, fromMs, toMs, isAnswer = false) {
      if (toMs <= fromMs) return
      load.changes.push(() =>
        refused
          .clear(feed, { fromMs, toMs }, isAnswer)
          .map((piece) => observed(feed, piece.fromMs, piece.toMs)),
      )
    },
    unobserved(feed, fromMs, toMs) {
      if (toMs <= fromMs) return
      load.changes.push(() => {
        refused.drop(feed, { fromMs, toMs })
        return [retracted(feed, fromMs, toMs)]
      })
    },
    gap(feed, fromMs, toMs, reason) {
      if (toMs > fromMs) load.changes.push(() => [gap(feed, fromMs, toMs, reason)])
    },
    final: (feed, beforeMs) => void load.changes.push({ feed, beforeMs }),
    async ready() {
      while (load.rows + inFlight >= MAX_WAITING_ROWS && !closed)
        await new Promise<void>((resolve) => blocked.push(resolve))
    },
    async flush() {
      while (load.rows > 0 || load.changes.length > 0 || flushing !== undefined) await flush()
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

function rowsWithout(
  { feeds }: Load,
  errors: ReadonlyMap<FeedLoad, ReadonlyMap<number, RowError>>,
): FeedRows[] {
  return [...feeds.values()]
    .map((own) => {
      const refused = errors.get(own)
      return refused === undefined
        ? own
        : { ...own, rows: own.rows.filter((_, index) => !refused.has(index)) }
    })
    .filter(({ rows }) => rows.length > 0)
    .map(({ feed, rows }) => ({ feed, rows }) as unknown as FeedRows)
}

function emptyLoad(): Load {
  return { feeds: new Map(), rows: 0, changes: [] }
}
