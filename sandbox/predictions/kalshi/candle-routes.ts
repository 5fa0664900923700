/** The three ways to candles: of one market, of several, of an event. */

import { ok, type Reply } from '../server/http.ts'
import { many } from '../server/query.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import { candlesOf, PERIODS, type Period } from './candles.ts'
import { type Catalogue, fail, notFound } from './catalogue.ts'
import type { Venue } from './view.ts'

const MAX_CANDLES = { one: 5_000, event: 5_000, batch: 10_000 }

interface Range {
  period: Period
  fromMs: number
  toMs: number
}
/** `parts` is the path behind the root: series/…, historical/…, markets/…, events/…. */
export function createCandleRoutes(
  venue: Venue,
  catalogue: Catalogue,
): (parts: readonly string[], query: URLSearchParams) => Reply {
  const { strikes } = venue.world
  const { isListed, isHistorical, findMarket } = catalogue

  function rangeOf(query: URLSearchParams): Range | undefined {
    const period = PERIODS.find((one) => String(one) === query.get('period_interval'))
    const [start, end] = [
      Number(query.get('start_ts') ?? Number.NaN),
      Number(query.get('end_ts') ?? Number.NaN),
    ]
    if (period === undefined || !Number.isFinite(start) || !Number.isFinite(end) || end < start)
      return undefined
    return { period, fromMs: start * 1_000, toMs: end * 1_000 }
  }
  function candles(
    market: StrikeMarket,
    range: Range,
    historical: boolean,
    before = false,
  ): Record<string, unknown>[] {
    const life = venue.world.lifeOfStrike(market)
    const made = candlesOf({ market, life, ...range, nowMs: venue.now(), isHistorical: historical })
    const first = made[0]?.price as Record<string, unknown> | undefined
    if (!before || first === undefined) return made
    const name = historical ? 'previous' : 'previous_dollars'
    const blank = Object.fromEntries(
      Object.keys(first).map((key) => [key, key === name ? first[name] : null]),
    )
    return [{ ...made[0], end_period_ts: Math.floor(range.fromMs / 1_000), price: blank }, ...made]
  }
  const tooMany = (count: number, max: number) =>
    count > max ? fail(400, 'invalid_parameters', 'too many candlesticks requested') : undefined

  return (parts, query) => {
    const range = rangeOf(query)
    if (range === undefined) return fail(400, 'invalid_parameters', 'invalid time range or period')
    const bars = (range.toMs - range.fromMs) / (range.period * 60_000)
    if (parts[0] === 'events') {
      const event = strikes.event(parts[1] ?? '')
      if (event === undefined || !isListed(event)) return notFound()
      // Too long a range is cut at its end, and the answer says where.
      const perMarket = Math.floor(MAX_CANDLES.event / event.markets.length)
      const toMs = Math.min(range.toMs, range.fromMs + perMarket * range.period * 60_000)
      return ok({
        adjusted_end_ts: Math.floor(toMs / 1_000),
        market_candlesticks: event.markets.map((market) => candles(market, { ...range, toMs }, false)),
        market_tickers: event.markets.map((market) => market.ticker),
      })
    }
    if (parts[0] === 'markets') {
      const markets = many(query, 'market_tickers')
        .slice(0, 100)
        .map(findMarket)
        .filter((market) => market !== undefined)
      const refused = tooMany(bars * markets.length, MAX_CANDLES.batch)
      return (
        refused ??
        ok({
          markets: markets.map((market) => ({
            market_ticker: market.ticker,
            candlesticks: candles(market, range, false),
          })),
        })
      )
    }
    const historical = parts[0] === 'historical'
    const market = findMarket((historical ? parts[2] : parts[3]) ?? '')
    if (
      market === undefined ||
      isHistorical(market) !== historical ||
      (!historical && market.event.series.ticker !== parts[1])
    )
      return notFound()
    const refused = tooMany(bars, MAX_CANDLES.one)
    return (
      refused ??
      ok({
        ticker: market.ticker,
        candlesticks: candles(market, range, historical, query.get('include_latest_before_start') === 'true'),
      })
    )
  }
}
