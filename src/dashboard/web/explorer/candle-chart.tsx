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
import { type CandleInterval, INTERVAL_MS } from '../../../core/interval.ts'
import { chartDecimals } from '../format.ts'
import { color } from '../theme.ts'
import { clampRange, priceLabels } from './axis.ts'
import type { ChartCandle, ChartFunding, GapSpan } from './load-candles.ts'

const HEIGHT = 440
const FUNDING_HEIGHT = 90
const SHOWN_BARS = 160
const MIN_BARS = 60
const GREW = 1.2
const NEAR_LEFT_BARS = 20

interface Drawn {
  chart: IChartApi
  draw: (props: Series) => void
  paint: () => void
  /** The time of the last visible candle, in milliseconds; undefined if it is the newest. */
  lastSeen: (rightEdge: number) => number | undefined
}

interface Series {
  rows: readonly ChartCandle[]
  funding: readonly ChartFunding[]
  gaps: readonly GapSpan[]
  interval: CandleInterval
  /** Whether prices are probabilities, between 0 and 1. */
  ofProbabilities: boolean
  /** Whether the reader has loaded older candles. */
  isPast: boolean
}

interface ChartProps extends Series {
  /** Called with the time of the candle under the pointer, in seconds. */
  onHover: (time: number | undefined) => void
  /** The reader is near the oldest candle. */
  onLeftEdge: () => void
  /** The reader has scrolled to another last candle; undefined means the newest. */
  onSeen: (timeMs: number | undefined) => void
}

/** Candles with volume, funding in a separate pane, and shaded gaps. */
export function CandleChart(props: ChartProps) {
  const { rows, funding, gaps, interval, ofProbabilities, isPast } = props
  const holder = useRef<HTMLDivElement>(null)
  const drawn = useRef<Drawn>(undefined)
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    if (holder.current === null) return
    const made = create(holder.current, { interval, ofProbabilities })
    drawn.current = made
    made.chart.subscribeCrosshairMove(({ time }) => latest.current.onHover(time as number | undefined))
    made.chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
      if (range === null) return
      if (range.from < NEAR_LEFT_BARS) latest.current.onLeftEdge()
      latest.current.onSeen(made.lastSeen(range.to))
    })
    addEventListener('themechange', made.paint)
    return () => {
      removeEventListener('themechange', made.paint)
      made.chart.remove()
    }
  }, [])
  useEffect(
    () => drawn.current?.draw({ rows, funding, gaps, interval, ofProbabilities, isPast }),
    [rows, funding, gaps, interval, ofProbabilities, isPast],
  )
  return <div class="chart" ref={holder} role="img" aria-label="Candle chart" data-candles={rows.length} />
}

function create(
  holder: HTMLElement,
  { interval, ofProbabilities }: Pick<Series, 'interval' | 'ofProbabilities'>,
): Drawn {
  const chart = createChart(holder, {
    autoSize: true,
    height: HEIGHT,
    layout: {
      attributionLogo: false,
      panes: { enableResize: false },
      fontFamily: getComputedStyle(document.documentElement).fontFamily,
    },
    timeScale: {
      timeVisible: true,
      secondsVisible: INTERVAL_MS[interval] < 60_000,
      borderVisible: false,
      rightOffset: 4,
    },
    rightPriceScale: { borderVisible: false, entireTextOnly: true },
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
  const candles = chart.addSeries(CandlestickSeries, {
    borderVisible: false,
    ...(ofProbabilities ? { autoscaleInfoProvider: clampRange } : {}),
  })
  candles.priceScale().applyOptions({ scaleMargins: { top: 0.06, bottom: 0.22 } })
  const makeFunding = () =>
    chart.addSeries(
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
  let funding: ReturnType<typeof makeFunding> | undefined
  let shownPlaces = 0
  let times: UTCTimestamp[] = []

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
    funding?.applyOptions({ color: color('funding') })
    gaps.applyOptions({ color: color('gap') })
  }

  function draw(props: Series): void {
    const rows = props.rows.toReversed().map((row) => ({ ...row, time: seconds(row.timestamp) }))
    const from = rows[0]?.time
    const to = rows.at(-1)?.time
    if (from === undefined || to === undefined) return
    const missing = missingTimes(props, from, to, new Set(rows.map(({ time }) => time)))
    const places = rows.length + missing.length
    const precision = Math.max(2, ...rows.slice(-20).map(({ close }) => chartDecimals(close)))
    const formatter = priceLabels(precision, ofProbabilities)
    candles.applyOptions({ priceFormat: { type: 'custom', minMove: 10 ** -precision, formatter } })
    const drawn = merge(
      rows.map(({ time, open, high, low, close }) => ({ time, open, high, low, close })),
      missing,
    )
    times = drawn.map(({ time }) => time)
    candles.setData(drawn)
    volume.setData(
      rows.map(({ time, open, close, volume: value }) => ({
        time,
        value: value ?? 0,
        color: close >= open ? color('up-soft') : color('down-soft'),
      })),
    )
    gaps.setData(shaded(props, { candles: rows.map(({ time }) => time), missing }))
    const rates = props.funding
      .map((row) => ({ time: seconds(row.timestamp), value: row.funding_rate }))
      .filter(({ time }) => time >= from)
    if (rates.length > 0) {
      funding ??= makeFunding()
      funding.applyOptions({ color: color('funding') })
      // Drawn at the times of the candles, so that it adds no times to the axis.
      funding.setData(
        onCandles(
          rates,
          rows.map(({ time }) => time),
        ),
      )
      chart.panes()[1]?.setHeight(FUNDING_HEIGHT)
    }
    // A first backfill adds many candles at once; after that the reader controls the view.
    if (places > shownPlaces * GREW && !props.isPast) {
      const first = Math.max(places - SHOWN_BARS, Math.min(0, places - MIN_BARS))
      chart.timeScale().setVisibleLogicalRange({ from: first, to: places + 4 })
    }
    shownPlaces = places
  }

  function lastSeen(rightEdge: number): number | undefined {
    const index = Math.max(0, Math.floor(rightEdge))
    const time = index >= times.length - 1 ? undefined : times[index]
    return time === undefined ? undefined : time * 1000
  }

  paint()
  return { chart, draw, paint, lastSeen }
}

function seconds(text: string): UTCTimestamp {
  return Math.floor(Date.parse(text) / 1000) as UTCTimestamp
}

const MAX_MISSING = 2_000

/** Candles that are missing because of a gap; each gets an empty slot on the axis. */
function missingTimes(props: Series, from: number, to: number, have: ReadonlySet<number>): UTCTimestamp[] {
  const step = INTERVAL_MS[props.interval] / 1000
  const spans = spansOf(props.gaps)
  const times: UTCTimestamp[] = []
  for (let time = from; time <= to && times.length < MAX_MISSING; time += step) {
    if (!have.has(time) && spans.some((span) => time < span.to && time + step > span.from))
      times.push(time as UTCTimestamp)
  }
  return times
}

/**
 * Shades slots without a candle and candles during which the recorder was down. A gap that a backfill has filled is not
 * shaded.
 */
function shaded(
  props: Series,
  places: { candles: readonly UTCTimestamp[]; missing: readonly UTCTimestamp[] },
) {
  const step = INTERVAL_MS[props.interval] / 1000
  const away = spansOf(props.gaps.filter(({ reason }) => AWAY.includes(reason))).filter(
    ({ from, to }) => to > from,
  )
  const hurt = places.candles.filter((time) => away.some((span) => time < span.to && time + step > span.from))
  return [...hurt, ...places.missing].toSorted((a, b) => a - b).map((time) => ({ time, value: 1 }))
}

const AWAY = ['not_observed', 'venue_down']

function spansOf(gaps: readonly GapSpan[]) {
  return gaps.map((gap) => ({ from: seconds(gap.from), to: seconds(gap.to) }))
}

function merge<T extends { time: UTCTimestamp }>(rows: readonly T[], empty: readonly UTCTimestamp[]) {
  return [...rows, ...empty.map((time) => ({ time }))].toSorted((a, b) => a.time - b.time)
}

/** The last known rate at each candle. */
function onCandles(rates: { time: UTCTimestamp; value: number }[], times: readonly UTCTimestamp[]) {
  const sorted = rates.toSorted((a, b) => a.time - b.time)
  if (sorted.length === 0) return []
  let index = -1
  return times.flatMap((time) => {
    while ((sorted[index + 1]?.time ?? Number.POSITIVE_INFINITY) <= time) index++
    const rate = sorted[index]
    return rate === undefined ? [] : [{ time, value: rate.value }]
  })
}
