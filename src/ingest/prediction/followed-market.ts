/**
 * A followed market, and how much of its trades is known.
 *
 *   may already have rows ──▶ being restored ──▶ ready, restored
 *                                       ╰─failed─▶ ready, not restored
 *   begins later          ──▶ ready, restored
 *   ready ──all of its trades received after its close──▶ swept ──half an hour after its end──▶ dropped
 *        ╰──never swept──a day after its end──▶ dropped
 */
import type { HistoryRange } from '../../venues/venue.ts'
import type { PredictionPlan } from './market-feeds.ts'
import type { MarketWindow } from './market-times.ts'
import type { MarketRecorder } from './record-market.ts'

/** By then the last sweep of a market is over, so its recorder can be dropped. */
const KEPT_AFTER_END_MS = 30 * 60_000
/** A market that is not swept within this time is given up. */
const SWEPT_WITHIN_MS = 25 * 3_600_000
/**
 * Trades that the stream lost are found by a round over all markets, every few minutes, and by sweeps until a quarter
 * of an hour after the close, or later if the venue is down.
 */
const TRADES_FINAL_AFTER_MS = 16 * 60_000

export interface MarketProgress {
  readonly window: MarketWindow
  /** The market was listed only after its end, so the venue's regular sweeps may not include it. */
  readonly isListedLate: boolean
  /** Everything that an earlier run stored and the venue listed is counted. */
  isReady: boolean
  /** The trades from before this run are known. */
  isRestored: boolean
  /** All of its trades were received after its close. */
  isSwept: boolean
  /** The venue counts more than was restored; the missing trades lie in this range, which is not final. */
  unproven?: UnprovenTrades | undefined
}

interface UnprovenTrades extends HistoryRange {
  isGap: boolean
}

export interface FollowedMarket extends MarketProgress {
  readonly recorder: MarketRecorder
  readonly followedMs: number
  /** Its end as first listed; an end that moves says nothing about the windows after it. */
  readonly firstEndMs: number
  /** When its figures were last received; a list may leave the market out. */
  figuresMs: number
  /** Whether the volume is one of these figures; a list may leave it out, and then it is that of an earlier list. */
  hasVolume: boolean
  /** Resolves when everything received so far is counted. */
  ready: Promise<void>
}

/**
 * The market ended unrecorded or unlisted, or its past could not be requested or proven, so it is complete only after
 * its own sweep.
 */
export const needsOwnSweep = (
  { window, isListedLate, isRestored, unproven }: MarketProgress,
  startedMs: number,
): boolean => window.endMs < startedMs || isListedLate || !isRestored || unproven !== undefined

/** A market that answers leave out, before its end or since, is not awaited for longer than this. */
export const RUNS_ON_WITHIN_MS = 30 * 60_000
/** A listed trade may be this much later than the list, because the clocks of the venue and ours differ. */
const CLOCKS_APART_MS = 2_000

/** No trade after this instant is part of its figures; undefined if they were not received. */
export const countedTo = ({ figuresMs }: Pick<FollowedMarket, 'figuresMs'>): number | undefined =>
  figuresMs > 0 ? figuresMs + CLOCKS_APART_MS : undefined

/**
 * How many pieces the venue counts beyond those of the known trades; 0 if it does not count pieces, or not all trades
 * are recorded.
 */
export const lackingOf = (
  plan: PredictionPlan,
  followed: Pick<FollowedMarket, 'recorder' | 'figuresMs'>,
  recordedFromMs: number,
): number =>
  // A market that was open before the first start has earlier trades that are not recorded.
  plan.volume === 'pieces' && followed.recorder.startMs >= recordedFromMs
    ? followed.recorder.lackingTo(countedTo(followed) ?? Number.POSITIVE_INFINITY)
    : 0

/** Whether its figures prove that nothing was traded before an instant; a missing or older figure proves nothing. */
export const isUntraded = (
  { recorder, figuresMs }: Pick<FollowedMarket, 'recorder' | 'figuresMs'>,
  toMs: number,
): boolean => {
  const { volume, status } = recorder.market
  return volume != null && Number(volume) === 0 && (status !== 'open' || figuresMs > toMs)
}

/**
 * Whether a market that should be over may still be running, because it closes later than listed: nothing that was
 * received since its end says that it is over.
 */
export const mayRunOn = (
  { recorder, figuresMs }: Pick<FollowedMarket, 'recorder' | 'figuresMs'>,
  nowMs: number,
): boolean => {
  const { market, endMs } = recorder
  return market.status === 'open' && figuresMs < endMs && endMs <= nowMs && nowMs < endMs + RUNS_ON_WITHIN_MS
}

/**
 * Whether a market that should be running may have closed before its listed time: lists received since its last figures
 * leave it out.
 */
export const mayHaveClosed = (
  { recorder, figuresMs }: Pick<FollowedMarket, 'recorder' | 'figuresMs'>,
  nowMs: number,
  listedMs: number,
): boolean => {
  const { market, startMs, endMs } = recorder
  const isDueNow = market.status === 'open' && startMs <= nowMs && nowMs < endMs
  return isDueNow && figuresMs < listedMs && nowMs < figuresMs + RUNS_ON_WITHIN_MS
}

/** Whether its recorder is no longer needed. */
export const isDone = ({ window, isReady, isSwept }: MarketProgress, nowMs: number): boolean =>
  isReady && nowMs >= window.endMs + (isSwept ? KEPT_AFTER_END_MS : SWEPT_WITHIN_MS)

/** No trade before this instant will be found. */
export function tradesFinalMs(state: {
  readonly markets: Iterable<MarketProgress>
  /** All trades before this instant were received, of every market that the venue lists. */
  readonly sweptToMs: number
  /** Without an earlier run, trades from before this run are neither recorded nor awaited. */
  readonly hasEarlierRun: boolean
  readonly startedMs: number
  readonly nowMs: number
  readonly firstTradeMs: (window: MarketWindow) => number
}): number {
  const { startedMs, nowMs } = state
  const unswept = [...state.markets]
    .filter(
      (market) =>
        (state.hasEarlierRun || market.isListedLate) &&
        needsOwnSweep(market, startedMs) &&
        !market.isSwept &&
        nowMs < market.window.endMs + SWEPT_WITHIN_MS,
    )
    .map(({ window }) => state.firstTradeMs(window))
  return Math.max(0, Math.min(nowMs - TRADES_FINAL_AFTER_MS, state.sweptToMs, ...unswept))
}
