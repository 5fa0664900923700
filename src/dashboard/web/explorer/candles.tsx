import { useEffect, useState } from 'preact/hooks'
import { SOURCES } from '../../../core/source.ts'
import { dateTime } from '../format.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { useIdle } from '../ui/idle-note.tsx'
import { Button, Card, ChoiceButtons, Empty, Problem, Select } from '../ui/parts.tsx'
import { useView } from '../use-view.ts'
import { CandleChart } from './candle-chart.tsx'
import { type ChartFunding, useCandles } from './load-candles.ts'
import { defaultMarket, MarketSelect, stageOf, useMarkets } from './market-select.tsx'
import type { MarketRecord, MarketTabProps } from './opened-market.ts'
import { candlesPath, FIRST_CHART, fundingPath, intervalsOf, PREDICTION_SOURCES } from './paths.ts'
import type { Place } from './place.ts'
import { Quote } from './quote.tsx'
import { TimeField } from './time-field.tsx'
import { go, useAddress, useNoteTime } from './use-place.ts'

const NO_FUNDING: ChartFunding[] = []
/** The address is updated when the chart rests. */
const SETTLE_MS = 300

export function CandlesTab({ asked, place, symbol, opened }: MarketTabProps) {
  const { environment, session } = useSession()
  const [hovered, setHovered] = useState<{ path: string | undefined; time: number | undefined }>()
  const [turn, setTurn] = useState(0)
  const source = place.source ?? FIRST_CHART.source
  const isPrediction = PREDICTION_SOURCES.includes(source)
  const { markets, error } = useMarkets(source, symbol)
  const market = isPrediction ? (opened ?? defaultMarket(markets ?? [])) : undefined
  const outcomes = market?.tokens.map((token) => token.outcome) ?? []
  const leg = outcomes.find((outcome) => outcome === place.outcome) ?? outcomes[0]
  const intervals = intervalsOf(session.plan, source)
  const wanted = place.interval ?? FIRST_CHART.interval
  const interval = intervals.includes(wanted) ? wanted : (intervals[0] ?? FIRST_CHART.interval)
  const choice = { symbol, source, interval }
  const path =
    isPrediction && market === undefined
      ? undefined
      : candlesPath(choice, { instrument: instrumentOf(market, leg), until: asked.time })
  const { rows, gaps, price, loaded, isPast, problem, loadOlder } = useCandles(
    environment,
    path,
    asked.time === undefined,
  )
  const ratesPath = fundingPath(choice)
  const rates = useView<{ data: ChartFunding[] }>(ratesPath, 60_000)
  const hoveredTime = hovered?.path === path ? hovered?.time : undefined
  const shown = rows.find((row) => Date.parse(row.timestamp) / 1000 === hoveredTime) ?? rows[0]
  const end = asked.time ?? Date.parse(rows[0]?.timestamp ?? '')
  const { seen, see } = useSeenTime(asked)
  useAddress(asked, {
    ...place,
    source,
    interval,
    // A market that nobody asked for and that shows nothing yet may still be replaced by one that has been traded.
    market:
      opened === undefined && place.outcome === undefined && rows.length === 0
        ? undefined
        : market?.market_id,
    outcome: leg,
  })
  const isNewest = seen === undefined && asked.time === undefined
  const showNewest = () => {
    see(undefined)
    setTurn(turn + 1)
    go({ time: undefined })
  }
  return (
    <>
      <Card
        title={`${symbol} · ${source}`}
        aside={
          <div class="row">
            <Select
              label="Source"
              value={source}
              options={SOURCES}
              onChange={(next) => go({ source: next, market: undefined, outcome: undefined })}
            />
            <ChoiceButtons
              label="Interval"
              value={interval}
              options={intervals}
              onChange={(next) => go({ interval: next })}
            />
          </div>
        }
      >
        {isPrediction && (
          <div class="row">
            <MarketSelect
              markets={markets ?? []}
              opened={market}
              none="No market is running"
              onChange={(next) => next && go({ market: next.market_id, outcome: undefined, time: undefined })}
            />
            {leg !== undefined && outcomes.length > 1 && (
              <ChoiceButtons
                label="Outcome"
                value={leg}
                options={outcomes}
                onChange={(outcome) => go({ outcome })}
              />
            )}
          </div>
        )}
        <Problem text={problem ?? error} />
        <Quote row={shown} interval={interval} count={rows.length} />
        {rows.length === 0 && (loaded || path === undefined) ? (
          <Empty>
            <NoCandles market={market} isPrediction={isPrediction} />
          </Empty>
        ) : (
          <CandleChart
            key={`${environment} ${path} ${turn}`}
            rows={rows}
            funding={rates.value?.data ?? NO_FUNDING}
            gaps={gaps}
            interval={interval}
            ofProbabilities={isPrediction}
            isPast={isPast}
            onHover={(time) => setHovered({ path, time })}
            onLeftEdge={loadOlder}
            onSeen={see}
          />
        )}
        <div class="row between chart-foot">
          <TimeField label="Time of the chart (UTC)" time={seen ?? end} onChange={(time) => go({ time })}>
            <Button look={isNewest ? 'small primary' : 'small'} aria-pressed={isNewest} onClick={showNewest}>
              Newest
            </Button>
          </TimeField>
          <span class="muted tiny">
            <i class="dot gap" /> not recorded{' '}
            {ratesPath !== undefined && (
              <>
                <i class="dot funding" /> funding rate
              </>
            )}
          </span>
          <span class="muted tiny">
            Charts by{' '}
            <a href="https://www.tradingview.com/" target="_blank" rel="noopener noreferrer">
              TradingView Lightweight Charts™
            </a>
          </span>
        </div>
      </Card>
      {path !== undefined && <ApiCall path={path} price={price} />}
      {ratesPath !== undefined && <ApiCall path={ratesPath} price={rates.price} />}
    </>
  )
}

/** The time to which the chart was moved: shown at once, and written to the address when it rests. */
function useSeenTime(asked: Place) {
  const [seen, setSeen] = useState<number>()
  const note = useNoteTime(asked)
  // Another series or another time starts where its address says.
  const basis = JSON.stringify(asked)
  useEffect(() => setSeen(undefined), [basis])
  // A time seen at one address must never be written into the next.
  useEffect(() => {
    const timer = setTimeout(() => note(seen ?? asked.time), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [seen, basis])
  return { seen, see: setSeen }
}

function NoCandles({ market, isPrediction }: { market: MarketRecord | undefined; isPrediction: boolean }) {
  const isIdle = useIdle('market') !== null && market === undefined
  const [title, text] = isIdle
    ? ['No candles', 'Nothing is recorded in this environment.']
    : !isPrediction
      ? [
          'No candles yet',
          'The recorder has just begun, or this source has none of these. They appear here by themselves.',
        ]
      : market === undefined
        ? ['No market is running', 'No market of this venue and symbol has begun. Choose one of the list.']
        : reasonOf(market)
  return (
    <>
      <strong>{title}</strong>
      <p class="muted">{text}</p>
    </>
  )
}

function reasonOf(market: MarketRecord): [title: string, text: string] {
  const stage = stageOf(market)
  if (stage === 'Ended') return ['No candles', 'Nothing was recorded of this market.']
  const begins = `Its window begins ${dateTime(market.start_time)} UTC.`
  return ['No candles yet', `${stage === 'Upcoming' ? `${begins} ` : ''}They appear with its first trades.`]
}

/** The query for one series of a prediction market: its leg, or the market itself if it has no legs. */
function instrumentOf(market: MarketRecord | undefined, outcome: string | undefined): string {
  if (market === undefined) return ''
  const token = market.tokens.find((one) => one.outcome === outcome)
  return token === undefined ? `&market_id=${market.market_id}` : `&token_id=${token.token_id}`
}
