/**
 * The markets we know: listed by series around the present, followed from before their window begins until after
 * they have closed, and asked about until they have a winner.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import { type Asker, askTyped, readRows, unknownRow } from '../ask-typed.ts'
import type { MarketObservation } from '../observation.ts'
import type { TimeRange } from '../venue.ts'
import { POLYMARKET_TIMES as TIMES, TOKENS_PER_SOCKET } from './describe.ts'
import { type Leg, mapMarket, marketObservation, type UpDownMarket } from './mapper.ts'
import { type Series, seriesOf, TENOR_MS } from './slug.ts'
import { ClobMarket, GammaEvents, GammaMarket, GammaMarkets } from './wire.ts'

const PAGE_ROWS = 100
/** Every so many questions about a winner one goes to the order book instead. */
const OTHER_SOURCE_EVERY = 6

export interface KnownMarket extends UpDownMarket {
  /** When we first saw it closed. */
  closedSeenMs: number | null
  tries: number
  nextAskMs: number
}

export interface PolymarketCatalogue {
  refresh(symbol: AssetSymbol, nowMs: number, signal: AbortSignal): Promise<MarketObservation[]>
  resolve(symbol: AssetSymbol, nowMs: number, signal: AbortSignal): Promise<MarketObservation[]>
  /** The venue says that this market has a winner: it is asked about at once. */
  hurry(marketId: string): void
  wanted(symbol: AssetSymbol, nowMs: number): Leg[]
  of(symbol: AssetSymbol): KnownMarket[]
  /** Every window that is listed but not told yet: it may be traded a day before it begins. */
  ahead(symbol: AssetSymbol, nowMs: number, signal: AbortSignal): Promise<UpDownMarket[]>
  /** Tells a window of `ahead` before its time; empty when it was told. */
  meet(market: UpDownMarket, receivedMs: number): MarketObservation[]
  get(marketId: string): KnownMarket | undefined
}

export interface PolymarketAskers {
  readonly gamma: Asker
  readonly clob: Asker
  readonly data: Asker
}

/** The events of a series whose windows end in the range. */
export async function listSeries(
  askers: Pick<PolymarketAskers, 'gamma'>,
  series: Series,
  options: { range: TimeRange; closed: boolean; nowMs: number; signal: AbortSignal },
): Promise<{ found: UpDownMarket[]; receivedMs: number }> {
  let receivedMs = options.nowMs
  for (const slug of series.slugs) {
    const found: UpDownMarket[] = []
    const events = new Set<string>()
    // The limit is clamped without a word, so only a page with nothing new is the last one.
    for (let offset = 0; ; ) {
      const query = {
        series_slug: slug,
        closed: String(options.closed),
        end_date_min: new Date(options.range.fromMs).toISOString(),
        end_date_max: new Date(options.range.toMs).toISOString(),
        order: 'endDate',
        ascending: 'true',
        limit: PAGE_ROWS,
        offset,
      }
      const question = { path: '/events', query, weight: 1 }
      const { value, answer } = await askTyped(askers.gamma, question, GammaEvents, options.signal)
      receivedMs = answer.receivedMs
      for (const event of value) {
        const rows = event.markets ?? []
        for (const row of readRows(askers.gamma, rows, GammaMarket, { origin: '/events', receivedMs })) {
          const market = mapMarket(row, options.nowMs, event)
          if (market === undefined) unknownRow(askers.gamma, row, { origin: '/events', receivedMs })
          const endMs = market?.market.endTime ?? 0
          if (market?.market.marketType !== series.marketType) continue
          if (endMs >= options.range.fromMs && endMs < options.range.toMs) found.push(market)
        }
      }
      const isNew = value.some(({ id }) => !events.has(id))
      if (!isNew) break
      for (const { id } of value) events.add(id)
      offset += value.length
    }
    if (found.length > 0) return { found, receivedMs }
  }
  return { found: [], receivedMs }
}

export function createPolymarketCatalogue(askers: PolymarketAskers): PolymarketCatalogue {
  const known = new Map<string, KnownMarket>()
  const texts = new Map<string, string>()

  /** Empty when nothing has changed since it was last told. */
  function keep(seen: UpDownMarket, receivedMs: number): MarketObservation[] {
    const { marketId } = seen.market
    const before = known.get(marketId)
    // A winner stays: a late listing may still say "closed".
    if (before?.market.status === 'resolved' && seen.market.status !== 'resolved') return []
    // After the close the venue says 0: the last figure before it is the one to keep.
    const isOver = seen.market.status !== 'open'
    const liquidity = isOver ? (before?.market.liquidity ?? null) : seen.market.liquidity
    const market = { ...seen.market, ...(liquidity === undefined ? {} : { liquidity }) }
    const isClosed = market.status === 'resolved' || (isOver && market.active === false)
    known.set(marketId, {
      market,
      legs: seen.legs.length > 0 ? seen.legs : (before?.legs ?? []),
      closedSeenMs: before?.closedSeenMs ?? (isClosed ? receivedMs : null),
      tries: before?.tries ?? 0,
      nextAskMs: before?.nextAskMs ?? 0,
    })
    const text = JSON.stringify(market)
    if (texts.get(marketId) === text) return []
    texts.set(marketId, text)
    return [marketObservation(market, receivedMs)]
  }

  async function askAgain(
    market: KnownMarket,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<MarketObservation[]> {
    const { slug, marketId } = market.market
    if (market.tries % OTHER_SOURCE_EVERY === 0) return askOrderBook(market, signal)
    // Closed markets vanish from listings that do not ask for them.
    const query = { slug: slug ?? '', closed: 'true' }
    const question = { path: '/markets', query, weight: 1 }
    const { value, answer } = await askTyped(askers.gamma, question, GammaMarkets, signal)
    const about = { origin: '/markets', receivedMs: answer.receivedMs }
    const rows = readRows(askers.gamma, value, GammaMarket, about)
    const row = rows.find((each) => each.conditionId.toLowerCase() === marketId)
    const seen = row === undefined ? undefined : mapMarket(row, nowMs)
    if (seen === undefined) return []
    // Fetched alone, a market does not name its event.
    const { eventId, openInterest } = market.market
    const event = {
      eventId: seen.market.eventId ?? eventId ?? null,
      openInterest: seen.market.openInterest ?? openInterest ?? null,
    }
    return keep({ ...seen, market: { ...seen.market, ...event } }, answer.receivedMs)
  }

  async function askOrderBook(market: KnownMarket, signal: AbortSignal): Promise<MarketObservation[]> {
    const question = { path: `/markets/${market.market.marketId}`, weight: 1 }
    const { value, answer } = await askTyped(askers.clob, question, ClobMarket, signal)
    const winner = value.closed ? value.tokens.find((token) => token.winner === true)?.outcome : undefined
    if (winner === undefined) return []
    const { receivedMs } = answer
    const resolved = {
      ...market.market,
      active: false,
      status: 'resolved' as const,
      winner,
      resolvedAt: receivedMs,
    }
    return keep({ market: resolved, legs: market.legs }, receivedMs)
  }

  function isDue({ market, nextAskMs }: KnownMarket, nowMs: number): boolean {
    const sinceMs = nowMs - (market.endTime ?? 0)
    if (market.status === 'resolved' || sinceMs >= TIMES.resolveForMs) return false
    return sinceMs >= TIMES.resolveAfterMs && nowMs >= nextAskMs
  }

  function forget(nowMs: number): void {
    for (const [marketId, { market }] of known) {
      const sinceMs = nowMs - (market.endTime ?? 0)
      if (sinceMs < (market.status === 'resolved' ? 3_600_000 : TIMES.resolveForMs)) continue
      known.delete(marketId)
      texts.delete(marketId)
    }
  }

  /** Windows that are told end within this. */
  function rangeOf(series: Series, nowMs: number): TimeRange {
    const tenorMs = TENOR_MS[series.marketType]
    const aheadMs = tenorMs > TENOR_MS['15m'] ? 2 * tenorMs : tenorMs
    return { fromMs: nowMs - TIMES.followAfterEndMs, toMs: nowMs + TIMES.followBeforeMs + aheadMs }
  }

  return {
    async refresh(symbol, nowMs, signal) {
      const changed: MarketObservation[] = []
      for (const series of seriesOf(symbol)) {
        const range = rangeOf(series, nowMs)
        const { found, receivedMs } = await listSeries(askers, series, {
          range,
          closed: false,
          nowMs,
          signal,
        })
        for (const market of found) changed.push(...keep(market, receivedMs))
      }
      return changed
    },
    async resolve(symbol, nowMs, signal) {
      forget(nowMs)
      const changed: MarketObservation[] = []
      for (const market of known.values()) {
        if (market.market.symbol !== symbol || !isDue(market, nowMs)) continue
        const isSlow = nowMs - (market.market.endTime ?? 0) > TIMES.resolvePatienceMs
        market.tries += 1
        market.nextAskMs = nowMs + (isSlow ? TIMES.resolveSlowlyMs : TIMES.resolveEveryMs)
        try {
          changed.push(...(await askAgain(market, nowMs, signal)))
        } catch {
          // Asked again when it is next due.
        }
      }
      return changed
    },
    hurry(marketId) {
      const market = known.get(marketId)
      if (market !== undefined) market.nextAskMs = 0
    },
    wanted(symbol, nowMs) {
      return [...known.values()]
        .filter(({ market, closedSeenMs }) => {
          if (market.symbol !== symbol) return false
          const tenorMs = TENOR_MS[market.marketType ?? '5m']
          const earlyMs = tenorMs > TENOR_MS['15m'] ? tenorMs : 0
          const fromMs = (market.startTime ?? 0) - TIMES.followBeforeMs - earlyMs
          const toMs =
            closedSeenMs === null
              ? (market.endTime ?? 0) + TIMES.followAfterEndMs
              : closedSeenMs + TIMES.followAfterClosedMs
          return nowMs >= fromMs && nowMs < toMs
        })
        .sort((a, b) => (a.market.endTime ?? 0) - (b.market.endTime ?? 0))
        .flatMap(({ legs }) => legs)
        .slice(0, TOKENS_PER_SOCKET)
    },
    async ahead(symbol, nowMs, signal) {
      const listed: UpDownMarket[] = []
      for (const series of seriesOf(symbol)) {
        const range = { fromMs: rangeOf(series, nowMs).toMs, toMs: nowMs + TIMES.listedAheadMs }
        if (range.fromMs >= range.toMs) continue
        const { found } = await listSeries(askers, series, { range, closed: false, nowMs, signal })
        listed.push(...found)
      }
      return listed.filter(({ market }) => !known.has(market.marketId))
    },
    meet: (market, receivedMs) => (known.has(market.market.marketId) ? [] : keep(market, receivedMs)),
    of: (symbol) => [...known.values()].filter(({ market }) => market.symbol === symbol),
    get: (marketId) => known.get(marketId.toLowerCase()),
  }
}
