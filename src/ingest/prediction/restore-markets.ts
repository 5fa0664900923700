/**
 * Restores the markets of a symbol that may have rows already, one after the other, so that a start does not send
 * hundreds of requests at once.
 */
import type { MarketInput } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { Venue } from '../../venues/venue.ts'
import type { BackfillPace } from '../shared/backfill-pace.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { readPatiently } from '../shared/read-patiently.ts'
import type { FollowedMarket } from './followed-market.ts'
import { BASE_INTERVAL, MARKETS_BACK_MS, type PredictionPlan } from './market-feeds.ts'
import { lastTradeMs } from './market-times.ts'
import { marketOfRow, mergeKnown } from './merge-market.ts'
import { restoreMarket } from './restore-market.ts'
import type { MarketWriter } from './write-markets.ts'

export interface RestoreMarketsParts {
  readonly plan: PredictionPlan
  readonly symbol: AssetSymbol
  readonly venue: Venue
  readonly store: EnvironmentStore
  readonly catalogue: MarketWriter
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly pace?: BackfillPace | undefined
}

export type MarketRestorer = ReturnType<typeof createMarketRestorer>

export function createMarketRestorer(parts: RestoreMarketsParts) {
  const { plan, symbol, venue, store, catalogue, clock, log, signal } = parts
  const { series } = store
  const startedMs = clock.now()
  const patiently = <T>(read: () => T | Promise<T>) => readPatiently(read, { clock, signal })
  const base = candleFeed(plan.source, symbol, BASE_INTERVAL)
  const recordedFrom = patiently(async () => {
    const { observed } = await store.coverage.read([base], startedMs - 2 * MARKETS_BACK_MS, startedMs)
    return observed[0]?.from
  })
  /** What an earlier run marked as final stays final. */
  const finalBefore = patiently(async () => {
    const [known] = await series.finality([feedOf('trades', plan.source, symbol)])
    return known?.before ?? 0
  })
  finalBefore.catch(() => {})
  let hasEarlierRun = true
  let last: Promise<void> = recordedFrom.then(
    (fromMs) => {
      hasEarlierRun = fromMs !== undefined
    },
    () => {},
  )

  async function restoreNow(followed: FollowedMarket): Promise<void> {
    const { recorder, window } = followed
    const { marketId }: MarketInput = recorder.market
    try {
      const finalBeforeMs = await finalBefore
      if (lastTradeMs(plan, window) <= finalBeforeMs) followed.isSwept = true
      const stored = await patiently(() => store.markets.get(marketId, { source: plan.source, symbol }))
      if (stored !== undefined) recorder.market = mergeKnown(recorder.market, marketOfRow(stored.market))
      catalogue.put(recorder.market)
      const recordedFromMs = await recordedFrom
      await parts.pace?.(signal)
      const nowMs = clock.now()
      await restoreMarket({
        plan,
        recorder,
        series,
        venue,
        recordedFromMs,
        finalBeforeMs,
        nowMs,
        signal,
        patiently,
      })
      followed.isRestored = true
    } catch (error) {
      if (!signal.aborted)
        log.warn({ market: marketId, err: error }, 'the past of a market could not be restored')
    } finally {
      followed.isReady = true
      // With what the venue sent meanwhile.
      catalogue.put(recorder.market)
    }
  }

  return {
    /** Restores a market after those before it; it is ready then, whether or not that succeeded. */
    restore(followed: FollowedMarket) {
      last = last.then(() => restoreNow(followed))
      return last
    },
    /** Whether an earlier run has stored anything of the symbol; true until that is known. */
    get hasEarlierRun() {
      return hasEarlierRun
    },
  }
}
