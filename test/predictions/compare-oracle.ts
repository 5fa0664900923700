/** Compares the stored candles of the oracle with those of the true rounds. */
import { type CandleInterval, INTERVAL_MS } from '../../src/core/interval.ts'
import type { CandleRow } from '../../src/core/rows/schemas.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import { candleFeed } from '../../src/ingest/shared/feeds.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import type { HistoryRange } from '../../src/venues/venue.ts'
import type { PredictionTruth } from '../sandbox/prediction-truth.ts'
import { readRows } from './compare.ts'
import { HEARTBEAT_MS } from './recording.ts'

const HOUR_MS = 3_600_000
/** An answer is carried forward into a candle that ends at most this long after it. */
const CARRIED_FOR_MS = 3 * HEARTBEAT_MS
/** The last candle is closed when its successor's first answer was received. */
const CLOSES_WITHIN_MS = 75_000
const UNITS_PER_DOLLAR = 100_000_000n

/** Prices as the service shows them. */
interface TrueCandle {
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
}

interface TrueAnswer {
  readonly id: bigint
  readonly units: bigint
  readonly updatedMs: number
}

export interface OracleSubject {
  readonly truth: PredictionTruth
  readonly symbol: AssetSymbol
  readonly interval: Extract<CandleInterval, '5m' | '15m'>
  readonly range: HistoryRange
  /** Whether a round of that time was lost with a chain that stood still. */
  readonly isLost: (updatedMs: number) => boolean
}

export interface TrueOracleCandles extends HistoryRange {
  readonly stepMs: number
  readonly candles: ReadonlyMap<number, TrueCandle>
  /** Candles without an answer, old or new: they must be gaps. */
  readonly hollow: readonly HistoryRange[]
}

/** Of the whole candles of a range. */
export function trueOracleCandles({
  truth,
  symbol,
  interval,
  range,
  isLost,
}: OracleSubject): TrueOracleCandles {
  const stepMs = INTERVAL_MS[interval]
  const fromMs = Math.ceil(range.fromMs / stepMs) * stepMs
  const toMs = Math.floor(range.toMs / stepMs) * stepMs
  const answers = truth
    .rounds(symbol, fromMs - HOUR_MS, toMs)
    .map(({ id, answer, updatedAtS }) => ({
      ...{ id: BigInt(id), units: BigInt(answer), updatedMs: updatedAtS * 1_000 },
    }))
    .filter(({ updatedMs }) => !isLost(updatedMs))
    .sort((a, b) => a.updatedMs - b.updatedMs || (a.id < b.id ? -1 : 1))
  const candles = new Map<number, TrueCandle>()
  for (let atMs = fromMs; atMs < toMs; atMs += stepMs) {
    const candle = trueCandle(answers, atMs, atMs + stepMs)
    if (candle !== undefined) candles.set(atMs, candle)
  }
  const hollow: HistoryRange[] = []
  for (let atMs = fromMs; atMs < toMs; atMs += stepMs)
    if (!candles.has(atMs)) hollow.push({ fromMs: atMs, toMs: atMs + stepMs })
  return { fromMs, toMs, stepMs, candles, hollow }
}

/**
 * Open and close are the first and the last answer of the candle, high and low are of all of them. A candle without an
 * answer is flat at the answer before, unless that is too old: then the chain or the feed was halted, and there is
 * none.
 */
function trueCandle(answers: readonly TrueAnswer[], fromMs: number, toMs: number): TrueCandle | undefined {
  const own = answers.filter(({ updatedMs }) => updatedMs >= fromMs && updatedMs < toMs)
  const before = answers.findLast(({ updatedMs }) => updatedMs < fromMs)
  const isCarried = own.length === 0 && before !== undefined && toMs - before.updatedMs <= CARRIED_FOR_MS
  const prices = (isCarried ? [before] : own).map(({ units }) => dollarsOf(units))
  const [open, close] = [prices[0], prices.at(-1)]
  if (open === undefined || close === undefined) return undefined
  return { open, high: Math.max(...prices), low: Math.min(...prices), close }
}

function dollarsOf(units: bigint): number {
  const fraction = String(units % UNITS_PER_DOLLAR).padStart(8, '0')
  return Number(`${units / UNITS_PER_DOLLAR}.${fraction}`)
}

/** What is wrong: a closed candle that is not the true one, and one that is neither there nor in a gap. */
export async function compareOracle(
  subject: OracleSubject & {
    readonly store: EnvironmentStore
    /** Candles that end by then must be there. */
    readonly settledMs: number
    /** A row that is marked as not closed yet claims nothing. */
    readonly mayBeOpen?: boolean
    /** Whether the candle cannot be known yet. */
    readonly isUnknown?: (fromMs: number, toMs: number) => boolean
  },
): Promise<string[]> {
  const { store, symbol, interval, settledMs } = subject
  const { fromMs, toMs, stepMs, candles } = trueOracleCandles(subject)
  const feed = candleFeed('oracle', symbol, interval)
  const rows = await readRows<CandleRow>(store, feed, [''], { from: fromMs, to: toMs })
  const { gaps } = await store.coverage.read([feed], fromMs, toMs)
  const stored = new Map(rows.map((row) => [Date.parse(row.timestamp), row]))
  const wrong: string[] = []
  if (stored.size !== rows.length) wrong.push(`${symbol} ${interval}: a candle is there twice`)
  for (let atMs = fromMs; atMs < toMs; atMs += stepMs) {
    const at = `${symbol} ${interval} ${new Date(atMs).toISOString()}`
    if (gaps.some((gap) => gap.from < atMs + stepMs && gap.to > atMs)) continue
    if (subject.isUnknown?.(atMs, atMs + stepMs) === true) continue
    const [row, candle] = [stored.get(atMs), candles.get(atMs)]
    const isSettled = atMs + stepMs <= settledMs
    if (candle === undefined) {
      if (row?.closed || isSettled)
        wrong.push(`${at}: ${row === undefined ? 'no' : 'a'} row, but no answer and no gap`)
    } else if (row === undefined) {
      if (isSettled) wrong.push(`${at}: no candle and no gap`)
    } else if (row.closed) {
      const own = [row.open, row.high, row.low, row.close].join()
      const real = [candle.open, candle.high, candle.low, candle.close].join()
      if (own !== real) wrong.push(`${at}: ${own}, but ${real}`)
    } else if (isSettled && subject.mayBeOpen !== true) wrong.push(`${at}: still open`)
  }
  return wrong
}

/** Of bitcoin, of a world whose chain never stood still. */
export function compareClosedOracle(
  store: EnvironmentStore,
  truth: PredictionTruth,
  interval: OracleSubject['interval'],
  range: HistoryRange,
): Promise<string[]> {
  const settledMs = range.toMs - CLOSES_WITHIN_MS
  return compareOracle({
    ...{ store, truth, symbol: 'BTC', interval, settledMs, isLost: () => false },
    range: { fromMs: range.fromMs, toMs: settledMs },
  })
}
