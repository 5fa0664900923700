/** Stored candles of the oracle against those of the true rounds. */
import { type CandleInterval, INTERVAL_MS } from '../../src/core/interval.ts'
import { answerText, buildOracleCandles, type OracleCandle } from '../../src/core/oracle-candles.ts'
import type { CandleRow } from '../../src/core/rows/schemas.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import { candleFeed } from '../../src/ingest/shared/feeds.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import type { HistoryRange } from '../../src/venues/venue.ts'
import type { PredictionTruth } from '../sandbox/prediction-truth.ts'
import { readRows } from './compare.ts'
import { HEARTBEAT_MS } from './recording.ts'

const HOUR_MS = 3_600_000

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
  readonly candles: ReadonlyMap<number, OracleCandle>
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
  const updates = truth
    .rounds(symbol, fromMs - HOUR_MS, toMs)
    .map((round) => ({
      roundId: BigInt(round.id),
      updatedMs: round.updatedAtS * 1_000,
      price: answerText(BigInt(round.answer), 8),
    }))
    .filter(({ updatedMs }) => !isLost(updatedMs))
  const built = buildOracleCandles({ interval, updates, fromMs, toMs, heartbeatMs: HEARTBEAT_MS })
  const candles = new Map(built.map((candle) => [candle.openTimeMs, candle]))
  const hollow: HistoryRange[] = []
  for (let atMs = fromMs; atMs < toMs; atMs += stepMs)
    if (!candles.has(atMs)) hollow.push({ fromMs: atMs, toMs: atMs + stepMs })
  return { fromMs, toMs, stepMs, candles, hollow }
}

/** What is wrong: a closed candle that is not the true one, and one that is neither there nor in a gap. */
export async function compareOracle(
  subject: OracleSubject & {
    readonly store: EnvironmentStore
    /** Candles that end by then must be there. */
    readonly settledMs: number
    /** A row that says that it is not closed yet promises nothing. */
    readonly mayBeOpen?: boolean
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
    const [row, candle] = [stored.get(atMs), candles.get(atMs)]
    const isSettled = atMs + stepMs <= settledMs
    if (candle === undefined) {
      if (row?.closed || isSettled)
        wrong.push(`${at}: ${row === undefined ? 'no' : 'a'} row, but no answer and no gap`)
    } else if (row === undefined) {
      if (isSettled) wrong.push(`${at}: no candle and no gap`)
    } else if (row.closed) {
      const own = [row.open, row.high, row.low, row.close].join()
      const real = [candle.open, candle.high, candle.low, candle.close].map(Number).join()
      if (own !== real) wrong.push(`${at}: ${own}, but ${real}`)
    } else if (isSettled && subject.mayBeOpen !== true) wrong.push(`${at}: still open`)
  }
  return wrong
}
