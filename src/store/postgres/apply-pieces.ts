/**
 * The content of a transaction: its feeds are locked, rows, coverage and markets are written, and the changed feeds get
 * their new versions.
 */
import { type Dataset, type Feed, feedName } from '../../core/feed.ts'
import type { EncodedMarket } from '../../core/rows/market.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { isGrouped } from '../books/group.ts'
import type { CoverageChange } from '../coverage.ts'
import type { EnvironmentWrite, WriteResult } from '../environment.ts'
import type { PackedRows } from '../rows/packed.ts'
import { appendBooks } from './books-write.ts'
import { feedChange, writeCoverage } from './coverage-write.ts'
import type { WriteTransaction } from './database.ts'
import { writeMarkets } from './markets-write.ts'
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

/** What is written in one transaction: a whole write, or a part of a very long one. */
export interface Piece {
  readonly rows: readonly PackedRows[]
  readonly coverage: readonly CoverageChange[]
  readonly finalize: NonNullable<EnvironmentWrite['finalize']>
  readonly markets: readonly EncodedMarket[]
}

interface Applied {
  /** Of each piece. */
  readonly results: readonly WriteResult[]
  readonly created: readonly NamedFeedRow[]
  readonly states: readonly StateRow[]
}

/** Several pieces have no feed in common, and at most one has markets. */
export async function applyPieces(
  tx: WriteTransaction,
  pieces: readonly Piece[],
  lookup: Pick<FeedLookup, 'id' | 'forgetMissing'>,
): Promise<Applied> {
  const feeds = feedsOfPieces(pieces)
  const ids = new Map([...feeds].map(([name, feed]) => [name, lookup.id(feed)]))
  const unknown = [...feeds].flatMap(([name, feed]) => (ids.get(name) === undefined ? [feed] : []))
  const created = unknown.length === 0 ? [] : await createFeeds(tx, unknown)
  for (const row of created) ids.set(feedName(row as unknown as Feed), row.id)
  const idOf = (feed: Feed): number => {
    const id = ids.get(feedName(feed))
    if (id === undefined) throw new Error(`feed ${feedName(feed)} could not be created`)
    return id
  }
  const allIds = [...feeds.values()].map(idOf)
  const { locked, now } = await lockFeeds(tx, allIds)
  lookup.forgetMissing(allIds, locked)
  const lockedOf = (feed: Feed): LockedFeed => {
    const found = locked.get(idOf(feed))
    if (found === undefined)
      throw new StoreUnavailableError(`Feed ${feedName(feed)} is gone: the next write creates it again.`)
    return found
  }
  const packs = pieces.flatMap((piece) => piece.rows.map((rows) => ({ feed: lockedOf(rows.feed), rows })))
  const plain = Map.groupBy(
    packs.filter(({ rows }) => !isGrouped(rows.feed)),
    ({ rows }): Dataset => rows.feed.dataset,
  )
  const grouped = packs.filter(({ rows }) => isGrouped(rows.feed))
  const [markets] = await Promise.all([
    writeMarkets(
      tx,
      pieces.flatMap((piece) => piece.markets),
    ),
    appendBooks(tx, grouped, now),
    ...[...plain].map(([dataset, own]) => appendRows(tx, dataset, own, now)),
  ])
  await writeCoverage(
    tx,
    pieces.flatMap(({ coverage }) => coverage.map((change) => feedChange(lockedOf(change.feed), change))),
  )
  for (const { finalize } of pieces)
    for (const { feed, before } of finalize) finalizeFeed(lockedOf(feed), before)
  const states = await writeChanges(tx, locked.values())
  const results = pieces.map((piece) => {
    const result = emptyResult()
    for (const { counts } of new Set(piece.rows.map(({ feed }) => lockedOf(feed)))) addResult(result, counts)
    if (piece.markets.length > 0) result.markets = markets
    return result
  })
  return { results, created, states }
}

/** The feeds by their names. */
export function feedsOfPieces(pieces: readonly Piece[]): Map<string, Feed> {
  const feeds = new Map<string, Feed>()
  for (const { rows, coverage, finalize } of pieces)
    for (const { feed } of [...rows, ...coverage, ...finalize]) feeds.set(feedName(feed), feed)
  return feeds
}

export const emptyResult = (): WriteResult => ({
  inserted: 0,
  unchanged: 0,
  rewritten: 0,
  corrected: 0,
  markets: 0,
})

export function addResult(sum: WriteResult, each: Partial<WriteResult>): void {
  for (const count of ['inserted', 'unchanged', 'rewritten', 'corrected', 'markets'] as const)
    sum[count] += each[count] ?? 0
}
