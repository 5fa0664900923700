import {
  CandlestickSeries,
  ColorType,
  createChart,
  HistogramSeries,
  type IChartApi,
  LineSeries,
  LineType,
  type UTCTimestamp,
} from 'lightweight-charts'
import { useEffect, useRef } from 'preact/hooks'
import { color } from '../theme.ts'
import { BAR_SECONDS, type Bar, type CandleRow, type FundingRow, type GapSpan } from './candles.tsx'

const HEIGHT = 440
const FUNDING_HEIGHT = 90

interface Drawn {
  chart: IChartApi
  draw: (props: ChartProps) => void
  paint: () => void
}

interface ChartProps {
  rows: readonly CandleRow[]
  funding: readonly FundingRow[]
  gaps: readonly GapSpan[]
  bar: Bar
}

/** Candles with volume; funding in a pane of its own; bars that were not recorded are shaded. */
export function CandleChart(props: ChartProps) {
  const holder = useRef<HTMLDivElement>(null)
  const drawn = useRef<Drawn>(undefined)
  useEffect(() => {
    if (holder.current === null) return
    const made = create(holder.current)
    drawn.current = made
    addEventListener('themechange', made.paint)
    return () => {
      removeEventListener('themechange', made.paint)
      made.chart.remove()
    }
  }, [])
  useEffect(() => drawn.current?.draw(props))
  return <div class="chart" ref={holder} role="img" aria-label="Candle chart" data-bars={props.rows.length} />
}

function create(holder: HTMLElement): Drawn {
  const chart = createChart(holder, {
    autoSize: true,
    height: HEIGHT,
    layout: { attributionLogo: false, panes: { enableResize: false } },
    timeScale: { timeVisible: true, borderVisible: false, rightOffset: 4 },
    rightPriceScale: { borderVisible: false },
    crosshair: { mode: 0 },
  })
  const gaps = chart.addSeries(HistogramSeries, {
    priceScaleId: 'gaps',
    priceLineVisible: false,
    lastValueVisible: false,
  })
  gaps.priceScale().applyOptions({ scaleMargins: { top: 0, bottom: 0 }, visible: false })
  const volume = chart.addSeries(HistogramSeries, {
    priceScaleId: 'volume',
    priceFormat: { type: 'volume' },
    priceLineVisible: false,
    lastValueVisible: false,
  })
  volume.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 }, visible: false })
  const candles = chart.addSeries(CandlestickSeries, { borderVisible: false })
  candles.priceScale().applyOptions({ scaleMargins: { top: 0.06, bottom: 0.22 } })
  const funding = chart.addSeries(
    LineSeries,
    {
      lineWidth: 2,
      lineType: LineType.WithSteps,
      priceFormat: {
        type: 'custom',
        minMove: 1e-7,
        formatter: (rate: number) => `${(rate * 100).toFixed(4)}%`,
      },
      priceLineVisible: false,
    },
    1,
  )
  let first = true

  function paint(): void {
    chart.applyOptions({
      layout: {
        background: { type: ColorType.Solid, color: color('surface') },
        textColor: color('muted'),
        panes: { separatorColor: color('line') },
      },
      grid: { vertLines: { color: color('line-soft') }, horzLines: { color: color('line-soft') } },
    })
    candles.applyOptions({
      upColor: color('up'),
      downColor: color('down'),
      wickUpColor: color('up'),
      wickDownColor: color('down'),
    })
    funding.applyOptions({ color: color('funding') })
    gaps.applyOptions({ color: color('gap') })
  }

  function draw(props: ChartProps): void {
    const bars = props.rows.toReversed().map((row) => ({ ...row, time: seconds(row.timestamp) }))
    const from = bars[0]?.time
    const to = bars.at(-1)?.time
    if (from === undefined || to === undefined) return
    const missing = missingTimes(props, from, to, new Set(bars.map(({ time }) => time)))
    const places = bars.length + missing.length
    candles.setData(
      merge(
        bars.map(({ time, open, high, low, close }) => ({ time, open, high, low, close })),
        missing,
      ),
    )
    volume.setData(
      bars.map(({ time, open, close, volume: value }) => ({
        time,
        value: value ?? 0,
        color: close >= open ? color('up-soft') : color('down-soft'),
      })),
    )
    gaps.setData(
      shaded(
        props,
        bars
          .map(({ time }) => time)
          .concat(missing)
          .toSorted((a, b) => a - b),
      ),
    )
    const rates = props.funding
      .map((row) => ({ time: seconds(row.timestamp), value: row.funding_rate }))
      .filter(({ time }) => time >= from)
    // Funding is drawn on the times of the bars, so that it adds none of its own.
    funding.setData(
      onBars(
        rates,
        bars.map(({ time }) => time),
      ),
    )
    chart.panes()[1]?.setHeight(FUNDING_HEIGHT)
    if (first) chart.timeScale().setVisibleLogicalRange({ from: Math.max(0, places - 160), to: places + 4 })
    first = false
  }

  paint()
  return { chart, draw, paint }
}

function seconds(text: string): UTCTimestamp {
  return Math.floor(Date.parse(text) / 1000) as UTCTimestamp
}

const MOST_MISSING = 2_000

/** Bars that should be there but lie in a gap: they get an empty place on the axis. */
function missingTimes(
  props: ChartProps,
  from: number,
  to: number,
  have: ReadonlySet<number>,
): UTCTimestamp[] {
  const step = BAR_SECONDS[props.bar]
  const spans = spansOf(props.gaps)
  const times: UTCTimestamp[] = []
  for (let time = from; time <= to && times.length < MOST_MISSING; time += step) {
    if (!have.has(time) && spans.some((span) => time < span.to && time + step > span.from))
      times.push(time as UTCTimestamp)
  }
  return times
}

function shaded(props: ChartProps, times: readonly UTCTimestamp[]) {
  const step = BAR_SECONDS[props.bar]
  const spans = spansOf(props.gaps)
  return times
    .filter((time) => spans.some((span) => time < span.to && time + step > span.from))
    .map((time) => ({ time, value: 1 }))
}

function spansOf(gaps: readonly GapSpan[]) {
  return gaps.map((gap) => ({ from: seconds(gap.from), to: seconds(gap.to) }))
}

function merge<T extends { time: UTCTimestamp }>(rows: readonly T[], empty: readonly UTCTimestamp[]) {
  return [...rows, ...empty.map((time) => ({ time }))].toSorted((a, b) => a.time - b.time)
}

/** The last known rate at each bar. */
function onBars(rates: { time: UTCTimestamp; value: number }[], times: readonly UTCTimestamp[]) {
  const sorted = rates.toSorted((a, b) => a.time - b.time)
  if (sorted.length === 0) return []
  let index = -1
  return times.flatMap((time) => {
    while ((sorted[index + 1]?.time ?? Number.POSITIVE_INFINITY) <= time) index++
    const rate = sorted[index]
    return rate === undefined ? [] : [{ time, value: rate.value }]
  })
}
