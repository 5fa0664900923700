/** Compares stored candles of prediction markets with the true trades and books, and returns the differences. */

import { type CandleInterval, INTERVAL_MS } from '../../src/core/interval.ts'
import type { CandleRow } from '../../src/core/rows/schemas.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import type { PredictionTruth, TrueMarket, TrueMarketTrade } from '../sandbox/prediction-truth.ts'
import { idOf, readRows, type Slack, sourceOf } from './compare.ts'

const GRID_MS = 500
/** How long before the window books begin to be sampled. */
const SAMPLE_BEFORE_MS = 60_000
/** How long before its window trades of a market are certainly received. */
const FOLLOWED_BEFORE_MS = 13 * 60_000
/** A candle is closed by then. */
const CLOSED_AFTER_MS = 50_000
const WIDEST_SPREAD = 0.1
/** A book that does not change is sampled once a minute, and requested midpoints are a minute apart. */
const STOOD_MS = 125_000

type Figures = [open: number, high: number, low: number, close: number]

export interface ComparedCandles {
  readonly wrong: string[]
  /** How many candles were compared. */
  traded: number
  quoted: number
}

const rounded = (value: number) => Math.round(value * 1e7) / 1e7

function figuresOf(prices: readonly number[]): Figures {
  const [open = 0, close = 0] = [prices[0], prices.at(-1)]
  return [open, Math.max(...prices), Math.min(...prices), close].map(rounded) as Figures
}

/**
 * Every candle of a market that was received completely and is closed by now, leg by leg: built from its trades if
 * there are any, else from its midpoints. Comparing midpoints is slow and can be left out.
 */
export async function compareCandles(
  store: EnvironmentStore,
  truth: PredictionTruth,
  market: TrueMarket,
  about: {
    interval: CandleInterval
    fromMs: number
    toMs: number
    /** `bounds`: with faults nobody can tell which midpoints were seen, but each figure is one that there was. */
    withMids: boolean | 'bounds'
    slackAt?: (atMs: number) => Slack
    /** What is allowed to be missing or wrong. */
    isGap?: (fromMs: number, toMs: number) => boolean
  },
): Promise<ComparedCandles> {
  const { interval } = about
  const stepMs = INTERVAL_MS[interval]
  const found: ComparedCandles = { wrong: [], traded: 0, quoted: 0 }
  const lastMs = Math.min(about.toMs - CLOSED_AFTER_MS, Math.max(market.resolvedMs, market.endMs) + stepMs)
  const earlyMs = market.venue === 'polymarket' ? FOLLOWED_BEFORE_MS : 0
  const firstMs = Math.max(about.fromMs, Math.floor((market.startMs - earlyMs) / stepMs + 1) * stepMs)
  const feed = { dataset: 'candles', source: sourceOf(market), symbol: market.symbol, interval } as const
  const trades = truth.trades(idOf(market), about.fromMs, lastMs) ?? []
  for (const [leg, instrument] of (market.tokens ?? [market.name]).entries()) {
    const rows = await readRows<CandleRow>(store, feed, [instrument], { from: about.fromMs, to: lastMs })
    const stored = new Map(rows.map((row) => [Date.parse(row.timestamp), row]))
    for (
      let openMs = Math.ceil(Math.max(firstMs, about.fromMs) / stepMs) * stepMs;
      openMs + stepMs <= lastMs;
      openMs += stepMs
    ) {
      if (about.isGap?.(openMs, openMs + stepMs)) continue
      const at = `${market.name} ${leg} ${interval} ${new Date(openMs).toISOString()}`
      const row = stored.get(openMs)
      const inBar = trades.filter(
        (trade) =>
          trade.instrument === instrument && trade.timeMs >= openMs && trade.timeMs < openMs + stepMs,
      )
      if (row !== undefined && !row.closed) found.wrong.push(`${at}: still open`)
      if (inBar.length > 0) {
        found.traded += 1
        found.wrong.push(...compareTraded(at, row, inBar, market.venue))
      } else if (about.withMids === 'bounds') {
        if (row === undefined) continue
        found.quoted += 1
        const { behindMs = 0, aheadMs = 0 } = about.slackAt?.(openMs) ?? {}
        const range = { fromMs: openMs - STOOD_MS - behindMs, toMs: openMs + stepMs + aheadMs }
        found.wrong.push(...compareBounds(at, row, boundsOf(truth, market, leg, range)))
      } else if (about.withMids) {
        if (row !== undefined) found.quoted += 1
        found.wrong.push(...compareQuoted(at, row, midsOf(truth, market, leg, openMs, stepMs)))
      }
    }
  }
  return found
}

function compareTraded(
  at: string,
  row: CandleRow | undefined,
  trades: readonly TrueMarketTrade[],
  venue: TrueMarket['venue'],
): string[] {
  if (row === undefined) return [`${at}: no candle of ${trades.length} trades`]
  const expected = figuresOf(trades.map(({ price }) => Number(price)))
  const recorded = [row.open, row.high, row.low, row.close].map(rounded)
  const volume = trades.reduce(
    (sum, { price, size }) => sum + Number(size) * (venue === 'polymarket' ? Number(price) : 1),
    0,
  )
  return [
    ...(recorded.join() === expected.join() ? [] : [`${at}: ${recorded}, but ${expected}`]),
    ...(Math.abs((row.volume ?? 0) - volume) < 0.000_01
      ? []
      : [`${at}: volume ${row.volume}, but ${volume}`]),
  ]
}

/**
 * Midpoints at the points of the grid where the book is another than before; what is sent just after a point belongs
 * to the next one, and an unchanged book is sampled once a minute. So each candle may be one of a few.
 */
function compareQuoted(at: string, row: CandleRow | undefined, mids: Mids): string[] {
  const variants: Figures[] = []
  let mustBe = true
  for (const from of [0, 1])
    for (const to of [mids.changed.length, mids.changed.length - 1])
      for (const carry of [[], mids.before === undefined ? [] : [mids.before]]) {
        const prices = [...carry, ...mids.changed.slice(from, to)].filter((mid) => mid !== null)
        if (prices.length === 0) mustBe = false
        else variants.push(figuresOf(prices))
      }
  if (row === undefined) return mustBe ? [`${at}: no candle of midpoints`] : []
  const recorded = [row.open, row.high, row.low, row.close].map(rounded).join()
  if (row.volume !== 0) return [`${at}: volume ${row.volume} without a trade`]
  if (variants.some((each) => each.join() === recorded)) return []
  return [`${at}: ${recorded}, but ${[...new Set(variants.map((each) => each.join()))].join(' or ')}`]
}

function compareBounds(at: string, row: CandleRow, bounds: readonly [low: number, high: number]): string[] {
  if (row.volume !== 0) return [`${at}: volume ${row.volume} without a trade`]
  const figures = [row.open, row.high, row.low, row.close].map(rounded)
  return figures.every((figure) => figure >= bounds[0] - 1e-6 && figure <= bounds[1] + 1e-6)
    ? []
    : [`${at}: ${figures}, but midpoints were from ${bounds[0]} to ${bounds[1]}`]
}

/** The lowest and the highest midpoint of a leg. */
function boundsOf(
  truth: PredictionTruth,
  market: TrueMarket,
  leg: number,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): [low: number, high: number] {
  const bounds: [number, number] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let atMs = toMs; atMs >= fromMs; ) {
    const book = truth.sizes(idOf(market), atMs)
    if (book === undefined) break
    // The venue's own list of midpoints counts an empty side as 0 or 1.
    const bid = Math.max(
      0,
      book.bids.findLastIndex((size) => size !== 0),
    )
    const ask = book.asks.findIndex((size) => size !== 0)
    const mid = (bid + (ask === -1 ? 1_000 : ask)) / 2_000
    const ofLeg = leg === 0 ? mid : 1 - mid
    bounds[0] = Math.min(bounds[0], ofLeg)
    bounds[1] = Math.max(bounds[1], ofLeg)
    atMs = Math.min(atMs, book.slotMs) - 1
  }
  return bounds
}

interface Mids {
  /** The midpoint that stood when the candle began. */
  readonly before: number | null | undefined
  readonly changed: readonly (number | null)[]
}

function midsOf(
  truth: PredictionTruth,
  market: TrueMarket,
  leg: number,
  openMs: number,
  stepMs: number,
): Mids {
  const changed: (number | null)[] = []
  const firstMs = Math.max(openMs, market.startMs - SAMPLE_BEFORE_MS)
  let levels: string | undefined
  let before: number | null | undefined
  for (let atMs = firstMs - 2 * GRID_MS; atMs < openMs + stepMs && atMs <= market.endMs; atMs += GRID_MS) {
    const book = truth.book(idOf(market), atMs)
    const now = book === undefined ? '' : `${book.bids}|${book.asks}`
    const [bid, ask] = [book?.bids[0]?.[0], book?.asks[0]?.[0]]
    const isWide = market.venue === 'polymarket' && Number(ask) - Number(bid) > WIDEST_SPREAD + 1e-9
    const mid = bid === undefined || ask === undefined || isWide ? null : (Number(bid) + Number(ask)) / 2
    const ofLeg = mid === null ? null : leg === 0 ? mid : 1 - mid
    if (atMs < firstMs - GRID_MS) before = ofLeg
    else if (now !== levels) changed.push(ofLeg)
    else if (atMs < firstMs) changed.push(ofLeg)
    levels = now
  }
  return { before, changed }
}
