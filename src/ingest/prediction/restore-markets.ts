/**
 * Restores the markets of a symbol that may already have rows, one after the other, so that a start does not send
 * hundreds of requests at once.
 */
import type { MarketInput } from '../../core/rows/market.ts'
import type { MarketRow } from '../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { FoundMarket } from '../../store/markets.ts'
import type { Venue } from '../../venues/venue.ts'
import type { BackfillPace } from '../shared/backfill-pace.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { readPatiently } from '../shared/read-patiently.ts'
import { countedTo, type FollowedMarket, lackingOf } from './followed-market.ts'
import { BASE_INTERVAL, MARKETS_BACK_MS, type PredictionPlan } from './market-feeds.ts'
import { lastTradeMs } from './market-times.ts'
import { marketOfStored, mergeKnown } from './merge-market.ts'
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

/** `onStored`: called with the market as an earlier run stored it, before it is stored as it is now. */
export function createMarketRestorer(
  parts: RestoreMarketsParts,
  onStored: (followed: FollowedMarket, stored: MarketRow) => Promise<void> = async () => {},
) {
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
  let recordedFromMs = Number.POSITIVE_INFINITY
  let last: Promise<void> = recordedFrom.then(
    (fromMs) => {
      hasEarlierRun = fromMs !== undefined
      recordedFromMs = fromMs ?? startedMs
    },
    () => {},
  )

  let unread = 0
  let lastRead: Promise<unknown> = Promise.resolve()

  async function readStored(followed: FollowedMarket): Promise<FoundMarket | undefined> {
    const { marketId } = followed.recorder.market
    const stored = await patiently(() => store.markets.get(marketId, { source: plan.source, symbol }))
    if (stored !== undefined) await onStored(followed, stored.market)
    unread -= 1
    return stored
  }

  async function restoreNow(followed: FollowedMarket, read: Promise<FoundMarket | undefined>): Promise<void> {
    const { recorder, window } = followed
    const { marketId }: MarketInput = recorder.market
    try {
      const finalBeforeMs = await finalBefore
      if (lastTradeMs(plan, window) <= finalBeforeMs) followed.isSwept = true
      const stored = await read
      if (stored !== undefined) recorder.market = mergeKnown(recorder.market, marketOfStored(stored))
      catalogue.put(recorder.market)
      const fromMs = await recordedFrom
      await parts.pace?.(signal)
      const nowMs = clock.now()
      recorder.countFrom(countedTo(followed) ?? nowMs)
      await restoreMarket({
        plan,
        recorder,
        series,
        coverage: store.coverage,
        venue,
        recordedFromMs: fromMs,
        finalBeforeMs,
        nowMs,
        hasVolume: followed.hasVolume,
        signal,
        patiently,
      })
      followed.isRestored = true
      // An answer for another time looks like any other. The newest trades are not listed yet, so most running markets
      // lack some for a moment.
      const sinceMs = Math.max(finalBeforeMs, recorder.startMs)
      if (fromMs !== undefined && lackingOf(plan, followed, fromMs) > 0 && sinceMs < nowMs)
        followed.unproven = { fromMs: sinceMs, toMs: nowMs, isGap: false }
    } catch (error) {
      if (!signal.aborted)
        log.warn({ market: marketId, err: error }, 'the past of a market could not be restored')
    } finally {
      followed.isReady = true
      // Includes what the venue sent meanwhile.
      catalogue.put(recorder.market)
    }
  }

  return {
    /** Restores a market after those before it. Then it is ready, whether or not the restore succeeded. */
    restore(followed: FollowedMarket) {
      unread += 1
      // Read without waiting for the requests of those before it, because books become final soon after a start.
      const read = lastRead.then(() => readStored(followed))
      lastRead = read.catch(() => {})
      last = last.then(() => restoreNow(followed, read))
      return last
    },
    /** Whether stored markets are still being read. */
    get isReading() {
      return unread > 0
    },
    /** Whether an earlier run has stored anything of the symbol; true until this is known. */
    get hasEarlierRun() {
      return hasEarlierRun
    },
    /** Since when the symbol has been recorded; infinite until this is known. */
    get recordedFromMs() {
      return recordedFromMs
    },
  }
}
