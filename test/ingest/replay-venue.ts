/**
 * A venue that replays recorded trades on the given clock: its stream loses frames and sockets on demand, its history
 * requests fail on demand, and otherwise it sends what was recorded.
 */
import { add, type Decimal, decimal, decimalText, multiply, ZERO } from '../../src/core/decimal.ts'
import { INTERVAL_MS } from '../../src/core/interval.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Channel } from '../../src/venues/channel.ts'
import { createDeadLetters } from '../../src/venues/dead-letter.ts'
import type {
  AggregateTradeObservation,
  CandleObservation,
  DataObservation,
  Observation,
} from '../../src/venues/observation.ts'
import type {
  HistoryPage,
  HistoryRequest,
  LiveSession,
  Venue,
  VenueDescription,
} from '../../src/venues/venue.ts'
import { csvRows } from '../venues/fixtures.ts'

export interface Fill {
  readonly id: number
  readonly timeMs: number
  readonly price: string
  readonly size: string
  readonly side: 'buy' | 'sell'
}

export interface Aggregate extends Fill {
  readonly firstId: number
  readonly lastId: number
}

export interface Candle {
  readonly open: string
  readonly high: string
  readonly low: string
  readonly close: string
  readonly volume: Decimal
  readonly quote: Decimal
  readonly buyVolume: Decimal
  readonly buyQuote: Decimal
  readonly count: number
}

export function recordedFills(file: string): Fill[] {
  return csvRows('binance-futures', file).map((row) => ({
    id: Number(row.trade_id),
    timeMs: Number(row.trade_time_ms),
    price: row.price ?? '',
    size: row.qty ?? '',
    side: row.buyer_is_maker === 'true' ? 'sell' : 'buy',
  }))
}

/** Aggregates like the exchange: fills of one price and side, within this long of the first, with its time. */
export function aggregated(fills: readonly Fill[], withinMs: number): Aggregate[] {
  const all: (Aggregate & { size: string; lastId: number })[] = []
  for (const fill of fills) {
    const last = all.at(-1)
    const joins =
      last !== undefined &&
      last.price === fill.price &&
      last.side === fill.side &&
      fill.timeMs - last.timeMs <= withinMs &&
      Number(fill.size) > 0
    if (joins)
      all[all.length - 1] = {
        ...last,
        lastId: fill.id,
        size: decimalText(add(decimal(last.size), decimal(fill.size))),
      }
    else all.push({ ...fill, id: 1_000_000 + all.length, firstId: fill.id, lastId: fill.id })
  }
  return all
}

const known = new WeakMap<object, Map<number, Map<number, Candle>>>()

/** What happened, candle by candle: the truth that rows are compared with. Empty fills are none. */
export function candlesOf(
  trades: readonly (Fill | Aggregate)[],
  lengthMs: number,
): ReadonlyMap<number, Candle> {
  const ofTrades = known.get(trades) ?? new Map<number, Map<number, Candle>>()
  known.set(trades, ofTrades)
  const candles = ofTrades.get(lengthMs) ?? buildCandles(trades, lengthMs)
  ofTrades.set(lengthMs, candles)
  return candles
}

function buildCandles(trades: readonly (Fill | Aggregate)[], lengthMs: number): Map<number, Candle> {
  const candles = new Map<number, Candle>()
  for (const trade of trades) {
    if (Number(trade.size) === 0) continue
    const openMs = Math.floor(trade.timeMs / lengthMs) * lengthMs
    const { price } = trade
    const before = candles.get(openMs)
    const size = decimal(trade.size)
    const quote = multiply(decimal(price), size)
    const isBuy = trade.side === 'buy'
    const fills = 'firstId' in trade ? trade.lastId - trade.firstId + 1 : 1
    candles.set(openMs, {
      open: before?.open ?? price,
      high: before === undefined || Number(price) > Number(before.high) ? price : before.high,
      low: before === undefined || Number(price) < Number(before.low) ? price : before.low,
      close: price,
      volume: add(before?.volume ?? ZERO, size),
      quote: add(before?.quote ?? ZERO, quote),
      buyVolume: add(before?.buyVolume ?? ZERO, isBuy ? size : ZERO),
      buyQuote: add(before?.buyQuote ?? ZERO, isBuy ? quote : ZERO),
      count: (before?.count ?? 0) + fills,
    })
  }
  return candles
}

export interface Tape {
  readonly fills: readonly Fill[]
  readonly aggregates: readonly Aggregate[]
}

export interface Outage {
  readonly fromMs: number
  readonly toMs: number
  /**
   * `cut`: the socket is lost and we know it. `unnoticed`: frames are lost without a sign. `dead`: the socket is
   * open and silent, and lost later. `flap`: it comes back for a moment in between.
   */
  readonly kind: 'cut' | 'unnoticed' | 'dead' | 'flap'
}

/** Until a socket that is dead is given up, and how long a socket that flaps is up. */
const DEAD_FOR_MS = 12_000
const FLAP_MS = 400
const SETTLE_MS = 1_000
const PAGE_ROWS = 1_000

export interface ReplayVenue extends Venue {
  /** Sends what is due by now. */
  pump(): void
}

export function replayVenue(options: {
  describe: VenueDescription
  clock: Clock
  tapes: Readonly<Partial<Record<AssetSymbol, Tape>>>
  outages: readonly Outage[]
  /** Whether a request at this instant fails. */
  fails: (timeMs: number) => boolean
  /** From an event to its frame. */
  latencyMs: (timeMs: number) => number
  /** Changes a candle before it is sent. */
  spoil?: (kline: CandleObservation) => CandleObservation
}): ReplayVenue {
  const { describe, clock, tapes } = options
  const { source } = describe
  const symbols = Object.keys(tapes) as AssetSymbol[]
  const minutes = new Map(symbols.map((symbol) => [symbol, candlesOf(tapes[symbol]?.fills ?? [], 60_000)]))
  const seconds = new Map(symbols.map((symbol) => [symbol, candlesOf(tapes[symbol]?.fills ?? [], 1_000)]))
  const about = (symbol: AssetSymbol) => ({
    ...{ source, symbol, instrument: describe.symbols[symbol] ?? '' },
  })

  const tradeOf = (
    symbol: AssetSymbol,
    { firstId, lastId, ...trade }: Aggregate,
  ): AggregateTradeObservation => ({
    ...{ kind: 'aggregate_trade', ...about(symbol), venueTimeMs: trade.timeMs, receivedMs: clock.now() },
    ...{ key: String(trade.id), id: trade.id, firstTradeId: firstId, lastTradeId: lastId },
    ...{ price: trade.price, size: trade.size, side: trade.side },
  })

  function klineOf(
    symbol: AssetSymbol,
    interval: '1m' | '1s',
    openMs: number,
    candle: Candle,
    closed: boolean,
  ): CandleObservation {
    const { spoil = (kline) => kline } = options
    return spoil({
      ...{
        kind: 'candle',
        ...about(symbol),
        venueTimeMs: clock.now(),
        receivedMs: clock.now(),
        interval,
        closed,
      },
      ...{
        key: `${interval}:${openMs}`,
        openTimeMs: openMs,
        closeTimeMs: openMs + INTERVAL_MS[interval] - 1,
      },
      ...{
        open: candle.open,
        high: candle.high,
        low: candle.low,
        close: candle.close,
        tradeCount: candle.count,
      },
      ...{ volume: decimalText(candle.volume), quoteVolume: decimalText(candle.quote) },
      ...{ takerBuyVolume: decimalText(candle.buyVolume), takerBuyQuoteVolume: decimalText(candle.buyQuote) },
    })
  }

  /** The exchange publishes quiet candles too, at the last price. */
  function candleAt(symbol: AssetSymbol, interval: '1m' | '1s', openMs: number): Candle | undefined {
    const known = (interval === '1m' ? minutes : seconds).get(symbol)?.get(openMs)
    if (known !== undefined) return known
    const fills = tapes[symbol]?.fills ?? []
    const [first] = fills
    if (first === undefined || openMs <= first.timeMs) return undefined
    const last = fills.findLast((fill) => fill.timeMs < openMs && Number(fill.size) > 0)
    if (last === undefined) return undefined
    const { price } = last
    const none = { volume: ZERO, quote: ZERO, buyVolume: ZERO, buyQuote: ZERO, count: 0 }
    return { open: price, high: price, low: price, close: price, ...none }
  }

  async function* history(
    request: HistoryRequest,
    { signal }: { signal: AbortSignal },
  ): AsyncGenerator<HistoryPage> {
    const { topic: dataset, symbol, range, afterId } = request
    await clock.sleep(40, signal)
    if (options.fails(clock.now())) throw new Error(`${dataset}: the venue does not answer`)
    const nowMs = clock.now()
    if (dataset === 'candles') {
      const interval = request.interval === '1s' ? '1s' : '1m'
      const lengthMs = INTERVAL_MS[interval]
      const toMs = Math.min(range.toMs, Math.floor(nowMs / lengthMs) * lengthMs)
      if (toMs <= range.fromMs) return
      const rows: CandleObservation[] = []
      for (let at = Math.ceil(range.fromMs / lengthMs) * lengthMs; at < toMs; at += lengthMs) {
        const candle = candleAt(symbol, interval, at)
        if (candle !== undefined) rows.push(klineOf(symbol, interval, at, candle, true))
      }
      yield { observations: rows, covered: { fromMs: range.fromMs, toMs }, missing: [] }
      return
    }
    if (dataset !== 'aggregate_trades') {
      const toMs = Math.min(range.toMs, nowMs)
      if (toMs > range.fromMs) yield { observations: [], covered: { ...range, toMs }, missing: [] }
      return
    }
    const toMs = Math.min(range.toMs, nowMs - SETTLE_MS)
    if (toMs <= range.fromMs) return
    const found = (tapes[symbol]?.aggregates ?? []).filter(
      (trade) =>
        trade.timeMs < Math.min(range.toMs, nowMs) &&
        (afterId === undefined ? trade.timeMs >= range.fromMs : trade.id > afterId),
    )
    for (let i = 0; ; i += PAGE_ROWS) {
      const page = found.slice(i, i + PAGE_ROWS)
      const isLast = i + PAGE_ROWS >= found.length
      const coveredMs = isLast ? toMs : Math.min(toMs, page.at(-1)?.timeMs ?? toMs)
      yield {
        observations: page.map((trade) => tradeOf(symbol, trade)),
        covered: coveredMs > range.fromMs ? { fromMs: range.fromMs, toMs: coveredMs } : null,
        missing: [],
      }
      if (isLast) return
      await clock.sleep(40, signal)
      if (options.fails(clock.now())) throw new Error(`${dataset}: the venue does not answer`)
    }
  }

  const sessions = new Set<ReturnType<typeof replaySession>>()

  function replaySession(channels: readonly Channel[], signal: AbortSignal) {
    const queue: Observation[] = []
    const places = new Map(symbols.map((symbol) => [symbol, 0]))
    let wake = () => {}
    let isUp = false
    let lastFrameMs = clock.now()
    let klineMs = 0
    for (const symbol of symbols) {
      const next = (tapes[symbol]?.aggregates ?? []).findIndex((trade) => trade.timeMs >= clock.now())
      places.set(symbol, next === -1 ? Number.POSITIVE_INFINITY : next)
    }
    const listens = (symbol: AssetSymbol) => channels.some((channel) => channel.symbol === symbol)

    /** Whether frames arrive, and whether the socket is known to be open. */
    function lineAt(nowMs: number): { carries: boolean; isOpen: boolean } {
      for (const { fromMs, toMs, kind } of options.outages) {
        if (nowMs < fromMs || nowMs >= toMs) continue
        if (kind === 'unnoticed') return { carries: false, isOpen: true }
        if (kind === 'dead') return { carries: false, isOpen: nowMs < fromMs + DEAD_FOR_MS }
        const isBack = kind === 'flap' && Math.abs(nowMs - (fromMs + toMs) / 2) < FLAP_MS / 2
        return { carries: isBack, isOpen: isBack }
      }
      return { carries: true, isOpen: true }
    }

    function pump(): void {
      const nowMs = clock.now()
      const { carries, isOpen } = lineAt(nowMs)
      const control = { source, receivedMs: nowMs }
      if (isUp && !isOpen)
        queue.push({
          ...{ kind: 'disconnected', ...control, route: 'all', channels, reason: 'closed (1006)' },
          sinceMs: lastFrameMs,
        })
      if (!isUp && isOpen)
        for (const channel of channels) queue.push({ kind: 'subscribed', ...control, channel })
      isUp = isOpen
      const frames: DataObservation[] = []
      for (const symbol of symbols) {
        const list = tapes[symbol]?.aggregates ?? []
        let place = places.get(symbol) ?? 0
        for (; place < list.length; place++) {
          const trade = list[place]
          if (trade === undefined || trade.timeMs + options.latencyMs(trade.timeMs) > nowMs) break
          if (listens(symbol)) frames.push(tradeOf(symbol, trade))
        }
        places.set(symbol, place)
      }
      if (nowMs >= klineMs + 1_000) {
        klineMs = nowMs
        for (const { topic: dataset, interval, symbol } of channels) {
          if (dataset !== 'candles' || (interval !== '1m' && interval !== '1s')) continue
          const lengthMs = INTERVAL_MS[interval]
          const openMs = Math.floor(nowMs / lengthMs) * lengthMs - lengthMs
          const candle = candleAt(symbol, interval, openMs)
          if (candle !== undefined) frames.push(klineOf(symbol, interval, openMs, candle, true))
        }
      }
      if (carries && frames.length > 0) {
        queue.push(...frames)
        lastFrameMs = nowMs
      }
      if (queue.length > 0) wake()
    }

    async function* batches(): AsyncGenerator<readonly Observation[]> {
      while (!signal.aborted) {
        if (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve))
        if (queue.length > 0) yield queue.splice(0)
      }
    }
    signal.addEventListener('abort', () => wake(), { once: true })
    const session: LiveSession = {
      batches,
      async *[Symbol.asyncIterator]() {
        for await (const batch of batches()) yield* batch
      },
      reconnect() {},
      stats: () => ({
        ...{ frames: 0, observations: 0, repeats: 0, ignored: 0, malformed: 0, connects: 0, disconnects: 0 },
        ...{ renewals: 0, pollFailures: 0, queued: queue.length, paused: false, sockets: 0, routes: 0 },
      }),
      async close() {
        wake()
      },
    }
    return { session, pump }
  }

  const unasked = () => Promise.reject(new Error('not asked in a replay'))
  return {
    describe,
    deadLetters: createDeadLetters({ venue: describe.name }),
    live(channels, { signal }) {
      const replay = replaySession(channels, signal)
      sessions.add(replay)
      signal.addEventListener('abort', () => sessions.delete(replay), { once: true })
      return replay.session
    },
    history,
    witness: async () => undefined,
    check: unasked,
    pump() {
      for (const { pump } of sessions) pump()
    },
  }
}
