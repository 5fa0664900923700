import type { Source } from '../../../core/source.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { formatTimestamp } from '../format.ts'
import { useView } from '../use-view.ts'
import type { MarketRecord } from './opened-market.ts'
import { PREDICTION_SOURCES } from './paths.ts'

/** Markets that end next come first, so that running ones are in the list no matter how many are announced. */
const OPEN_LIMIT = 500
const ENDED_LIMIT = 100
const OPEN_EVERY_MS = 60_000
const ENDED_EVERY_MS = 300_000

/** The markets of a prediction venue to choose from, by end; none for other sources. */
export function useMarkets(source: Source, symbol: AssetSymbol) {
  const isPrediction = PREDICTION_SOURCES.includes(source)
  const series = `source=${source}&symbol=${symbol}`
  const useList = (filter: string, everyMs: number) =>
    useView<{ data: MarketRecord[] }>(isPrediction ? `/v1/markets?${series}&${filter}` : undefined, everyMs)
  const open = useList(`active=true&order=asc&limit=${OPEN_LIMIT}`, OPEN_EVERY_MS)
  const ended = useList(`active=false&limit=${ENDED_LIMIT}`, ENDED_EVERY_MS)
  return {
    markets: open.value && [...open.value.data, ...(ended.value?.data ?? [])],
    error: open.error ?? ended.error,
  }
}

/**
 * The market with the most to show: of the running markets that were traded, the longest, and among equally long ones
 * the most traded. A market that has just begun may have no trade for minutes.
 */
export function defaultMarket(markets: readonly MarketRecord[]): MarketRecord | undefined {
  const running = markets.filter((market) => stageOf(market) === 'Running')
  const length = (market: MarketRecord) =>
    Date.parse(market.end_time ?? '') - Date.parse(market.start_time ?? '') || 0
  const volume = (market: MarketRecord) => market.volume ?? 0
  return running.toSorted(
    (a, b) => Number(volume(b) > 0) - Number(volume(a) > 0) || length(b) - length(a) || volume(b) - volume(a),
  )[0]
}

export type Stage = 'Running' | 'Upcoming' | 'Ended'

export function stageOf(market: Pick<MarketRecord, 'start_time' | 'end_time'>, nowMs = Date.now()): Stage {
  if (Date.parse(market.end_time ?? '') <= nowMs) return 'Ended'
  return Date.parse(market.start_time ?? '') > nowMs ? 'Upcoming' : 'Running'
}

export function MarketSelect(props: {
  markets: readonly MarketRecord[]
  /** The market shown; it need not be in `markets`. */
  opened: MarketRecord | undefined
  /** The label of the empty choice. */
  none: string
  /** Whether the empty choice can be selected. */
  canBeNone?: boolean
  onChange: (market: MarketRecord | undefined) => void
}) {
  const { opened } = props
  const others = props.markets.filter((market) => market.market_id !== opened?.market_id)
  const all = opened === undefined ? others : [...others, opened]
  const byEnd = all.toSorted((a, b) => (a.end_time ?? '').localeCompare(b.end_time ?? ''))
  const groups = (['Running', 'Upcoming', 'Ended'] as const).map((stage) => {
    const markets = byEnd.filter((market) => stageOf(market) === stage)
    return [stage, stage === 'Ended' ? markets.toReversed() : markets] as const
  })
  return (
    <select
      class="market"
      aria-label="Market"
      value={opened?.market_id ?? ''}
      onChange={(event) => {
        const { value } = event.currentTarget
        props.onChange(all.find((market) => market.market_id === value))
      }}
    >
      {(props.canBeNone || opened === undefined) && <option value="">{props.none}</option>}
      {groups.map(
        ([stage, markets]) =>
          markets.length > 0 && (
            <optgroup key={stage} label={stage}>
              {markets.map((market) => (
                <option key={market.market_id} value={market.market_id}>
                  {marketName(market)} · {market.market_type} to {formatTimestamp(market.end_time)}
                </option>
              ))}
            </optgroup>
          ),
      )}
    </select>
  )
}

const marketName = (market: MarketRecord) =>
  market.question ?? market.ticker ?? market.slug ?? market.market_id
