import { useState } from 'preact/hooks'
import type { CandleInterval } from '../../../core/interval.ts'
import { SOURCES, type Source } from '../../../core/source.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { view } from '../api.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { Card, Choice, Empty, Problem, Select } from '../ui/parts.tsx'
import { CandleChart } from './candle-chart.tsx'
import { useCandles } from './load-candles.ts'
import { defaultMarket, type Market, MarketSelect, useMarkets } from './market-select.tsx'
import { barsOf, candlesPath, FIRST_CHART, fundingPath, PREDICTIONS } from './paths.ts'
import { Quote } from './quote.tsx'

export interface FundingRow {
  timestamp: string
  funding_rate: number
}

const NO_FUNDING: FundingRow[] = []

export function Candles(props: { symbol: AssetSymbol; source?: Source | undefined; market?: string | null }) {
  const { symbol } = props
  const { environment, session } = useSession()
  const [source, setSource] = useState<Source>(props.source ?? FIRST_CHART.source)
  const [wanted, setWanted] = useState<CandleInterval>(FIRST_CHART.bar)
  const [marketId, setMarketId] = useState(props.market ?? '')
  const [outcome, setOutcome] = useState('')
  const [hovered, setHovered] = useState<number>()

  const isPrediction = PREDICTIONS.includes(source)
  const { markets, error } = useMarkets(source, symbol)
  const market = markets?.find((one) => one.market_id === marketId) ?? defaultMarket(markets ?? [])
  const outcomes = market?.tokens.map((token) => token.outcome) ?? []
  const leg = outcomes.includes(outcome) ? outcome : (outcomes[0] ?? '')
  const bars = barsOf(session.plan, source)
  const bar = bars.includes(wanted) ? wanted : (bars[0] ?? FIRST_CHART.bar)
  const choice = { symbol, source, bar }
  const path =
    isPrediction && market === undefined ? undefined : candlesPath(choice, instrumentOf(market, leg))
  const { rows, gaps, price, loaded, isPast, problem, loadOlder } = useCandles(environment, path)
  const ratesPath = fundingPath(choice)
  const funding = useLoad(
    async () =>
      ratesPath === undefined
        ? undefined
        : { path: ratesPath, ...(await view<{ data: FundingRow[] }>(environment, ratesPath)) },
    [environment, ratesPath],
    60_000,
  )
  // The rates of the series before are not drawn under this one.
  const rates = funding.value?.path === ratesPath ? funding.value : undefined
  const shown = rows.find((row) => Date.parse(row.timestamp) / 1000 === hovered) ?? rows[0]
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
        {isPrediction && market !== undefined && (
          <div class="row">
            <MarketSelect markets={markets ?? []} value={market.market_id} onChange={setMarketId} />
            {outcomes.length > 1 && (
              <Choice label="Outcome" value={leg} options={outcomes} onChange={setOutcome} />
            )}
          </div>
        )}
        <Problem text={problem ?? error} />
        <Quote row={shown} count={rows.length} />
        {(loaded || markets?.length === 0) && rows.length === 0 ? (
          <Empty>
            <strong>No bars yet</strong>
            <p class="muted">
              {isPrediction && market === undefined
                ? 'No market of this venue has begun.'
                : 'The recorder has just begun, or this source has none of these. They appear here by themselves.'}
            </p>
          </Empty>
        ) : (
          <CandleChart
            key={`${environment} ${path}`}
            rows={rows}
            funding={rates?.value.data ?? NO_FUNDING}
            gaps={gaps}
            bar={bar}
            isPast={isPast}
            onHover={setHovered}
            onLeftEdge={loadOlder}
          />
        )}
        <div class="row between muted tiny">
          <span>
            <i class="dot gap" /> not recorded{' '}
            {ratesPath !== undefined && (
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
      {path !== undefined && <ApiCall path={path} price={price} />}
      {ratesPath !== undefined && <ApiCall path={ratesPath} price={rates?.price} />}
    </>
  )
}

/** One series of a prediction market: the leg of it, or the market itself where it has no legs. */
function instrumentOf(market: Market | undefined, outcome: string): string {
  if (market === undefined) return ''
  const token = market.tokens.find((one) => one.outcome === outcome)
  return token === undefined ? `&market_id=${market.market_id}` : `&token_id=${token.token_id}`
}
