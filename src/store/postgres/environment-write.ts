/**
 * Implements the port's `write`. Rows are checked and encoded first; then each transaction locks its feeds, writes
 * rows, coverage and markets, and gives the changed feeds their new versions. Writes run one at a time in the order of
 * the calls; while one is written, the next ones are encoded.
 */
import type { Dataset, Feed } from '../../core/feed.ts'
import { feedName } from '../../core/feed.ts'
import { type EncodedMarket, encodeMarket } from '../../core/rows/market.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { isGrouped } from '../books/group.ts'
import type { CoverageChange } from '../coverage.ts'
import {
  type EnvironmentStore,
  type EnvironmentWrite,
  RowsRefusedError,
  StoreClosedError,
  type WriteResult,
} from '../environment.ts'
import { type EncodedRows, encodeBatch } from '../rows/encode.ts'
import type { PackedRows } from '../rows/packed.ts'
import { appendBooks } from './books-write.ts'
import { feedChange, writeCoverage } from './coverage-write.ts'
import type { Database, WriteTransaction } from './database.ts'
import { writeMarkets } from './markets-write.ts'
import { BLOCKS, type Partitions, seriesTable } from './partitions.ts'
import { appendRows } from './series-append.ts'
import {
  createFeeds,
  finalizeFeed,
  type LockedFeed,
  lockFeeds,
  type NamedFeedRow,
  type StateRow,
  writeChanges,
} from './series-feeds.ts'
import type { FeedLookup } from './series-lookup.ts'

/** The content of one transaction. */
interface Piece {
  readonly rows: readonly PackedRows[]
  readonly coverage: readonly CoverageChange[]
  readonly finalize: NonNullable<EnvironmentWrite['finalize']>
  readonly markets: readonly EncodedMarket[]
}

/** How many encoded rows may wait for the database before encoding pauses. */
const MAX_ROWS_WAITING = 40_000
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
  let encoding: Promise<unknown> = Promise.resolve()
  let writing: Promise<unknown> = Promise.resolve()
  let rowsWaiting = 0
  let isEnded = false

  const writePiece = async (piece: Piece): Promise<WriteResult> => {
    await partitions.ensure(timesOf(piece.rows))
    const once = () => database.write((tx) => applyPiece(tx, piece, lookup))
    const { result, created, states } = await once().catch(async (error) => {
      if ((error as { code?: unknown }).code !== NO_PARTITION) throw error
      // Another process has dropped the partition. These rows are as old as the dropped ones, but they are stored.
      partitions.forget()
      await partitions.ensure(timesOf(piece.rows))
      return once()
    })
    lookup.noteWritten(created, states)
    return result
  }

  const writeAll = async (pieces: readonly Piece[]): Promise<WriteResult> => {
    const sum: WriteResult = { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0, markets: 0 }
    for (const piece of pieces) add(sum, await writePiece(piece))
    return sum
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
    if (rowsWaiting >= MAX_ROWS_WAITING) await writing
    const pieces = await encode(write)
    const count = pieces.reduce((sum, { rows }) => sum + countOf(rows), 0)
    rowsWaiting += count
    const written = writing
      .then(() => writeAll(pieces))
      .finally(() => {
        rowsWaiting -= count
      })
    writing = written.catch(() => undefined)
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
      await writing
    },
  }
}

const packsOf = (encoded: readonly EncodedRows[]) => encoded.map(({ packed }) => packed)
const countOf = (rows: readonly PackedRows[]) => rows.reduce((sum, { count }) => sum + count, 0)

function add(sum: WriteResult, each: WriteResult): void {
  for (const count of ['inserted', 'unchanged', 'rewritten', 'corrected', 'markets'] as const)
    sum[count] += each[count]
}

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

interface Applied {
  readonly result: WriteResult
  readonly created: readonly NamedFeedRow[]
  readonly states: readonly StateRow[]
}

async function applyPiece(
  tx: WriteTransaction,
  piece: Piece,
  lookup: Pick<FeedLookup, 'id' | 'forgetMissing'>,
): Promise<Applied> {
  const feeds = feedsOf(piece)
  const ids = new Map(feeds.map((feed) => [feedName(feed), lookup.id(feed)]))
  const unknown = feeds.filter((feed) => ids.get(feedName(feed)) === undefined)
  const created = unknown.length === 0 ? [] : await createFeeds(tx, unknown)
  for (const row of created) ids.set(feedName(row as unknown as Feed), row.id)
  const idOf = (feed: Feed): number => {
    const id = ids.get(feedName(feed))
    if (id === undefined) throw new Error(`feed ${feedName(feed)} could not be created`)
    return id
  }
  const { locked, now } = await lockFeeds(tx, feeds.map(idOf))
  lookup.forgetMissing(feeds.map(idOf), locked)
  const lockedOf = (feed: Feed): LockedFeed => {
    const found = locked.get(idOf(feed))
    if (found === undefined)
      throw new StoreUnavailableError(`Feed ${feedName(feed)} is gone: the next write creates it again.`)
    return found
  }
  const packs = piece.rows.map((rows) => ({ feed: lockedOf(rows.feed), rows }))
  const plain = Map.groupBy(
    packs.filter(({ rows }) => !isGrouped(rows.feed)),
    ({ rows }): Dataset => rows.feed.dataset,
  )
  const grouped = packs.filter(({ rows }) => isGrouped(rows.feed))
  const [markets, ...counts] = await Promise.all([
    writeMarkets(tx, piece.markets),
    appendBooks(tx, grouped, now),
    ...[...plain].map(([dataset, own]) => appendRows(tx, dataset, own, now)),
  ])
  await writeCoverage(
    tx,
    piece.coverage.map((change) => feedChange(lockedOf(change.feed), change)),
  )
  for (const { feed, before } of piece.finalize) finalizeFeed(lockedOf(feed), before)
  const states = await writeChanges(tx, locked.values())
  const result: WriteResult = { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0, markets }
  for (const each of counts) add(result, { ...each, markets: 0 })
  return { result, created, states }
}

function feedsOf({ rows, coverage, finalize }: Piece): Feed[] {
  const feeds = new Map<string, Feed>()
  for (const { feed } of [...rows, ...coverage, ...finalize]) feeds.set(feedName(feed), feed)
  return [...feeds.values()]
}
