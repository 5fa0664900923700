/**
 * Closes the gaps in the trades of a symbol. A gap that has ended is requested from the venue, market by market:
 *
 *   gap ──▶ list the markets that ended since it began ──▶ request the trades of every market that could trade in it
 *            ──▶ all of them complete? observed · otherwise the gap stays, and is tried again later
 *
 * An answer for another time or another market may have no row that shows the mistake. So if the venue counts what was
 * traded, the trades must add up to that figure. If they do not, the whole list is requested, until such answers have
 * come for half an hour.
 *
 * A running market that was restored with less than the venue counts is requested again in the same way; until then the
 * time that was not final is a gap.
 *
 * A market that ended while nothing was recorded, or before it was listed, is requested even if it lies in no gap,
 * because nothing else shows what was lost of it. Gaps of candles are closed with those of the trades if they lack
 * nothing else, or if the venue still has the midpoints.
 */
import type { Feed } from '../../core/feed.ts'
import { candleStart, INTERVAL_MS, storedInterval } from '../../core/interval.ts'
import type { MarketInput, MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { CoverageStore, Gap } from '../../store/coverage.ts'
import { type DoubtedTime, doubtedAgain } from '../../venues/doubted-time.ts'
import type { MidObservation, TradeObservation } from '../../venues/observation.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import { windowStart } from './check-windows.ts'
import type { DoubtedVolumes } from './doubted-volumes.ts'
import { MARKETS_BACK_MS } from './market-feeds.ts'
import { LISTED_AFTER_MS } from './market-times.ts'

const GAPS_AT_ONCE = 4
const SWEEPS_AT_ONCE = 20
/** After this many failures, the venue is probably down. */
const MAX_FAILURES = 3
const MIDS_WITHIN_MS = 3_600_000
/** After an hour of lists without the windows that should have run in a gap, the venue had none. */
const WINDOWS_WITHIN_MS = 3_600_000
/** A gap that was not tried for this long is closed or gone. */
const DOUBT_KEPT_MS = 2 * 3_600_000
/** A market that closed just before a gap may have been traded until its last moment. */
const ENDED_BEFORE_MS = 5 * 60_000

export interface BackfilledMarket {
  readonly market: MarketInput
  /** When the market may be traded. */
  readonly traded: HistoryRange
  /** No trade of the market is older. */
  readonly firstMs: number
  /** The market ended unrecorded or unlisted, or its past is unknown, so it is complete only with its whole list. */
  readonly needsOwnSweep: boolean
  /** Whether the venue reports that nothing at all was traded before an instant. */
  isUntraded(toMs: number): boolean
  readonly isSwept: boolean
  /** The venue counted more than was restored; the missing trades lie in this range. */
  readonly unproven: HistoryRange | undefined
  /** How many pieces the venue counts beyond those that were received. */
  lacking(): number
  /** The same, up to the list with which the market was restored. */
  lackingListed(): number
  /** Reports that what was restored is now complete, or may still lack trades. */
  proven(isComplete: boolean): void
  /** Called when the whole list of the market was received. */
  swept(): void
  trade(observation: TradeObservation): void
  /** When candles are built from midpoints. */
  readonly priced: HistoryRange
  mid(observation: MidObservation): void
  /** Puts the candles that have changed. */
  show(): void
  /** Resolves when everything received is counted. */
  ready(): Promise<void>
}

export interface BackfillTradesOptions {
  readonly feed: Feed<'trades'>
  /** Candles built from trades and midpoints. */
  readonly candleFeeds: readonly Feed[]
  /** Whether the venue has past midpoints. */
  readonly hasMids: boolean
  readonly symbol: AssetSymbol
  readonly venue: Pick<Venue, 'history'>
  readonly coverage: CoverageStore
  readonly tracker: Pick<CoverageTracker, 'confirm' | 'received'>
  /** When the markets were last listed. */
  readonly listedMs: number
  /** Whether the list contains every market that runs before an instant. */
  readonly isKnownTo: (toMs: number) => boolean
  /** How far the time of a trade in a list may be from that in the stream. */
  readonly listedApartMs: number
  /** Durations of which a window is always running. */
  readonly endless: readonly MarketType[]
  readonly doubts: DoubtedVolumes
  /** By start of the gap, for how long lists have lacked windows that should have run in it. Kept between calls. */
  readonly unlisted: Map<number, DoubtedTime>
  /** The number of earlier calls. Each call begins with another gap and another market. */
  readonly turn: number
  readonly nowMs: number
  readonly signal: AbortSignal
  readonly onMarket: (market: MarketInput) => void
  readonly markets: () => Iterable<BackfilledMarket>
}

/** The same elements, beginning with another one each time. */
function rotated<T>(all: readonly T[], turn: number): T[] {
  const first = turn % Math.max(1, all.length)
  return [...all.slice(first), ...all.slice(0, first)]
}

/** Returns how many gaps were closed. Throws if a request failed, after the others had their turn. */
export async function backfillTrades(options: BackfillTradesOptions): Promise<number> {
  const { feed, coverage, turn, nowMs } = options
  const lastMs = nowMs - LISTED_AFTER_MS
  const { gaps } = await coverage.read([feed], nowMs - MARKETS_BACK_MS, lastMs)
  // A refused trade from before the first observation is a gap there. If it were closed, it would become the first
  // observation, and the time up to the next one would be our gap although its markets were never followed.
  const startMs = gaps.findLast(({ reason }) => reason === 'before_start')?.to ?? 0
  const isListed = (toMs: number) => toMs < options.listedMs && options.isKnownTo(toMs)
  const ended = gaps.filter(({ from, to }) => from >= startMs && to < lastMs && isListed(to))
  const failures: unknown[] = []
  /** Runs some of them; one that fails or stays open does not keep the others from their turn. */
  const runSome = async <T>(all: readonly T[], count: number, run: (each: T) => Promise<boolean>) => {
    let done = 0
    let failed = 0
    for (const each of rotated(all, turn).slice(0, count)) {
      try {
        if (await run(each)) done += 1
      } catch (error) {
        if (options.signal.aborted) throw error
        failures.push(error)
        failed += 1
        if (failed >= MAX_FAILURES) break
      }
    }
    return done
  }
  const closed = await runSome(ended, GAPS_AT_ONCE, (gap) => closeGap(options, gap))
  const unswept = [...options.markets()].filter(
    (each) => each.needsOwnSweep && !each.isSwept && each.traded.toMs < lastMs,
  )
  await runSome(unswept, SWEEPS_AT_ONCE, (each) =>
    requestTrades(options, each, { from: each.traded.fromMs, to: each.traded.toMs }),
  )
  const unproven = [...options.markets()].filter(
    (each) => each.unproven !== undefined && each.unproven.toMs < lastMs && each.traded.toMs >= lastMs,
  )
  await runSome(unproven, SWEEPS_AT_ONCE, (each) => proveRunning(options, each, lastMs))
  if (failures.length > 0) throw failures.at(-1)
  return closed
}

/**
 * Proves a running market of which the venue counted more than was restored. The newest volume may include trades that
 * are not listed yet, so only trades missing before the restart retract what an earlier run observed.
 */
async function proveRunning(
  options: BackfillTradesOptions,
  each: BackfilledMarket,
  lastMs: number,
): Promise<boolean> {
  await each.ready()
  let isComplete = each.lacking() === 0
  try {
    const fromMs = each.unproven?.fromMs ?? each.traded.fromMs
    isComplete ||= await requestTrades(options, each, { from: fromMs, to: lastMs })
  } finally {
    if (isComplete || each.lackingListed() > 0) each.proven(isComplete)
  }
  return isComplete
}

async function closeGap(options: BackfillTradesOptions, gap: Gap): Promise<boolean> {
  const { nowMs } = options
  const fromMs = gap.from - ENDED_BEFORE_MS
  if (!(await listMarkets(options, fromMs))) return false
  // A predecessor that ended early is in no list of the markets that ended later, so one from its start is requested.
  const predecessorMs = lackingPredecessorMs(options, gap)
  if (predecessorMs < fromMs && !(await listMarkets(options, predecessorMs))) return false
  // The list, or that of one series, may have been empty although markets exist; if it stays so, the venue had none.
  const isLacking = lacksWindow(options, gap) || lackingPredecessorMs(options, gap) < Number.POSITIVE_INFINITY
  if (isLacking && isListDoubted(options, gap)) return false
  const concerned = rotated(
    [...options.markets()].filter(({ traded }) => traded.fromMs < gap.to && traded.toMs > gap.from),
    options.turn,
  )
  let open = 0
  for (const each of concerned) {
    if (!(await requestTrades(options, each, gap))) open += 1
    // Does not stop at the first one, because the markets would then be doubted one after the other, half an hour each.
    if (open >= SWEEPS_AT_ONCE) break
  }
  if (open > 0) return false
  // Coverage is written after its rows, so rows that still wait for those of an earlier run are awaited.
  for (const each of concerned) await each.ready()
  const hasMids = await requestMids(options, concerned, gap).catch((error) => {
    // Trades wait only this long for midpoints; without them the gap of the candles stays.
    if (options.signal.aborted || nowMs < gap.to + MIDS_WITHIN_MS) throw error
    return false
  })
  for (const each of concerned) each.show()
  const { feed, tracker } = options
  tracker.confirm(feed, gap.from, gap.to)
  tracker.received(feed, gap.from, gap.to)
  for (const candles of options.candleFeeds) {
    if (hasMids) tracker.confirm(candles, gap.from, gap.to)
    // What lacked nothing but trades is complete without midpoints.
    tracker.received(candles, gap.from, gap.to)
  }
  return true
}

/** Receives the markets that ended since. Returns false if one of them cannot be read: it may have been traded. */
async function listMarkets(options: BackfillTradesOptions, fromMs: number): Promise<boolean> {
  const { venue, symbol, nowMs, signal, onMarket } = options
  const request = { topic: 'markets', symbol, range: { fromMs, toMs: nowMs + 1 } } as const
  let isListed = true
  for await (const { observations, covered } of venue.history(request, { signal })) {
    for (const row of observations) if (row.kind === 'market') onMarket(row.market)
    if (covered === null) isListed = false
  }
  return isListed
}

function isListDoubted({ unlisted, nowMs }: BackfillTradesOptions, gap: Pick<Gap, 'from'>): boolean {
  for (const [fromMs, { lastMs }] of unlisted) if (nowMs > lastMs + DOUBT_KEPT_MS) unlisted.delete(fromMs)
  const doubt = doubtedAgain(unlisted.get(gap.from), nowMs)
  unlisted.set(gap.from, doubt)
  return doubt.doubtedMs < WINDOWS_WITHIN_MS
}

/** Whether a window of a duration that the venue always has is not known within the gap. */
function lacksWindow({ endless, markets }: BackfillTradesOptions, gap: Pick<Gap, 'from' | 'to'>): boolean {
  const known = [...markets()].map(({ market }) => market)
  return endless.some((type) => {
    const interval = storedInterval(type)
    const ends = known.flatMap(({ marketType, endTime }) => (marketType === type ? (endTime ?? []) : []))
    // A duration that was never listed may not exist.
    if (ends.length === 0) return false
    const starts = new Set(ends.map((endMs) => windowStart(type, endMs)))
    for (let at = candleStart(gap.from, interval); at < gap.to; at += INTERVAL_MS[interval])
      if (!starts.has(at)) return true
    return false
  })
}

/** The series of a market: its ticker begins with it, and windows of one duration are one series. */
const seriesOf = ({ ticker, marketType }: MarketInput) => ticker?.split('-')[0] ?? marketType

/**
 * When the first unknown predecessor began: a market began within the gap, or soon after it, and none of its series
 * that ended when it began is known, so the list of that series may have been empty. Infinity if none is lacking.
 * Durations of which a window is always running are checked one by one.
 */
function lackingPredecessorMs(
  { endless, markets, nowMs }: BackfillTradesOptions,
  gap: Pick<Gap, 'from' | 'to'>,
): number {
  const known = [...markets()].map(({ market }) => market)
  const endsOf = Map.groupBy(known, seriesOf)
  const beganMs = known.flatMap((market) => {
    const { marketType, startTime, endTime } = market
    if (marketType == null || endless.includes(marketType) || startTime == null || endTime == null) return []
    const firstMs = startTime - (endTime - startTime)
    if (startTime <= gap.from || startTime > nowMs || firstMs >= gap.to) return []
    const others = endsOf.get(seriesOf(market)) ?? []
    return others.some(({ endTime: endMs }) => endMs != null && endMs > firstMs && endMs <= startTime)
      ? []
      : [firstMs]
  })
  return beganMs.reduce((first, ms) => Math.min(first, ms), Number.POSITIVE_INFINITY)
}

/** Returns false if the venue has no midpoints of some market, or only coarser ones. */
async function requestMids(
  options: BackfillTradesOptions,
  concerned: readonly BackfilledMarket[],
  gap: Pick<Gap, 'from' | 'to'>,
): Promise<boolean> {
  const { venue, symbol, signal } = options
  if (!options.hasMids) return false
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

/** Returns false if the venue's answer does not cover the whole range. */
async function requestTrades(
  options: BackfillTradesOptions,
  each: BackfilledMarket,
  gap: Pick<Gap, 'from' | 'to'>,
): Promise<boolean> {
  const { doubts, nowMs } = options
  const { marketId } = each.market
  const hasEnded = each.traded.toMs < nowMs - LISTED_AFTER_MS
  const isWhole = hasEnded && !each.isSwept
  const needed = {
    fromMs: isWhole ? each.firstMs : Math.max(gap.from, each.traded.fromMs),
    toMs: isWhole ? each.traded.toMs : Math.min(gap.to, each.traded.toMs),
  }
  if (!each.isUntraded(needed.toMs)) {
    if (each.lacking() > 0 && doubts.isTooEarly(marketId, nowMs)) return false
    if (!(await request(options, each, needed))) return false
    await each.ready()
    if (each.lacking() === 0) doubts.settled(marketId)
    else {
      const whole = { fromMs: each.firstMs, toMs: Math.min(each.traded.toMs, nowMs) }
      if (needed.fromMs > whole.fromMs || needed.toMs < whole.toMs) {
        await request(options, each, whole)
        await each.ready()
      }
      if (doubts.isDoubted(marketId, each.lacking(), Number(each.market.volume ?? 0), nowMs)) return false
    }
  }
  if (isWhole) each.swept()
  return true
}

async function request(
  { venue, symbol, signal, listedApartMs }: BackfillTradesOptions,
  each: BackfilledMarket,
  range: HistoryRange,
): Promise<boolean> {
  // A trade that the stream lost within the range may be listed with a time just outside of it.
  const asked = { fromMs: range.fromMs - listedApartMs, toMs: range.toMs + listedApartMs }
  const question = { topic: 'trades', symbol, market: each.market.marketId, range: asked } as const
  let coveredMs = range.fromMs
  for await (const { observations, covered } of venue.history(question, { signal })) {
    for (const row of observations) if (row.kind === 'trade') each.trade({ ...row, isSwept: true })
    if (covered !== null && covered.fromMs <= coveredMs) coveredMs = Math.max(coveredMs, covered.toMs)
  }
  return coveredMs >= range.toMs
}
