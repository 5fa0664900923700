import { useState } from 'preact/hooks'
import { view } from '../api.ts'
import { dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { Card, Choice, Empty, Problem, Select } from '../ui/parts.tsx'
import { CandleChart } from './candle-chart.tsx'
import type { SymbolName } from './explorer.tsx'

export interface CandleRow {
  timestamp: string
  open: number
  high: number
  low: number
  close: number
  volume: number | null
  closed?: boolean
}

export interface FundingRow {
  timestamp: string
  funding_rate: number
}

export interface GapSpan {
  source: string
  from: string
  to: string
  reason: string
}

interface CandlePage {
  data: CandleRow[]
  meta: { coverage: { gaps: GapSpan[] } }
}

const SOURCES = ['cexa', 'cexa_futures', 'perpdex', 'oracle'] as const
export const BAR_SECONDS = {
  '1s': 1,
  '1m': 60,
  '5m': 300,
  '15m': 900,
  '1h': 3_600,
  '4h': 14_400,
  '1d': 86_400,
} as const
export type Bar = keyof typeof BAR_SECONDS
const BARS = Object.keys(BAR_SECONDS) as Bar[]
const FUNDED = ['cexa_futures', 'perpdex']

/** The bars that a plan and a source have. */
function barsOf(finest: string | undefined, source: string): Bar[] {
  const least = BAR_SECONDS[(finest ?? '15m') as Bar] ?? 0
  return BARS.filter(
    (bar) => BAR_SECONDS[bar] >= least && (source !== 'oracle' || bar === '5m' || bar === '15m'),
  )
}

export function Candles({ symbol }: { symbol: SymbolName }) {
  const { environment, session } = useSession()
  const [source, setSource] = useState<(typeof SOURCES)[number]>('cexa_futures')
  const [wanted, setWanted] = useState<Bar>('15m')
  const bars = barsOf(session.plan?.finest_candle, source)
  const bar = bars.includes(wanted) ? wanted : (bars[0] ?? '15m')
  const path = `/v1/candles?symbol=${symbol}&source=${source}&interval=${bar}&limit=500`
  const page = useLoad(() => view<CandlePage>(environment, path), [environment, path], 5_000)
  const hasFunding = FUNDED.includes(source)
  const fundingPath = `/v1/funding?symbol=${symbol}&source=${source}&limit=200`
  const funding = useLoad(
    async () => (hasFunding ? view<{ data: FundingRow[] }>(environment, fundingPath) : undefined),
    [environment, fundingPath, hasFunding],
    60_000,
  )
  const rows = page.value?.value.data ?? []
  const gaps = page.value?.value.meta.coverage.gaps ?? []
  const last = rows[0]
  return (
    <>
      <Card
        title={`${symbol} · ${source}`}
        aside={
          <div class="row">
            <Select label="Source" value={source} options={SOURCES} onChange={setSource} />
            <Choice label="Interval" value={bar} options={bars} onChange={setWanted} />
          </div>
        }
      >
        <Problem text={page.error} />
        {last && (
          <div class="quote">
            <strong>{last.close.toLocaleString('en-US', { maximumFractionDigits: 4 })}</strong>
            <span class="muted">
              {dateTime(last.timestamp)} UTC · {last.closed === false ? 'open bar' : 'closed'} · {rows.length}{' '}
              bars
            </span>
          </div>
        )}
        {page.value && rows.length === 0 ? (
          <Empty>
            <strong>No bars yet</strong>
            <p class="muted">The recorder has just begun, or this source has none of these.</p>
          </Empty>
        ) : (
          <CandleChart
            key={`${environment} ${symbol} ${source} ${bar}`}
            rows={rows}
            funding={hasFunding ? (funding.value?.value.data ?? []) : []}
            gaps={gaps}
            bar={bar}
          />
        )}
        <div class="row between muted tiny">
          <span>
            <i class="dot gap" /> not recorded{gaps.length > 0 && ` (${gaps.length} in view)`}{' '}
            {hasFunding && (
              <>
                <i class="dot funding" /> funding rate
              </>
            )}
          </span>
          <span>
            Charts by{' '}
            <a href="https://www.tradingview.com/" target="_blank" rel="noopener noreferrer">
              TradingView Lightweight Charts™
            </a>
          </span>
        </div>
      </Card>
      <ApiCall path={path} price={page.value?.price} />
      {hasFunding && <ApiCall path={fundingPath} price={funding.value?.price} />}
    </>
  )
}
