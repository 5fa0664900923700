/**
 * The self-checks of an exchange.
 *
 *   coverage   finer candles exist and add up to the longer ones, seconds to their minute, trades to their second
 *   venue      an hour of minutes, some seconds, or three days of funding rates are requested again
 *
 * If stored rows contradict each other, or the venue contradicts them, the venue's answers decide (suspicions.ts).
 */
import type { Feed } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import type { SymbolParts } from '../exchange/symbol-parts.ts'
import { candleFeed } from '../shared/feeds.ts'
import type { AuditCheck, AuditDifference } from './audit.ts'
import { compareIntervals, PAIRS } from './compare-intervals.ts'
import { compareTrades } from './compare-trades.ts'
import { drawRange, pick } from './draw.ts'
import { judgeFunding } from './judge-funding.ts'
import { judgeSeconds, reachOfSeconds } from './judge-seconds.ts'
import { createSuspicions, type Suspicion, type WrongRow } from './suspicions.ts'
import { judgeMinutes } from './venue-candles.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** Seconds are requested in ranges of this length. */
const SECONDS_RANGE_MS = 5 * MINUTE_MS

export interface ExchangeAuditParts {
  readonly symbols: readonly SymbolParts[]
  readonly store: Pick<EnvironmentStore, 'series' | 'coverage'>
  readonly random: () => number
}

export function auditExchange({ symbols, store, random }: ExchangeAuditParts): AuditCheck[] {
  const [any] = symbols
  if (any === undefined) return []
  const { clock, plan } = any
  const ofRows = createSuspicions(clock)
  const ofVenue = createSuspicions(clock)

  /**
   * Suspects the whole day of a range, as far as it is over, because a wrong minute affects candles of every length.
   */
  async function suspectDay(
    parts: SymbolParts,
    atMs: number,
    giveUp?: Suspicion['giveUp'],
  ): Promise<Suspicion> {
    const fromMs = Math.floor(atMs / DAY_MS) * DAY_MS
    const [final] = await store.series.finality([candleFeed(plan.source, parts.symbol, '1m')])
    const endMs = Math.min(fromMs + DAY_MS, final?.before ?? 0, clock.now())
    const range = { fromMs, toMs: Math.floor(endMs / HOUR_MS) * HOUR_MS }
    return {
      key: `${parts.symbol} minutes ${fromMs}`,
      judge: () => judgeMinutes(store, parts, range),
      ...(giveUp === undefined ? {} : { giveUp }),
    }
  }

  function suspectSeconds(parts: SymbolParts, range: HistoryRange): Suspicion {
    return {
      key: `${parts.symbol} seconds ${range.fromMs}`,
      judge: () => judgeSeconds(store, parts, range),
    }
  }

  const draw = (feed: Feed, lengthMs: number, stepMs: number, reachMs?: number) =>
    drawRange({ series: store.series, clock, random }, feed, lengthMs, stepMs, reachMs)

  async function checkIntervals(parts: SymbolParts): Promise<readonly AuditDifference[] | null> {
    const pair = pick(PAIRS, random)
    if (pair === undefined) return null
    const lengthMs = Math.max(HOUR_MS, 4 * INTERVAL_MS[pair.coarse])
    const feed = candleFeed(plan.source, parts.symbol, pair.coarse)
    const range = await draw(feed, lengthMs, INTERVAL_MS[pair.coarse])
    if (range === undefined) return null
    const found = await compareIntervals(store, parts, pair, range)
    if (found === undefined) return null
    const [first] = found
    if (first !== undefined) ofRows.add(await suspectDay(parts, first.fromMs, first.giveUp))
    return []
  }

  async function checkSeconds(parts: SymbolParts): Promise<readonly AuditDifference[] | null> {
    const reachMs = plan.secondsFrom === 'trades' ? Number.POSITIVE_INFINITY : reachOfSeconds(parts)
    const feed = candleFeed(plan.source, parts.symbol, '1s')
    const range = await draw(feed, MINUTE_MS, MINUTE_MS, reachMs)
    if (range === undefined) return null
    if (plan.secondsFrom === 'trades') return compareTrades(store, parts, range, ofRows)
    const found = await compareIntervals(store, parts, { fine: '1s', coarse: '1m' }, range)
    if (found === undefined) return null
    if (found.length > 0) ofRows.add(suspectSeconds(parts, range))
    return []
  }

  /** Turns wrong rows of a first judgement into a suspicion, which is judged again. */
  async function ask(
    wrong: readonly WrongRow[] | undefined,
    suspect: () => Suspicion | Promise<Suspicion>,
  ): Promise<readonly AuditDifference[] | null> {
    if (wrong === undefined) return null
    if (wrong.length > 0) ofVenue.add(await suspect())
    return []
  }

  async function askMinutes(parts: SymbolParts): Promise<readonly AuditDifference[] | null> {
    const range = await draw(candleFeed(plan.source, parts.symbol, '1m'), HOUR_MS, HOUR_MS)
    if (range === undefined) return null
    return ask(await judgeMinutes(store, parts, range), () => suspectDay(parts, range.fromMs))
  }

  async function askSeconds(parts: SymbolParts): Promise<readonly AuditDifference[] | null> {
    const lengthMs = plan.secondsFrom === 'candles' ? SECONDS_RANGE_MS : MINUTE_MS
    const feed = candleFeed(plan.source, parts.symbol, '1s')
    const range = await draw(feed, lengthMs, MINUTE_MS, reachOfSeconds(parts))
    if (range === undefined) return null
    return ask(await judgeSeconds(store, parts, range), () => suspectSeconds(parts, range))
  }

  async function askFunding(parts: SymbolParts): Promise<readonly AuditDifference[] | null> {
    const feed = { dataset: 'funding', source: plan.source, symbol: parts.symbol, interval: '' } as const
    const range = await draw(feed, 3 * DAY_MS, HOUR_MS)
    if (range === undefined) return null
    const judge = () => judgeFunding(store, parts, range)
    return ask(await judge(), () => ({ key: `${parts.symbol} funding ${range.fromMs}`, judge }))
  }

  const ofRandomSymbol =
    (checks: readonly ((parts: SymbolParts) => Promise<readonly AuditDifference[] | null>)[]) => async () => {
      const parts = pick(symbols, random)
      const check = pick(checks, random)
      return parts === undefined || check === undefined ? null : check(parts)
    }
  const compareRows = ofRandomSymbol([checkIntervals, checkSeconds])
  const compareVenue = ofRandomSymbol([
    askMinutes,
    ...(plan.secondsFrom === 'trades' ? [] : [askSeconds]),
    ...(plan.hasFunding ? [askFunding] : []),
  ])
  return [
    {
      ...{ kind: 'coverage', weight: 3, isDue: ofRows.isDue },
      run: () => (ofRows.isDue(clock.now()) ? ofRows.resolve() : compareRows()),
    },
    {
      ...{ kind: 'venue', weight: 1, isDue: ofVenue.isDue },
      run: () => (ofVenue.isDue(clock.now()) ? ofVenue.resolve() : compareVenue()),
    },
  ]
}
