/**
 * Closes the gaps in the trades of a symbol. A gap that has ended is walked at the venue, market by market:
 *
 *   gap ──▶ markets that ended since it began are listed ──▶ the trades of every market that could trade in it
 *            ──▶ all of them told in full? observed · else the gap stays, and is tried again later
 *
 * A market that ended while nobody listened is walked too, whether or not it lies in a gap: only this tells what was
 * lost of it without a trace. Candles are closed with their trades where the venue has kept the midpoints of the time.
 */
import type { Feed } from '../../core/feed.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { CoverageStore, Gap } from '../../store/coverage.ts'
import type { MidObservation, TradeObservation } from '../../venues/observation.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import { MARKETS_BACK_MS } from './market-feeds.ts'

/** What happened is listed by the venues after this; a gap is left alone until then. */
export const LISTED_AFTER_MS = 75_000
const GAPS_AT_ONCE = 4
/** About as often as gaps are looked at: the place to begin moves on. */
const LOOK_MS = 15_000
const UNRESOLVED_AT_ONCE = 20
const MIDS_WITHIN_MS = 3_600_000
/** A market that closed just before a gap may have been traded until its last moment. */
const ENDED_BEFORE_MS = 5 * 60_000

export interface BackfilledMarket {
  readonly market: MarketInput
  /** When its trades are to be heard. */
  readonly traded: HistoryRange
  /** None of its trades is older. */
  readonly firstMs: number
  /** It ended while nobody listened. */
  readonly isUnresolved: boolean
  /** Whether the venue says that nothing at all was traded. */
  readonly isUntraded: boolean
  readonly isSwept: boolean
  /** Its whole list was told. */
  swept(): void
  trade(observation: TradeObservation): void
  /** When its midpoints make candles. */
  readonly priced: HistoryRange
  mid(observation: MidObservation): void
  /** Puts the candles that have changed. */
  show(): void
  /** Resolves when what was told is counted. */
  settled(): Promise<void>
}

export interface BackfillTradesOptions {
  readonly feed: Feed<'trades'>
  /** Candles that trades and midpoints make; none where the venue keeps no midpoints. */
  readonly candleFeeds: readonly Feed[]
  readonly symbol: AssetSymbol
  readonly venue: Pick<Venue, 'history'>
  readonly coverage: CoverageStore
  readonly tracker: Pick<CoverageTracker, 'confirm'>
  /** Which markets there are was last listed then. */
  readonly listedMs: number
  readonly nowMs: number
  readonly signal: AbortSignal
  readonly onMarket: (market: MarketInput) => void
  readonly markets: () => Iterable<BackfilledMarket>
}

/** Gives how many gaps were closed. Throws where the venue does not answer. */
export async function backfillTrades(options: BackfillTradesOptions): Promise<number> {
  const { feed, coverage, nowMs } = options
  const lastMs = nowMs - LISTED_AFTER_MS
  const { gaps } = await coverage.read([feed], nowMs - MARKETS_BACK_MS, lastMs)
  const ended = gaps.filter(
    ({ reason, to }) => reason !== 'before_start' && to < lastMs && to < options.listedMs,
  )
  let closed = 0
  // A gap that stays, because the venue's trade cannot be stored, does not keep the others from being looked at.
  const first = ended.length <= GAPS_AT_ONCE ? 0 : Math.floor(nowMs / LOOK_MS) % ended.length
  const turn = [...ended.slice(first), ...ended.slice(0, first)]
  for (const gap of turn.slice(0, GAPS_AT_ONCE)) if (await mend(options, gap)) closed += 1
  const left = [...options.markets()].filter(
    (each) => each.isUnresolved && !each.isSwept && each.traded.toMs < lastMs,
  )
  for (const each of left.slice(0, UNRESOLVED_AT_ONCE))
    await tell(options, each, { from: each.traded.fromMs, to: each.traded.toMs })
  return closed
}

async function mend(options: BackfillTradesOptions, gap: Gap): Promise<boolean> {
  const { venue, symbol, nowMs, signal } = options
  const range = { fromMs: gap.from - ENDED_BEFORE_MS, toMs: nowMs + 1 }
  for await (const { observations } of venue.history({ topic: 'markets', symbol, range }, { signal }))
    for (const row of observations) if (row.kind === 'market') options.onMarket(row.market)
  const concerned = [...options.markets()].filter(
    ({ traded }) => traded.fromMs < gap.to && traded.toMs > gap.from,
  )
  for (const each of concerned) if (!(await tell(options, each, gap))) return false
  // Coverage stands behind the rows in the writer, so those that wait for an earlier run's are waited for.
  for (const each of concerned) await each.settled()
  const hasMids = await requestMids(options, concerned, gap).catch((error) => {
    // Trades do not wait for midpoints for ever; without them the candles keep their gap.
    if (options.signal.aborted || nowMs < gap.to + MIDS_WITHIN_MS) throw error
    return false
  })
  for (const each of concerned) each.show()
  options.tracker.confirm(options.feed, gap.from, gap.to)
  if (hasMids) for (const feed of options.candleFeeds) options.tracker.confirm(feed, gap.from, gap.to)
  return true
}

/** False where the venue has not kept the midpoints of some market. */
async function requestMids(
  options: BackfillTradesOptions,
  concerned: readonly BackfilledMarket[],
  gap: Pick<Gap, 'from' | 'to'>,
): Promise<boolean> {
  const { venue, symbol, signal } = options
  if (options.candleFeeds.length === 0) return false
  for (const each of concerned) {
    const range = {
      fromMs: Math.max(gap.from, each.priced.fromMs),
      toMs: Math.min(gap.to, each.priced.toMs),
    }
    if (range.fromMs >= range.toMs) continue
    const request = { topic: 'mids', symbol, market: each.market.marketId, range } as const
    for await (const { observations, covered, missing } of venue.history(request, { signal })) {
      for (const row of observations) if (row.kind === 'mid') each.mid(row)
      if (covered === null || missing.length > 0) return false
    }
  }
  return true
}

async function tell(
  options: BackfillTradesOptions,
  each: BackfilledMarket,
  gap: Pick<Gap, 'from' | 'to'>,
): Promise<boolean> {
  const { venue, symbol, nowMs, signal } = options
  const hasEnded = each.traded.toMs < nowMs - LISTED_AFTER_MS
  const isWhole = hasEnded && !each.isSwept
  const needed = {
    fromMs: isWhole ? each.firstMs : Math.max(gap.from, each.traded.fromMs),
    toMs: isWhole ? each.traded.toMs : Math.min(gap.to, each.traded.toMs),
  }
  if (!each.isUntraded) {
    const request = { topic: 'trades', symbol, market: each.market.marketId, range: needed } as const
    let coveredMs = needed.fromMs
    for await (const { observations, covered } of venue.history(request, { signal })) {
      for (const row of observations) if (row.kind === 'trade') each.trade({ ...row, isSwept: true })
      if (covered !== null && covered.fromMs <= coveredMs) coveredMs = Math.max(coveredMs, covered.toMs)
    }
    if (coveredMs < needed.toMs) return false
  }
  if (isWhole) each.swept()
  return true
}
