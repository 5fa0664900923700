/**
 * Compares what is stored of Up/Down markets besides their books and trades with the truth: the fields derived from a
 * book, and the records of the catalogue. Each function returns the differences as lines.
 */
import type { MarketRow } from '../../src/core/rows/schemas.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { scanMarkets } from '../../src/store/scan-rows.ts'
import type { PredictionTruth, TrueMarket, TrueUpDown } from '../sandbox/prediction-truth.ts'
import type { StoredSnapshot } from './compare.ts'

const SECOND_MS = 1_000
/** A price of the relay counts for so long, and clocks may be apart by so much. */
const FRESH_MS = 10_000
const SKEW_MS = 2_000
const WIDEST_SPREAD = 0.1
/** The catalogue's record of a closed market was changed so long after the close. */
const CHANGED_AFTER_MS = 73_142

const near = (a: number, b: number, within = 1e-9) => Math.abs(a - b) <= within
const same = (a: number | null | undefined, b: number | null, within?: number) =>
  a === undefined || a === null || b === null ? (a ?? null) === b : near(a, b, within)
const total = (levels: readonly [number, number][]) => levels.reduce((sum, [, size]) => sum + size, 0)

function differing(at: string, found: object, real: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(real).flatMap(([name, value]) => {
    const stored: unknown = (found as Record<string, unknown>)[name]
    return JSON.stringify(stored) === JSON.stringify(value)
      ? []
      : [`${at}: ${name} is ${JSON.stringify(stored)}, but ${JSON.stringify(value)}`]
  })
}

/** The fields of a row whose books are true. */
export function compareUpDownFields(truth: PredictionTruth, row: StoredSnapshot): string[] {
  const market = truth.upDown(row.market_id ?? '')
  const book = row.orderbook_up
  const at = `${market?.slug} at ${row.timestamp}`
  if (market === undefined || book === undefined) return [`${at}: of no market`]
  const [bid = null, ask = null] = [book.bids[0]?.[0], book.asks[0]?.[0]]
  const mid = bid === null || ask === null ? null : (bid + ask) / 2
  const size = total(book.bids) + total(book.asks)
  const derived: [string, number | null | undefined, number | null, number?][] = [
    ['best_bid', row.best_bid, bid],
    ['best_ask', row.best_ask, ask],
    ['mid_price', row.mid_price, mid],
    ['spread', row.spread, bid === null || ask === null ? null : ask - bid],
    ['imbalance', row.imbalance, size === 0 ? null : total(book.bids) / size, 0.000_000_6],
    ['price_down', row.price_down, row.price_up == null ? null : 1 - row.price_up],
  ]
  return [
    ...differing(at, row, {
      ...{ symbol: market.symbol, source: 'predmkt_a', market_id: market.conditionId },
      ...{ market_slug: market.slug, question: market.question, market_type: market.kind },
      ...{ token_up: market.tokens[0], token_down: market.tokens[1] },
    }),
    ...derived.flatMap(([name, stored, real, within]) =>
      same(stored, real, within) ? [] : [`${at}: ${name} is ${stored}, but ${real}`],
    ),
    ...compareProbability(truth, market, row, { at, bid, ask, mid }),
    ...compareReference(market, row, at),
  ]
}

/** The midpoint of a tight book; for a wide one the last trade of Up, or the midpoint; null without two sides. */
function compareProbability(
  truth: PredictionTruth,
  market: TrueUpDown,
  row: StoredSnapshot,
  { at, bid, ask, mid }: { at: string } & Record<'bid' | 'ask' | 'mid', number | null>,
): string[] {
  const { price_up: price = null } = row
  if (mid === null || price === null || near(price, mid))
    return same(price, mid) ? [] : [`${at}: price_up ${price}`]
  const isWide = (ask ?? 0) - (bid ?? 0) > WIDEST_SPREAD + 1e-9
  const untilMs = Date.parse(row.timestamp) + SKEW_MS
  const isOfTrade =
    isWide &&
    truth
      .trades(market.conditionId, 0, untilMs)
      ?.some((trade) => trade.instrument === market.tokens[0] && near(Number(trade.price), price))
  return isOfTrade ? [] : [`${at}: price_up is ${price}, but the middle ${mid}`]
}

function compareReference(
  market: TrueUpDown,
  { reference_price: price, timestamp }: StoredSnapshot,
  at: string,
) {
  if (price == null) return []
  const lastMs = Date.parse(timestamp) + SKEW_MS
  const firstMs = lastMs - FRESH_MS - 2 * SKEW_MS
  for (let second = Math.floor(lastMs / SECOND_MS); second * SECOND_MS >= firstMs; second--)
    if (near(market.referencePrice(second * SECOND_MS), price, 1e-6)) return []
  return [`${at}: reference_price is ${price}, but ${market.referencePrice(Date.parse(timestamp))}`]
}

/** Every stored record, whatever state it is in. */
export async function compareUpDownRecords(
  store: EnvironmentStore,
  truth: PredictionTruth,
  about: { symbol: AssetSymbol; nowMs: number; resolvedMsOf: (dueMs: number) => number },
): Promise<string[]> {
  const wrong: string[] = []
  for await (const row of scanMarkets(store.markets, { source: 'predmkt_a', symbol: about.symbol })) {
    const market = truth.upDown(row.market_id)
    if (market === undefined) wrong.push(`${row.market_id}: never was`)
    else wrong.push(...compareRecord(row, market, about.nowMs, about.resolvedMsOf(market.resolvedMs)))
  }
  return wrong
}

const timeText = (timeMs: number) => new Date(timeMs).toISOString()
const interestOf = (volume: number) => Math.round(volume * 600) / 1_000

function compareRecord(row: MarketRow, market: TrueUpDown, nowMs: number, resolvedMs: number): string[] {
  const at = `the record of ${market.slug}`
  const wrong = differing(at, row, {
    ...{ source: 'predmkt_a', symbol: market.symbol, market_id: market.conditionId },
    ...{ slug: market.slug, condition_id: market.conditionId, question: market.question },
    ...{ market_type: market.kind, event_id: market.eventId, ticker: null, strike: null },
    start_time: timeText(market.startMs),
    end_time: timeText(market.endMs),
    created_at: timeText(market.createdMs),
  })
  const [up, down] = market.tokens
  const tokens = [
    { token_id: up, outcome: 'Up' },
    { token_id: down, outcome: 'Down' },
  ]
  if (row.tokens.length > 0) wrong.push(...differing(at, row, { tokens }))
  if ((row.winner === null) === (row.status === 'resolved')) wrong.push(`${at}: ${row.status} ${row.winner}`)
  if (row.winner !== null && (row.winner !== market.winner || nowMs + SKEW_MS < resolvedMs))
    wrong.push(`${at}: ${row.winner} won, but ${market.winner} at ${timeText(resolvedMs)}`)
  if (row.resolved_at !== null) {
    if (row.winner === null) wrong.push(`${at}: resolved at ${row.resolved_at} without a winner`)
    wrong.push(...differing(at, row, { resolved_at: timeText(Math.floor(resolvedMs / 1_000) * 1_000) }))
  }
  const { volume, open_interest: interest } = row
  if (volume !== null || interest !== null) {
    const volumes = market.volumes()
    if (volume !== null && !volumes.some((each) => near(each, volume, 1e-6)))
      wrong.push(`${at}: the volume never was ${volume}`)
    if (interest !== null && !volumes.some((each) => near(interestOf(each), interest, 1e-6)))
      wrong.push(`${at}: the open interest never was ${interest}`)
  }
  return wrong
}

/** The record of a market that was settled long enough ago: nothing of it is left open. */
export async function compareSettled(
  store: EnvironmentStore,
  truth: PredictionTruth,
  { venue, conditionId = '' }: TrueMarket,
  { resolvedMs }: { resolvedMs: number },
): Promise<string[]> {
  if (venue !== 'polymarket') return []
  const market = truth.upDown(conditionId)
  const row = (await store.markets.get(conditionId))?.market
  if (market === undefined || row === undefined) return []
  const at = `the record of ${market.slug}`
  const wrong: string[] = []
  if (row.tokens.length === 0) wrong.push(`${at}: no tokens`)
  const least = market.volumeAt(resolvedMs)
  // The venue leaves out a volume of nothing.
  if ((row.volume ?? 0) < least - 1e-6) wrong.push(`${at}: volume ${row.volume}, but at least ${least}`)
  if (market.winner !== null) {
    if (row.resolved_at === null) wrong.push(`${at}: resolved without a time`)
    wrong.push(...differing(at, row, { updated_at: timeText(resolvedMs + CHANGED_AFTER_MS) }))
  }
  const { liquidity } = row
  if (
    liquidity !== null &&
    ![...market.liquidities(market.endMs)].some((each) => near(each, liquidity, 1e-4))
  )
    wrong.push(`${at}: the liquidity never was ${liquidity}`)
  return wrong
}
