/** Compares recorded prediction markets with what really happened. Each function returns the differences as lines. */

import { LEVELS } from '../../sandbox/predictions/world/life.ts'
import type { Feed } from '../../src/core/feed.ts'
import { storedInterval } from '../../src/core/interval.ts'
import type { MarketType } from '../../src/core/rows/market.ts'
import type { MarketRow, SnapshotRow, TradeRow } from '../../src/core/rows/schemas.ts'
import { uncovered } from '../../src/ingest/shared/uncovered.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import type { PredictionTruth, TrueMarket, TrueSizes } from '../sandbox/prediction-truth.ts'
import { compareContractRow } from './compare-contracts.ts'
import { compareUpDownFields } from './compare-up-down.ts'

type Levels = [number, number][]
export type StoredSnapshot = SnapshotRow & {
  orderbook_up?: { bids: Levels; asks: Levels }
  orderbook_down?: { bids: Levels; asks: Levels }
  orderbook_yes?: { bids: Levels; asks: Levels }
  orderbook_no?: { bids: Levels; asks: Levels }
  token_up?: string
  token_down?: string
  market_slug?: string | null
  question?: string | null
  market_type?: string | null
  price_up?: number | null
  price_down?: number | null
  reference_price?: number | null
  yes_bid?: number | null
  no_ask?: number | null
}

const CARRY_FORWARD_MS = 60_000
const HOUR_MS = 3_600_000
const GRID_MS = 500
/** They settle on candles of an exchange; the relay has its price of a second. */
const OF_CANDLES = ['1h', '24h']

/** How much older or newer than its row a book may be, because clocks differed or frames were delayed. */
export interface Slack {
  readonly behindMs: number
  readonly aheadMs: number
  /** Frames were lost that nothing numbers: until the book is compared with the venue's own it may be any. */
  readonly isUnproven?: boolean
}
const NO_ORDERS = { bids: new Int32Array(0), asks: new Int32Array(0) }
const NO_SLACK: Slack = { behindMs: 0, aheadMs: 0 }

export const sourceOf = (market: TrueMarket) => (market.venue === 'polymarket' ? 'predmkt_a' : 'predmkt_b')
export const idOf = (market: TrueMarket) => market.conditionId ?? market.name

export async function findMarket(store: EnvironmentStore, name: string): Promise<MarketRow | undefined> {
  return (await store.markets.get(name))?.market
}

/** The market under all of its names, with its winner. The prices that it began and ended with are its own, or none. */
export async function compareCatalogue(store: EnvironmentStore, market: TrueMarket): Promise<string[]> {
  const wrong: string[] = []
  for (const name of [market.name, market.conditionId, ...(market.tokens ?? [])]) {
    if (name === undefined) continue
    const row = await findMarket(store, name)
    if (name === market.name && isNamesake(row, market)) continue
    if (row?.market_id !== idOf(market)) wrong.push(`${market.name}: not found as ${name}`)
    else if (row.status !== (market.winner === null ? 'closed' : 'resolved') || row.winner !== market.winner)
      wrong.push(`${market.name}: ${row.status} ${row.winner}, but ${market.winner ?? 'nobody'} won`)
    else if (market.venue === 'polymarket' && !OF_CANDLES.includes(market.kind))
      for (const [price, real] of [
        [row.reference_price_start, market.reference],
        [row.reference_price_end, market.final],
      ])
        if (price != null && Math.abs(price - (real ?? 0)) > 1e-6 * price)
          wrong.push(`${market.name}: ${price}, but the price was ${real}`)
  }
  return wrong
}

/**
 * New York's clock shows the hour after midnight twice when it is set back: two hourly windows have one slug then, and
 * either may be found by it. Ids and tokens lead to one only.
 */
const isNamesake = (row: MarketRow | undefined, { name, startMs }: TrueMarket) =>
  row?.slug === name && Math.abs(Date.parse(row.start_time ?? '') - startMs) === HOUR_MS

/** The duration under which the market's rows are stored, without asking the store. */
export function trueTypeOf({ venue, kind, startMs, endMs }: TrueMarket): MarketType {
  if (venue === 'polymarket') return kind as MarketType
  return kind === '15M' ? '15m' : endMs - startMs > HOUR_MS ? '24h' : '1h'
}

export function snapshotFeedOf(market: TrueMarket, type: MarketType): Feed<'snapshots'> {
  const interval = storedInterval(type)
  return { dataset: 'snapshots', source: sourceOf(market), symbol: market.symbol, interval }
}

export async function readRows<T>(
  store: EnvironmentStore,
  feed: Feed,
  instruments: readonly string[],
  range: { from: number; to: number },
  books = false,
): Promise<T[]> {
  const { text } = await store.series.page({
    feeds: [feed],
    range,
    order: 'asc',
    limit: 100_000,
    separator: ',',
    filters: { instruments },
    ...(books ? { books: { books: true, diffs: false } } : {}),
  })
  return JSON.parse(`[${text}]`) as T[]
}

/** Every part of the window starts with a row or is a gap; no book is crossed, old or wrong. */
export async function compareWindow(
  store: EnvironmentStore,
  truth: PredictionTruth,
  market: TrueMarket,
  range: { fromMs: number; toMs: number },
  about: {
    slackAt?: (atMs: number) => Slack
    /** How long the venue may send nothing for the symbol: an unchanged book is written when it sends again. */
    pauseMs?: number
  } = {},
): Promise<{ wrong: string[]; rows: number }> {
  const { slackAt = () => NO_SLACK, pauseMs = 0 } = about
  const feed = snapshotFeedOf(market, trueTypeOf(market))
  const fromMs = Math.max(market.startMs, range.fromMs)
  const toMs = Math.min(market.endMs, range.toMs)
  const window = { from: fromMs - CARRY_FORWARD_MS, to: toMs }
  const rows = await readRows<StoredSnapshot>(store, feed, [idOf(market)], window, true)
  const gaps = joined((await store.coverage.read([feed], window.from, toMs)).gaps)
  const wrong: string[] = []
  const known = gaps.map((gap) => ({ fromMs: gap.from, toMs: gap.to }))
  let beforeMs = Number.NEGATIVE_INFINITY
  const times = [...rows.map((row) => Date.parse(row.timestamp)), toMs]
  for (const atMs of times) {
    const heldToMs = Math.max(fromMs, beforeMs + CARRY_FORWARD_MS)
    const missing = uncovered({ fromMs: heldToMs, toMs: Math.min(atMs, toMs) }, known)
    if (missing.some((piece) => piece.toMs - piece.fromMs > pauseMs))
      wrong.push(
        `${market.name}: nothing from ${new Date(heldToMs).toISOString()} to ${new Date(atMs).toISOString()}`,
      )
    beforeMs = atMs
  }
  for (const row of rows) {
    const slack = slackAt(Date.parse(row.timestamp))
    const found = compareBook(truth, market, row, { gaps, slack })
    wrong.push(...found)
    if (market.venue === 'kalshi' && found.length === 0) wrong.push(...compareContractRow(truth, row, slack))
    if (market.venue === 'polymarket' && found.length === 0) wrong.push(...compareUpDownFields(truth, row))
  }
  const later = { from: market.endMs + 1, to: Math.min(range.toMs, market.endMs + HOUR_MS) }
  if (market.venue === 'kalshi' && later.from < later.to)
    wrong.push(...(await compareLater(store, feed, market, later, slackAt)))
  return { wrong, rows: rows.length }
}

/** A contract may close earlier than listed; from then on it has no book. */
async function compareLater(
  store: EnvironmentStore,
  feed: Feed<'snapshots'>,
  market: TrueMarket,
  later: { from: number; to: number },
  slackAt: (atMs: number) => Slack,
): Promise<string[]> {
  const rows = await readRows<StoredSnapshot>(store, feed, [idOf(market)], later)
  const { gaps } = await store.coverage.read([feed], later.from, later.to)
  return rows
    .filter(({ timestamp }) => {
      const atMs = Date.parse(timestamp)
      const { behindMs, aheadMs } = slackAt(atMs)
      return (
        atMs > market.endMs + behindMs + aheadMs && !gaps.some(({ from, to }) => from <= atMs && atMs < to)
      )
    })
    .map(({ timestamp }) => `${market.name} at ${timestamp}: it had closed`)
}

/** Gaps that touch are one, whatever their reasons. */
function joined(gaps: readonly { from: number; to: number }[]): { from: number; to: number }[] {
  const whole: { from: number; to: number }[] = []
  for (const { from, to } of gaps.toSorted((a, b) => a.from - b.from)) {
    const last = whole.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else whole.push({ from, to })
  }
  return whole
}

function compareBook(
  truth: PredictionTruth,
  market: TrueMarket,
  row: StoredSnapshot,
  { gaps, slack }: { gaps: readonly { from: number; to: number }[]; slack: Slack },
): string[] {
  const atMs = Date.parse(row.timestamp)
  const at = `${market.name} at ${row.timestamp}`
  if (gaps.some((gap) => gap.from <= atMs && atMs < gap.to)) return []
  const book = row.orderbook_up ?? row.orderbook_yes
  const other = row.orderbook_down ?? row.orderbook_no
  if (book === undefined || other === undefined) return [`${at}: no book`]
  const [bid, ask] = [book.bids[0]?.[0], book.asks[0]?.[0]]
  if (bid !== undefined && ask !== undefined && bid >= ask) return [`${at}: crossed`]
  if (slack.isUnproven) return []
  // Late frames arrive one by one: in the meantime the book is partly the old and partly the new one.
  if (slack.behindMs > 0) {
    const levels = { book, other }
    return isMixture(levels, latestBooks(truth, market, atMs, slack)) ? [] : [`${at}: no book of that time`]
  }
  const isReal = latestBooks(truth, market, atMs, slack).some(
    ({ bids, asks }) =>
      isSide(book.bids, bids, { isBid: true, isMirrored: false }) &&
      isSide(book.asks, asks, { isBid: false, isMirrored: false }),
  )
  if (!isReal) return [`${at}: not the venue's book`]
  // The other outcome mirrors the first: a bid for one is an offer of the other.
  const isOtherReal = latestBooks(truth, market, atMs, slack).some(
    ({ bids, asks }) =>
      isSide(other.bids, asks, { isBid: true, isMirrored: true }) &&
      isSide(other.asks, bids, { isBid: false, isMirrored: true }),
  )
  return isOtherReal ? [] : [`${at}: not the venue's book of the other outcome`]
}

const ALL_PRICES = Array.from({ length: 999 }, (_, index) => index + 1)

/** Whether each level of both legs, or its absence, is that of one of the books. */
function isMixture(
  { book, other }: Record<'book' | 'other', { bids: Levels; asks: Levels }>,
  books: Iterable<TrueSizes>,
): boolean {
  const sizesOf = (levels: Levels, isMirrored: boolean) => {
    const sizes = new Int32Array(LEVELS)
    for (const [price, size] of levels) {
      const index = Math.round(price * 1_000)
      sizes[isMirrored ? 1_000 - index : index] = Math.round(size * 100)
    }
    return sizes
  }
  const sides = (
    [
      { own: sizesOf(book.bids, false), side: 'bids' },
      { own: sizesOf(book.asks, false), side: 'asks' },
      { own: sizesOf(other.bids, true), side: 'asks' },
      { own: sizesOf(other.asks, true), side: 'bids' },
    ] as const
  ).map((each) => ({ ...each, left: ALL_PRICES }))
  for (const then of books) {
    for (const each of sides)
      each.left = each.left.filter((price) => (then[each.side][price] ?? 0) !== each.own[price])
    if (sides.every(({ left }) => left.length === 0)) return true
  }
  return false
}

/** Whether one side of a row has the true levels, best first, and no other. */
function isSide(
  levels: Levels,
  sizes: Int32Array,
  { isBid, isMirrored }: { isBid: boolean; isMirrored: boolean },
): boolean {
  let before = isBid ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
  for (const [price, size] of levels) {
    if (isBid ? price >= before : price <= before) return false
    before = price
    const thousandths = price * 1_000
    const index = Math.round(isMirrored ? 1_000 - thousandths : thousandths)
    if (Math.abs(Math.round(thousandths) - thousandths) > 1e-6) return false
    if (size === 0 || Math.abs((sizes[index] ?? 0) - size * 100) > 1e-6) return false
  }
  let real = 0
  for (const size of sizes) if (size !== 0) real++
  return real === levels.length
}

/**
 * The books of an instant and of the half second before it: what is sent at a grid point may be sent just after it,
 * and then the row has a book from before.
 */
function* latestBooks(
  truth: PredictionTruth,
  market: TrueMarket,
  atMs: number,
  { behindMs, aheadMs }: Slack,
): Generator<TrueSizes> {
  const firstMs = atMs - Math.max(GRID_MS, behindMs)
  for (let timeMs = atMs + aheadMs; timeMs >= firstMs; ) {
    const book = truth.sizes(idOf(market), timeMs)
    if (book === undefined) break
    // A contract of the second venue has no orders before it opens.
    yield market.venue === 'kalshi' && book.slotMs < market.startMs ? { ...book, ...NO_ORDERS } : book
    timeMs = book.slotMs - 1
  }
}

/** How many grid points of a range have a different book than the one before: a recorder must have as many rows. */
export function trueSamples(
  truth: PredictionTruth,
  market: TrueMarket,
  fromMs: number,
  toMs: number,
): number {
  let before: string | undefined
  let count = 0
  for (let atMs = fromMs - GRID_MS; atMs < toMs; atMs += GRID_MS) {
    const book = truth.book(idOf(market), atMs)
    if (book === undefined) continue
    const levels = `${book.bids}|${book.asks}`
    if (before !== undefined && levels !== before) count++
    before = levels
  }
  return count
}

/** The trades of the window and of the time until the close, by the venue's own names. */
export async function compareTrades(
  store: EnvironmentStore,
  truth: PredictionTruth,
  market: TrueMarket,
  fromMs = 0,
): Promise<string[]> {
  const range = { from: Math.max(market.startMs, fromMs), to: market.endMs }
  const feed: Feed = { dataset: 'trades', source: sourceOf(market), symbol: market.symbol, interval: '' }
  const instruments = market.tokens ?? [market.name]
  const rows = await readRows<TradeRow>(store, feed, instruments, {
    from: range.from - 86_400_000,
    to: range.to + 3_600_000,
  })
  const nameOf = (id: string) => (market.venue === 'polymarket' ? id.slice(0, id.indexOf('-')) : id)
  const facts = (
    id: string,
    instrument: string,
    price: string | number,
    size: string | number,
    side: string,
  ) => [id, instrument, Number(price), Number(size), side].join(' ')
  const stored = rows.map((row) =>
    facts(nameOf(row.trade_id), row.token_id ?? row.market_id ?? '', row.price, row.size, row.side),
  )
  // An Up/Down market is traded until it is closed, some time after its window.
  const closedMs = market.venue === 'polymarket' ? Math.max(range.to, market.resolvedMs) : range.to
  const inWindow = (truth.trades(idOf(market), range.from, closedMs) ?? []).map((trade) =>
    facts(trade.id, trade.instrument, trade.price, trade.size, trade.side),
  )
  const real = new Set(
    (truth.trades(idOf(market), 0, Number.MAX_SAFE_INTEGER) ?? []).map((trade) =>
      facts(trade.id, trade.instrument, trade.price, trade.size, trade.side),
    ),
  )
  const known = new Set(stored)
  return [
    ...inWindow.filter((trade) => !known.has(trade)).map((trade) => `${market.name}: lacks ${trade}`),
    ...stored.filter((trade) => !real.has(trade)).map((trade) => `${market.name}: has ${trade}`),
    ...(known.size === stored.length ? [] : [`${market.name}: a trade is there twice`]),
  ]
}
