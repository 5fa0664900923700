/**
 * Compares stored candles, and the flow that follows from them, with the venue's own candles of the same time.
 *
 *   venue's minutes ──▶ roll-up ──▶ every longer candle and bucket of flow in the range
 *   stored row is one of these, or not certain (a gap, not final) ──▶ nothing · anything else ──▶ wrong
 *
 * What may legitimately differ is not compared: funding and open interest that were joined to a candle; counts of flow;
 * a candle that the venue no longer has; and, if the venue leaves out quiet candles, one that it published later. If
 * longer candles may come from the venue's own ones, those are accepted as well.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import type { FlowInput } from '../../core/rows/flow.ts'
import type { Numeric } from '../../core/rows/json-text.ts'
import type { CandleRow, ServedRows } from '../../core/rows/schemas.ts'
import { Slice } from '../../kit/time-slices.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { CandleObservation } from '../../venues/observation.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { flowOf } from '../exchange/build-flow.ts'
import { type Candle, candleOfKline } from '../exchange/candle.ts'
import { candleOf } from '../exchange/candle-row.ts'
import { advanceAround, checkCandles, checkFlow } from '../exchange/check-candles.ts'
import { createRollUp, type RolledCandle } from '../exchange/roll-up-candles.ts'
import type { SymbolParts } from '../exchange/symbol-parts.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import { readCertain } from './certain-rows.ts'
import { compared } from './compare-row.ts'
import type { WrongRow } from './suspicions.ts'

type Store = Pick<EnvironmentStore, 'series' | 'coverage'>

/** The venue's candles of a range; undefined if it does not have all of them. */
export async function requestCandles(
  { venue, symbol, signal }: SymbolParts,
  interval: CandleInterval,
  range: HistoryRange,
): Promise<Candle[] | undefined> {
  const candles: Candle[] = []
  const slice = new Slice()
  let toMs = range.fromMs
  for await (const page of venue.history({ topic: 'candles', symbol, interval, range }, { signal })) {
    if (page.missing.length > 0 || page.covered === null || page.covered.fromMs > toMs) return undefined
    toMs = page.covered.toMs
    for (const row of page.observations) {
      if (isKline(row)) candles.push(candleOfKline(row))
      if (slice.isOver) await slice.next()
    }
  }
  return toMs >= range.toMs ? candles : undefined
}

const isKline = (row: { kind: string }): row is CandleObservation => row.kind === 'candle'

const hasTrades = ({ count, volume }: Candle): boolean => count > 0 || volume.units > 0n

/** The rows of a range that the venue's minutes contradict; undefined if the venue does not have them. */
export async function judgeMinutes(
  store: Store,
  parts: SymbolParts,
  range: HistoryRange,
): Promise<WrongRow[] | undefined> {
  const { plan } = parts
  const minutes = await requestCandles(parts, '1m', range)
  if (minutes === undefined) return undefined
  const { good, rolled, flow } = await rollUpMinutes(parts, minutes, range)
  const ofInterval = (rows: readonly RolledCandle[], wanted: CandleInterval) =>
    rows.filter(({ interval }) => interval === wanted).map(({ candle }) => candle)
  const wrong: WrongRow[] = await judgeCandles(store, parts, '1m', good, range)
  for (const interval of COARSE_INTERVALS) {
    const found = await judgeCandles(store, parts, interval, ofInterval(rolled, interval), range)
    wrong.push(...(await withoutOwn(store, parts, interval, range, found)))
    if (plan.hasFlow)
      wrong.push(...(await judgeFlow(store, parts, interval, ofInterval(flow, interval), range)))
  }
  return wrong
}

/** Hour by hour, because a day of minutes would block this thread for too long. */
async function rollUpMinutes(parts: SymbolParts, minutes: readonly Candle[], range: HistoryRange) {
  const about = { intervals: COARSE_INTERVALS, fromMs: range.fromMs }
  const [candles, flows] = [createRollUp(about), createRollUp(about)]
  const made = { good: [] as Candle[], rolled: [] as RolledCandle[], flow: [] as RolledCandle[] }
  const hours = Map.groupBy(minutes, ({ openMs }) => candleStart(openMs, '1h'))
  const slice = new Slice()
  for (let fromMs = range.fromMs; fromMs < range.toMs; fromMs += INTERVAL_MS['1h']) {
    const toMs = Math.min(fromMs + INTERVAL_MS['1h'], range.toMs)
    const checked = checkCandles(parts, '1m', hours.get(fromMs) ?? [])
    made.good.push(...checked.good)
    made.rolled.push(...advanceAround(candles, checked, '1m', toMs))
    if (parts.plan.hasFlow)
      made.flow.push(...advanceAround(flows, checkFlow(parts, '1m', checked), '1m', toMs))
    if (slice.isOver) await slice.next()
  }
  return made
}

/** Removes candles that agree with the venue's own longer candles, which a backfill may have stored. */
async function withoutOwn(
  store: Store,
  parts: SymbolParts,
  interval: CandleInterval,
  range: HistoryRange,
  found: readonly WrongRow[],
): Promise<readonly WrongRow[]> {
  if (found.length === 0 || isRolledUp(parts)) return found
  const own = await requestCandles(parts, interval, range)
  if (own === undefined) return []
  const contradicted = new Set((await judgeCandles(store, parts, interval, own, range)).map(({ key }) => key))
  return found.filter(({ key }) => contradicted.has(key))
}

/** Whether every longer candle is rolled up from minutes. */
export const isRolledUp = ({ plan }: Pick<SymbolParts, 'plan'>): boolean =>
  plan.backfill.every((step) => step.kind !== 'candles' || step.interval === '1m')

/** The stored candles of one interval that differ from these. */
export async function judgeCandles(
  store: Store,
  parts: SymbolParts,
  interval: CandleInterval,
  candles: readonly Candle[],
  range: HistoryRange,
): Promise<WrongRow[]> {
  const { plan, symbol, derivatives, writer } = parts
  const feed = candleFeed(plan.source, symbol, interval)
  const stored = await readCertain(store, feed, range)
  if (stored === undefined) return []
  const wrong: WrongRow[] = []
  const slice = new Slice()
  for (const candle of candles) {
    if (slice.isOver) await slice.next()
    const { openMs } = candle
    if (!stored.isCertain(openMs, openMs + INTERVAL_MS[interval])) continue
    const row = stored.at(openMs)
    if (row === undefined && !hasTrades(candle) && !plan.hasQuietCandles) continue
    const fresh = candleOf(plan, { interval, candle }, true, derivatives)
    const input: CandleInput =
      row === undefined
        ? fresh
        : {
            ...fresh,
            fundingRate: kept(fresh.fundingRate, row.funding_rate),
            openInterest: kept(fresh.openInterest, row.open_interest),
          }
    wrong.push(...compared(feed, row, input, CANDLE_FIGURES, () => writer.put(feed, [input])))
  }
  return wrong
}

/** The stored value, with all its digits if they are known. */
function kept(fresh: Numeric | null | undefined, stored: number | null): Numeric | null {
  return stored !== null && fresh !== null && fresh !== undefined && Number(fresh) === stored ? fresh : stored
}

async function judgeFlow(
  store: Store,
  parts: SymbolParts,
  interval: CandleInterval,
  candles: readonly Candle[],
  range: HistoryRange,
): Promise<WrongRow[]> {
  const { plan, symbol, writer } = parts
  const feed = feedOf('flow', plan.source, symbol, interval)
  const stored = await readCertain(store, feed, range)
  if (stored === undefined) return []
  const wrong: WrongRow[] = []
  const slice = new Slice()
  for (const candle of candles) {
    if (slice.isOver) await slice.next()
    const { openMs } = candle
    const fresh = flowOf(candle, true)
    if (fresh === undefined || !stored.isCertain(openMs, openMs + INTERVAL_MS[interval])) continue
    const row = stored.at(openMs)
    const counts = { numBuys: row?.num_buys ?? null, numSells: row?.num_sells ?? null }
    const input: FlowInput = { ...fresh, ...counts }
    wrong.push(...compared(feed, row, input, FLOW_FIGURES, () => writer.put(feed, [input])))
  }
  return wrong
}

/** The figures that a venue's candle determines, without those joined to it from elsewhere. */
const CANDLE_FIGURES = [
  ...['open', 'high', 'low', 'close', 'volume', 'num_trades', 'taker_buy_ratio', 'closed'],
] as readonly (keyof CandleRow)[]
const FLOW_FIGURES = [
  ...['buy_volume', 'sell_volume', 'vwap_buy', 'vwap_sell'],
] as readonly (keyof ServedRows['flow'])[]
