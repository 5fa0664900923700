/**
 * The self-check of an on-chain price: the rounds of a random range are requested again, and the candles built from
 * them are compared with the stored ones. Rounds are final on their chain and the nodes have to agree on each, so every
 * difference is an error; if the nodes disagree, nothing is judged.
 */
import { INTERVAL_MS } from '../../core/interval.ts'
import { buildOracleCandles, CARRY_HEARTBEATS, type OracleUpdate } from '../../core/oracle-candles.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import { ORACLE_INTERVALS } from '../oracle/close-oracle-candles.ts'
import { candleFeed } from '../shared/feeds.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import type { AuditCheck } from './audit.ts'
import { readCertain } from './certain-rows.ts'
import { compared } from './compare-row.ts'
import { drawRange, pick } from './draw.ts'
import { createSuspicions, type WrongRow } from './suspicions.ts'

const RANGE_MS = 2 * INTERVAL_MS['15m']
const FIGURES: readonly (keyof CandleRow)[] = ['open', 'high', 'low', 'close', 'closed']

export interface OracleAuditParts {
  readonly venue: Pick<Venue, 'describe' | 'history'>
  readonly symbols: readonly AssetSymbol[]
  readonly heartbeatMs: number
  readonly store: Pick<EnvironmentStore, 'series' | 'coverage'>
  readonly rows: Pick<RowWriter, 'put'>
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
}

export function auditOracle(parts: OracleAuditParts): AuditCheck {
  const { venue, symbols, store, clock, random } = parts
  const suspicions = createSuspicions(clock)
  return {
    ...{ kind: 'venue', weight: 1, isDue: suspicions.isDue },
    async run() {
      if (suspicions.isDue(clock.now())) return suspicions.resolve()
      const symbol = pick(symbols, random)
      if (symbol === undefined) return null
      const feed = candleFeed(venue.describe.source, symbol, '15m')
      const range = await drawRange({ ...parts, series: store.series }, feed, RANGE_MS, INTERVAL_MS['15m'])
      if (range === undefined) return null
      const judge = () => judgeRounds(parts, symbol, range)
      const wrong = await judge()
      if (wrong === undefined) return null
      if (wrong.length > 0) suspicions.add({ key: `${symbol} rounds ${range.fromMs}`, judge })
      return []
    },
  }
}

async function judgeRounds(
  { venue, heartbeatMs, store, rows, signal }: OracleAuditParts,
  symbol: AssetSymbol,
  range: HistoryRange,
): Promise<WrongRow[] | undefined> {
  const asked = { fromMs: range.fromMs - CARRY_HEARTBEATS * heartbeatMs, toMs: range.toMs }
  const updates: OracleUpdate[] = []
  let coveredMs = asked.fromMs
  for await (const page of venue.history({ topic: 'oracle_rounds', symbol, range: asked }, { signal })) {
    if (page.missing.length > 0 || (page.covered?.fromMs ?? coveredMs) > coveredMs) return undefined
    coveredMs = Math.max(coveredMs, page.covered?.toMs ?? coveredMs)
    for (const row of page.observations) if (row.kind === 'oracle_round') updates.push(row)
  }
  if (coveredMs < asked.toMs) return undefined
  const wrong: WrongRow[] = []
  for (const interval of ORACLE_INTERVALS) {
    const feed = candleFeed(venue.describe.source, symbol, interval)
    const stored = await readCertain(store, feed, range)
    if (stored === undefined) return undefined
    for (const candle of buildOracleCandles({ interval, updates, ...range, heartbeatMs })) {
      const { openTimeMs: time, open, high, low, close } = candle
      if (!stored.isCertain(time, time + INTERVAL_MS[interval])) continue
      const input = { time, open, high, low, close, closed: true }
      wrong.push(...compared(feed, stored.at(time), input, FIGURES, () => rows.put(feed, [input])))
    }
  }
  return wrong
}
