/**
 * Closes the gaps in the trades of a symbol. A gap that has ended is requested from the venue, market by market:
 *
 *   gap ──▶ markets that ended since it began are listed ──▶ the trades of every market that could trade in it
 *            ──▶ all of them complete? observed · else the gap stays, and is tried again later
 *
 * A market that ended while nothing was recorded, or before it was listed, is requested too, whether or not it lies in a
 * gap: nothing else shows what was lost of it. Gaps of candles are closed with those of the trades where the venue still
 * has the midpoints.
 */
import type { Feed } from '../../core/feed.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { CoverageStore, Gap } from '../../store/coverage.ts'
import type { MidObservation, TradeObservation } from '../../venues/observation.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import { MARKETS_BACK_MS } from './market-feeds.ts'
import { LISTED_AFTER_MS } from './market-times.ts'

const GAPS_AT_ONCE = 4
/** About the interval between two calls: each begins with another gap. */
const LOOK_MS = 15_000
const SWEEPS_AT_ONCE = 20
const MIDS_WITHIN_MS = 3_600_000
/** A market that closed just before a gap may have been traded until its last moment. */
const ENDED_BEFORE_MS = 5 * 60_000

export interface BackfilledMarket {
  readonly market: MarketInput
  /** When it may be traded. */
  readonly traded: HistoryRange
  /** None of its trades is older. */
  readonly firstMs: number
  /** It ended unrecorded or unlisted, or its past is not known: only its whole list is complete. */
  readonly needsOwnSweep: boolean
  /** The venue reports that nothing at all was traded. */
  readonly isUntraded: boolean
  readonly isSwept: boolean
  /** Its whole list was received. */
  swept(): void
  trade(observation: TradeObservation): void
  /** When candles are built from its midpoints. */
  readonly priced: HistoryRange
  mid(observation: MidObservation): void
  /** Puts the candles that have changed. */
  show(): void
  /** Resolves when everything received is counted. */
  ready(): Promise<void>
}

export interface BackfillTradesOptions {
  readonly feed: Feed<'trades'>
  /** Candles built from trades and midpoints; none where the venue has no past midpoints. */
  readonly candleFeeds: readonly Feed[]
  readonly symbol: AssetSymbol
  readonly venue: Pick<Venue, 'history'>
  readonly coverage: CoverageStore
  readonly tracker: Pick<CoverageTracker, 'confirm'>
  /** When the markets were last listed. */
  readonly listedMs: number
  /** Whether the list has every market that runs before an instant. */
  readonly isKnownTo: (toMs: number) => boolean
  readonly nowMs: number
  readonly signal: AbortSignal
  readonly onMarket: (market: MarketInput) => void
  readonly markets: () => Iterable<BackfilledMarket>
}

/** Returns how many gaps were closed. Throws if the venue does not answer. */
export async function backfillTrades(options: BackfillTradesOptions): Promise<number> {
  const { feed, coverage, nowMs } = options
  const lastMs = nowMs - LISTED_AFTER_MS
  const { gaps } = await coverage.read([feed], nowMs - MARKETS_BACK_MS, lastMs)
  // A refused trade from before the first observation is a gap there. Closed, it would be the first observation, and the
  // time up to the next one a gap of ours, though its markets were never followed.
  const startMs = gaps.findLast(({ reason }) => reason === 'before_start')?.to ?? 0
  const isListed = (toMs: number) => toMs < options.listedMs && options.isKnownTo(toMs)
  const ended = gaps.filter(({ from, to }) => from >= startMs && to < lastMs && isListed(to))
  let closed = 0
  // A gap that stays open because a trade cannot be stored must not block the others.
  const first = ended.length <= GAPS_AT_ONCE ? 0 : Math.floor(nowMs / LOOK_MS) % ended.length
  const turn = [...ended.slice(first), ...ended.slice(0, first)]
  for (const gap of turn.slice(0, GAPS_AT_ONCE)) if (await closeGap(options, gap)) closed += 1
  const unswept = [...options.markets()].filter(
    (each) => each.needsOwnSweep && !each.isSwept && each.traded.toMs < lastMs,
  )
  for (const each of unswept.slice(0, SWEEPS_AT_ONCE))
    await requestTrades(options, each, { from: each.traded.fromMs, to: each.traded.toMs })
  return closed
}

async function closeGap(options: BackfillTradesOptions, gap: Gap): Promise<boolean> {
  const { venue, symbol, nowMs, signal } = options
  const range = { fromMs: gap.from - ENDED_BEFORE_MS, toMs: nowMs + 1 }
  const lists = venue.history({ topic: 'markets', symbol, range }, { signal })
  let isListed = true
  for await (const { observations, covered } of lists) {
    for (const row of observations) if (row.kind === 'market') options.onMarket(row.market)
    // A market that the list has and nobody can read may have been traded in the gap.
    if (covered === null) isListed = false
  }
  if (!isListed) return false
  const concerned = [...options.markets()].filter(
    ({ traded }) => traded.fromMs < gap.to && traded.toMs > gap.from,
  )
  for (const each of concerned) if (!(await requestTrades(options, each, gap))) return false
  // Coverage is written after its rows, so rows that still wait for those of an earlier run are awaited.
  for (const each of concerned) await each.ready()
  const hasMids = await requestMids(options, concerned, gap).catch((error) => {
    // Trades wait for midpoints only so long; without them the gap of the candles stays.
    if (options.signal.aborted || nowMs < gap.to + MIDS_WITHIN_MS) throw error
    return false
  })
  for (const each of concerned) each.show()
  options.tracker.confirm(options.feed, gap.from, gap.to)
  if (hasMids) for (const feed of options.candleFeeds) options.tracker.confirm(feed, gap.from, gap.to)
  return true
}

/** False if the venue no longer has the midpoints of some market. */
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

/** False if the venue's answer does not cover the whole range. */
async function requestTrades(
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
