import type { Source } from '../../../core/source.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { useView } from '../use-view.ts'
import { PREDICTION_SOURCES } from './paths.ts'
import type { Place } from './place.ts'

/** A prediction market, as returned by `GET /v1/markets` and `GET /v1/markets/{identifier}`. */
export interface MarketRecord {
  market_id: string
  source: Source
  symbol: AssetSymbol
  question: string | null
  slug: string | null
  ticker: string | null
  market_type: string | null
  start_time: string | null
  end_time: string | null
  volume: number | null
  tokens: { token_id: string; outcome: string }[]
}

export interface OpenedMarket {
  /** As named in the address. */
  identifier: string
  /** Undefined while it loads, and if it is unknown. */
  market: MarketRecord | undefined
  problem: string | undefined
}

/** Props of the tabs about one market or series. */
export interface MarketTabProps {
  asked: Place
  place: Place
  symbol: AssetSymbol
  /** The market of the address. */
  opened: MarketRecord | undefined
}

const EVERY_MS = 60_000

/** The market named in the address, requested by that name, because it need not be in any list. */
export function useOpenedMarket({ market: identifier, source }: Place): OpenedMarket | undefined {
  const among = source !== undefined && PREDICTION_SOURCES.includes(source) ? `?source=${source}` : ''
  const path = `/v1/markets/${encodeURIComponent(identifier ?? '')}${among}`
  const { value: market, error } = useView<MarketRecord>(identifier && path, EVERY_MS)
  return identifier === undefined ? undefined : { identifier, market, problem: error }
}
