/** Everything that happens in the simulated prediction markets and on the simulated chain. */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import { Lru } from '../../../src/kit/lru.ts'
import { hash32 } from '../../exchanges/world/hash.ts'
import { createWorld } from '../../exchanges/world/world.ts'
import { EARLY_FACTOR, Life } from './life.ts'
import { likelihood, type Question } from './question.ts'
import { createRounds, DEFAULT_PHASE_ROUNDS } from './rounds.ts'
import { createStrikes, type StrikeMarket } from './strikes.ts'
import { createUnderlying } from './underlying.ts'
import { createUpDowns, type Tenor, type UpDown } from './up-down.ts'

interface WorldOptions {
  readonly seed: number
  /** The same value as for the sandbox exchanges, whose candles settle the hourly and daily questions. */
  readonly tradesPerSecond: number
  /** Time between book changes of the running five- and fifteen-minute markets. */
  readonly slotMs: number
  readonly phaseRounds?: number
  /** Windows from this time on use the venue's second protocol. */
  readonly v2FromMs?: number
  /** Contracts per hourly or daily event. */
  readonly strikes?: number
  /** How long before its window a market may be listed. */
  readonly aheadMs?: number
  /** The share of windows whose two outcomes are paid the same; none if omitted. */
  readonly splitShare?: number
  /** The share of trades of windows that are several fills of one transaction; none if omitted. */
  readonly filledShare?: number
  /** Whether contracts may be paused, and may close earlier or later than first listed. */
  readonly isChanging?: boolean
  /** From this time on, lists may leave out running markets; never if omitted. */
  readonly unlistedFromMs?: number
}

export type PredictionWorld = ReturnType<typeof createPredictionWorld>

/** Enough for all windows (about 1,700) or all strikes (660) that are listed at once. */
const REMEMBERED_LIVES = 2_000
const AFTER_END_MS = 90_000
/** Trading begins ten minutes before the window. */
const EARLY_TRADE_MS = 600_000

/** Slot length of a tenor relative to the shortest, and slots per reading of the likelihood. */
const PACE: Record<Tenor, { slots: number; slotsPerStep: number }> = {
  '5m': { slots: 1, slotsPerStep: 5 },
  '15m': { slots: 1, slotsPerStep: 5 },
  '1h': { slots: 5, slotsPerStep: 2 },
  '4h': { slots: 5, slotsPerStep: 4 },
  '24h': { slots: 10, slotsPerStep: 10 },
}

export function createPredictionWorld(options: WorldOptions) {
  const { seed, slotMs } = options
  const price = createUnderlying(seed)
  const exchanges = createWorld({ seed, tradesPerSecond: options.tradesPerSecond })
  const upDowns = createUpDowns({
    seed,
    v2FromMs: options.v2FromMs ?? Number.POSITIVE_INFINITY,
    aheadMs: options.aheadMs,
    splitShare: options.splitShare,
    unlistedFromMs: options.unlistedFromMs,
  })
  const strikes = createStrikes({
    seed,
    world: price,
    perEvent: options.strikes,
    aheadMs: options.aheadMs,
    isChanging: options.isChanging,
    unlistedFromMs: options.unlistedFromMs,
  })
  const rounds = createRounds({
    seed,
    world: price,
    phaseRounds: options.phaseRounds ?? DEFAULT_PHASE_ROUNDS,
  })
  const windows = new Lru<string, Life>({ maxEntries: REMEMBERED_LIVES })
  const contracts = new Lru<string, Life>({ maxEntries: REMEMBERED_LIVES })
  const remember = (lives: Lru<string, Life>, key: string, make: () => Life): Life => {
    const known = lives.get(key)
    if (known !== undefined) return known
    const made = make()
    lives.set(key, made)
    return made
  }

  /** The open or close of a one-minute candle of the sandbox exchange, in dollars. */
  const candle = (symbol: AssetSymbol, openMs: number, which: 'open' | 'close'): number => {
    const { market, candles } = exchanges.of('spot', symbol)
    return candles.at(openMs, '1m', Number.POSITIVE_INFINITY)[which] / 10 ** market.priceDecimals
  }
  const references = ({ symbol, tenor, startMs, endMs }: UpDown): { start: number; end: number } => {
    if (tenor === '1h')
      return { start: candle(symbol, startMs, 'open'), end: candle(symbol, endMs - 60_000, 'close') }
    if (tenor === '24h')
      return { start: candle(symbol, startMs, 'close'), end: candle(symbol, endMs, 'close') }
    return { start: price.mean60E8(symbol, startMs) / 1e8, end: price.mean60E8(symbol, endMs) / 1e8 }
  }
  const isUp = (market: UpDown) => {
    const { start, end } = references(market)
    return end >= start
  }
  const ask = (question: Question) => (timeMs: number) => likelihood(price, question, timeMs)

  return {
    seed,
    filledShare: options.filledShare ?? 0,
    price,
    upDowns,
    strikes,
    rounds,
    /** The first and the last price that decide a window, as the question reads them. */
    references,
    isUp,
    lifeOf(market: UpDown): Life {
      return remember(windows, String(market.index), () => {
        const pace = PACE[market.tenor]
        const { symbol, endMs } = market
        const ownSlotMs = slotMs * pace.slots
        const basis = market.tenor === '1h' || market.tenor === '24h' ? 'spot' : 'mean60'
        return new Life({
          seed,
          stream: hash32(seed, 61, market.index) >>> 4,
          slotMs: ownSlotMs,
          startMs: market.startMs,
          endMs,
          tradeEndMs: endMs + AFTER_END_MS,
          earlySlots: Math.floor(EARLY_TRADE_MS / (ownSlotMs * EARLY_FACTOR)),
          slotsPerStep: pace.slotsPerStep,
          likelihood: lazily(() => {
            const { start, end } = references(market)
            return ask({
              symbol,
              endMs,
              basis,
              floor: start,
              cap: Number.POSITIVE_INFINITY,
              isWon: end >= start,
            })
          }),
          canRefine: true,
          spreadTicks: 1,
          patience: 1,
          emptyShare: 16,
        })
      })
    },
    lifeOfStrike(market: StrikeMarket): Life {
      return remember(contracts, market.ticker, () => {
        const { symbol, kind } = market.event.series
        const { openMs, pause } = market.event
        const pausedMs = pause === undefined ? 0 : pause.toMs - pause.fromMs
        const closeMs = market.event.closeMs - pausedMs
        const isDense = kind === '15M'
        const isLong = market.event.closeMs - openMs > 3_600_000
        return new Life({
          seed,
          stream: market.stream,
          slotMs: isDense ? slotMs : isLong ? slotMs * 20 : slotMs * 5,
          startMs: openMs,
          endMs: closeMs,
          tradeEndMs: closeMs,
          pause,
          earlySlots: 0,
          slotsPerStep: 5,
          likelihood: lazily(() =>
            ask({
              symbol,
              endMs: closeMs,
              basis: 'mean60',
              floor: market.floor ?? Number.NEGATIVE_INFINITY,
              cap: market.cap ?? Number.POSITIVE_INFINITY,
              isWon: strikes.isYes(market),
            }),
          ),
          canRefine: false,
          spreadTicks: isDense ? 1 : 2 + (market.stream % 4),
          patience: isDense ? 1 : isLong ? 5 : 20,
          emptyShare: isDense ? 16 : 150,
        })
      })
    },
  }
}

/** A function that is created on its first call. */
function lazily(make: () => (timeMs: number) => number): (timeMs: number) => number {
  let made: ((timeMs: number) => number) | undefined
  return (timeMs) => {
    made ??= make()
    return made(timeMs)
  }
}
