import { type CandleInterval, INTERVAL_MS } from '../../../core/interval.ts'
import { candleTime, count, plural, price } from '../format.ts'
import type { ChartCandle } from './load-candles.ts'

/** The numbers of one candle: the newest, or the one under the pointer. */
export function Quote(props: { row: ChartCandle | undefined; interval: CandleInterval; count: number }) {
  const { row } = props
  if (row === undefined) return <div class="quote" />
  const change = row.open === 0 ? 0 : row.close / row.open - 1
  const tone = change < 0 ? 'down' : 'up'
  return (
    <div class="quote">
      <strong>{price(row.close)}</strong>
      <span class={tone}>
        {change < 0 ? '−' : '+'}
        {Math.abs(change * 100).toFixed(2)}%
      </span>
      <dl class="ohlc">
        {(['open', 'high', 'low', 'close'] as const).map((name) => (
          <div key={name}>
            <dt>{name[0]?.toUpperCase()}</dt>
            <dd>{price(row[name])}</dd>
          </div>
        ))}
        {row.volume !== null && (
          <div>
            <dt>Vol</dt>
            <dd>{count(Number(row.volume.toPrecision(6)))}</dd>
          </div>
        )}
      </dl>
      <span class="muted tiny quote-when">
        {candleTime(row.timestamp, INTERVAL_MS[props.interval])} UTC{row.closed === false && ' · still open'}{' '}
        · {plural(props.count, 'candle')}
      </span>
    </div>
  )
}
