/**
 * Implements the port's `write`. Rows are checked and encoded first; then each transaction locks its feeds, writes
 * rows, coverage and markets, and gives the changed feeds their new versions. Writes run in the order of the calls;
 * while one is written, the next ones are encoded.
 *
 *   write ──encoded──▶ waiting ──those of different feeds together──▶ one transaction
 *
 * All recorders write at the same instants, and most of what a short write takes is its transaction.
 */
import { encodeMarket } from '../../core/rows/market.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { isGrouped } from '../books/group.ts'
import {
  type EnvironmentStore,
  type EnvironmentWrite,
  RowsRefusedError,
  StoreClosedError,
  type WriteResult,
} from '../environment.ts'
import { LeaseLostError } from '../leases.ts'
import { type EncodedRows, encodeBatch } from '../rows/encode.ts'
import type { PackedRows } from '../rows/packed.ts'
import { addResult, applyPieces, emptyResult, feedsOfPieces, type Piece } from './apply-pieces.ts'
import type { Database } from './database.ts'
import { BLOCKS, type Partitions, seriesTable } from './partitions.ts'
import type { FeedLookup } from './series-lookup.ts'

/** An encoded write that waits for its turn. */
interface WaitingWrite {
  readonly pieces: readonly Piece[]
  readonly rows: number
  /** The names of everything that it changes. */
  readonly changes: ReadonlySet<string>
  done(result: WriteResult): void
  failed(reason: unknown): void
}

/** How many encoded rows may wait for the database before encoding pauses. */
const MAX_ROWS_WAITING = 40_000
/** Writes share a transaction up to this number of rows. */
const MAX_ROWS_TOGETHER = 8_000
const NO_PARTITION = '23514'

export interface EnvironmentWriter {
  readonly write: EnvironmentStore['write']
  /** Refuses further writes and resolves once all accepted ones are done. */
  end(): Promise<void>
}

export function environmentWriter(parts: {
  database: Database
  lookup: FeedLookup
  partitions: Partitions
  holdMs: number
}): EnvironmentWriter {
  const { database, lookup, partitions, holdMs } = parts
  const waiting: WaitingWrite[] = []
  let encoding: Promise<unknown> = Promise.resolve()
  /** Resolves when the write that was accepted last is done. */
  let lastWrite: Promise<unknown> = Promise.resolve()
  let rowsWaiting = 0
  let isWriting = false
  let isEnded = false

  /** One transaction; returns the result of each piece. */
  const writeTogether = async (pieces: readonly Piece[]): Promise<readonly WriteResult[]> => {
    const times = () => partitions.ensure(timesOf(pieces.flatMap(({ rows }) => rows)))
    await times()
    const once = () => database.write((tx) => applyPieces(tx, pieces, lookup))
    const { results, created, states } = await once().catch(async (error) => {
      if ((error as { code?: unknown }).code !== NO_PARTITION) throw error
      // Another process has dropped the partition. These rows are as old as the dropped ones, but they are stored.
      partitions.forget()
      await times()
      return once()
    })
    lookup.noteWritten(created, states)
    return results
  }

  const writeAlone = async ({ pieces, done, failed }: WaitingWrite): Promise<void> => {
    try {
      const sum = emptyResult()
      for (const piece of pieces) for (const result of await writeTogether([piece])) addResult(sum, result)
      done(sum)
    } catch (error) {
      failed(error)
    }
  }

  const writeGroup = async (group: readonly WaitingWrite[]): Promise<void> => {
    if (group.length > 1) {
      try {
        const results = await writeTogether(group.flatMap(({ pieces }) => pieces))
        for (const [i, { done }] of group.entries()) done(results[i] ?? emptyResult())
        return
      } catch (error) {
        if (isOfServer(error)) {
          for (const { failed } of group) failed(error)
          return
        }
        // Only one of them is the reason.
      }
    }
    for (const each of group) await writeAlone(each)
  }

  const writeWaiting = async (): Promise<void> => {
    if (isWriting) return
    isWriting = true
    while (waiting.length > 0) {
      const group = waiting.splice(0, togetherIn(waiting))
      await writeGroup(group)
      rowsWaiting -= group.reduce((sum, { rows }) => sum + rows, 0)
    }
    isWriting = false
  }

  const encode = async (write: EnvironmentWrite): Promise<Piece[]> => {
    const { rows = [], coverage = [], finalize = [], markets = [] } = write
    const encodedMarkets = markets.map(encodeMarket)
    const { transactions, refused } = await encodeBatch(rows, holdMs)
    if (refused.length > 0) throw new RowsRefusedError(refused)
    const last = transactions.pop() ?? []
    return [
      ...transactions.map((encoded) => ({ rows: packsOf(encoded), coverage: [], finalize: [], markets: [] })),
      { rows: packsOf(last), coverage, finalize, markets: encodedMarkets },
    ]
  }

  /** Resolves with the promise of the result as soon as the write has its place in the queue. */
  const accept = async (write: EnvironmentWrite): Promise<{ written: Promise<WriteResult> }> => {
    if (rowsWaiting >= MAX_ROWS_WAITING) await lastWrite
    const pieces = await encode(write)
    const rows = pieces.reduce((sum, { rows }) => sum + countOf(rows), 0)
    rowsWaiting += rows
    const written = new Promise<WriteResult>((done, failed) => {
      waiting.push({ pieces, rows, changes: changesOf(pieces), done, failed })
    })
    lastWrite = written.catch(() => undefined)
    void writeWaiting()
    return { written }
  }

  return {
    async write(write) {
      if (isEnded) throw new StoreClosedError()
      const accepted = encoding.then(() => accept(write))
      encoding = accepted.catch(() => undefined)
      return (await accepted).written
    },
    async end() {
      isEnded = true
      await encoding
      await lastWrite
    },
  }
}

/** How many of the waiting writes share the next transaction: short ones that change different things. */
function togetherIn(waiting: readonly WaitingWrite[]): number {
  const changed = new Set<string>()
  let rows = 0
  for (const [i, write] of waiting.entries()) {
    rows += write.rows
    const isAlone =
      write.pieces.length > 1 || rows > MAX_ROWS_TOGETHER || !changed.isDisjointFrom(write.changes)
    if (isAlone) return Math.max(1, i)
    for (const name of write.changes) changed.add(name)
  }
  return waiting.length
}

/** Names of feeds, and one that stands for all markets. */
function changesOf(pieces: readonly Piece[]): Set<string> {
  const names = pieces.flatMap((piece) => [
    ...feedsOfPieces([piece]).keys(),
    ...(piece.markets.length > 0 ? ['markets'] : []),
  ])
  return new Set(names)
}

/** Whether the server or the lease is the reason, and not what was to be written. */
function isOfServer(error: unknown): boolean {
  return (
    error instanceof StoreUnavailableError ||
    error instanceof LeaseLostError ||
    error instanceof StoreClosedError
  )
}

const packsOf = (encoded: readonly EncodedRows[]) => encoded.map(({ packed }) => packed)
const countOf = (rows: readonly PackedRows[]) => rows.reduce((sum, { count }) => sum + count, 0)

/** The tables that the rows go to, each with the months of their times. */
function timesOf(rows: readonly PackedRows[]): Map<string, Set<number>> {
  const needed = new Map<string, Set<number>>()
  for (const { feed, ts } of rows) {
    const table = isGrouped(feed) ? BLOCKS : seriesTable(feed.dataset)
    const times = needed.get(table) ?? new Set<number>()
    needed.set(table, times)
    for (const each of ts) times.add(monthStart(each))
  }
  return needed
}

let lastMonth = { from: 0, to: 0 }
/** Rows of one write are mostly from one month, so the last month is remembered. */
function monthStart(ts: number): number {
  if (ts >= lastMonth.from && ts < lastMonth.to) return lastMonth.from
  const date = new Date(ts)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  lastMonth = { from: Date.UTC(year, month), to: Date.UTC(year, month + 1) }
  return lastMonth.from
}
