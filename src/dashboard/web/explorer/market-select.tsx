import type { Source } from '../../../core/source.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { view } from '../api.ts'
import { time } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { PREDICTIONS } from './paths.ts'

export interface Market {
  market_id: string
  question: string | null
  slug: string | null
  ticker: string | null
  market_type: string | null
  start_time: string | null
  end_time: string | null
  volume: number | null
  tokens: { token_id: string; outcome: string }[]
}

const MOST = 500
const EVERY_MS = 30_000

/** The markets of a prediction venue that have begun, latest end first; none for other sources. */
export function useMarkets(source: Source, symbol: AssetSymbol) {
  const { environment } = useSession()
  const isPrediction = PREDICTIONS.includes(source)
  const path = `/v1/markets?source=${source}&symbol=${symbol}&limit=${MOST}`
  const loaded = useLoad(
    async () => (isPrediction ? (await view<{ data: Market[] }>(environment, path)).value.data : []),
    [environment, path, isPrediction],
    isPrediction ? EVERY_MS : 0,
  )
  const begun = loaded.value?.filter((market) => Date.parse(market.start_time ?? '') <= Date.now())
  return { markets: begun, error: loaded.error }
}

/** The market that has most to show: the longest of those that run, the most traded of these. */
export function defaultMarket(markets: readonly Market[]): Market | undefined {
  const running = markets.filter((market) => !hasEnded(market))
  const length = (market: Market) =>
    Date.parse(market.end_time ?? '') - Date.parse(market.start_time ?? '') || 0
  return running.toSorted((a, b) => length(b) - length(a) || (b.volume ?? 0) - (a.volume ?? 0))[0]
}

function hasEnded(market: Market): boolean {
  return Date.parse(market.end_time ?? '') <= Date.now()
}

export function MarketSelect(props: {
  markets: readonly Market[]
  value: string
  /** What the first choice says when no market need be chosen. */
  none?: string
  onChange: (marketId: string) => void
}) {
  const groups = [
    ['Running', props.markets.filter((market) => !hasEnded(market)).toReversed()],
    ['Ended', props.markets.filter(hasEnded)],
  ] as const
  return (
    <select
      class="market"
      aria-label="Market"
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    >
      {props.none !== undefined && <option value="">{props.none}</option>}
      {groups.map(
        ([name, markets]) =>
          markets.length > 0 && (
            <optgroup key={name} label={name}>
              {markets.map((market) => (
                <option key={market.market_id} value={market.market_id}>
                  {market.question ?? market.ticker ?? market.slug} · {market.market_type} to{' '}
                  {time(market.end_time)}
                </option>
              ))}
            </optgroup>
          ),
      )}
    </select>
  )
}
