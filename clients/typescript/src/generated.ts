// Generated from the endpoint declarations by `npm run clients`. Do not edit.
import { ApiError } from './errors.ts'
import type { Rows } from './rows.ts'

export const CONTRACT_VERSION = '1.6.0'

/** ISO 8601 text, a date alone (midnight UTC), epoch seconds or milliseconds, or a Date. */
export type Time = string | number | Date
/** An integer of up to 64 bits: a bigint where a number would lose digits. */
export type Integer = number | bigint

export interface ErrorBody {
  /** Stable code. */
  error:
    | 'invalid_symbol'
    | 'invalid_source'
    | 'invalid_interval'
    | 'invalid_side'
    | 'invalid_time_range'
    | 'unauthorized'
    | 'credits_exhausted'
    | 'plan_required'
    | 'tier_restricted'
    | 'not_found'
    | 'market_not_found'
    | 'transaction_not_found'
    | 'method_not_allowed'
    | 'idempotency_conflict'
    | 'payload_too_large'
    | 'unsupported_media_type'
    | 'invalid_param'
    | 'transaction_rejected'
    | 'upgrade_required'
    | 'rate_limited'
    | 'rate_limit_exceeded'
    | 'internal_error'
    | 'data_not_available'
    | 'upstream_error'
    | 'upstream_unavailable'
    | 'environment_unavailable'
    | 'upstream_timeout'
  /** Sentence for a person. */
  message: string
  /** The value of X-Request-Id. */
  request_id: string
  /** The parameter at fault. */
  param?: string
  /** The allowed values. */
  allowed?: readonly unknown[]
  /** Lowest tier that may do this. */
  required_tier?: string
  /** Where the plan can be changed. */
  upgrade_url?: string
  /** Seconds to wait. */
  retry_after?: number
  /** The most calls that a batch may have on this plan. */
  max_batch?: number
  /** The largest body that the plan may send here. */
  max_bytes?: number
  /** True when checking stopped at the most faults that are listed: there may be more. */
  checking_stopped?: boolean
  /** Which of several causes it was. */
  reason?: string
  /** When the credits are renewed. */
  resets_at?: string
  /** The known name nearest to the one that was given. */
  suggestion?: string
  /** The transaction that the node refused. */
  tx_id?: string
  /** The transaction that it conflicts with. */
  other_tx_id?: string
  /** The transaction whose output is spent already. */
  spent_tx_id?: string
  /** Which of its outputs. */
  spent_index?: number
  /** The fee that was offered. */
  fee_sompi?: Integer
  /** The fee that the node wants. */
  required_fee_sompi?: Integer
  /** Which mass is too large or decides the fee. */
  mass_kind?: string
  /** That mass. */
  mass?: number
  /** The largest mass that the node takes. */
  mass_limit?: number
  /** What is recorded, where a range was asked for that is not. */
  available_range?: ErrorBodyAvailableRange | null
  /** Earliest start that the plan allows. */
  earliest_start?: string
  /** Every fault, where several parameters are wrong. */
  errors?: readonly ErrorBodyError[]
}

/** What is recorded, where a range was asked for that is not. */
export interface ErrorBodyAvailableRange {
  /** Time of the first row. */
  from?: string
  /** Time of the last row. */
  to?: string
}

export interface ErrorBodyError {
  /** The parameter at fault. */
  param: string
  /** Its code. */
  error: string
  /** Sentence for a person. */
  message: string
  /** Which of several causes it was. */
  reason?: string
  /** The known name nearest to the one that was given. */
  suggestion?: string
  /** The allowed values. */
  allowed?: readonly unknown[]
}

export interface Problem {
  /** Address that names the kind of error. */
  type: string
  /** What it means, in one line. */
  title: string
  /** Status of the answer. */
  status: number
  /** Sentence for a person. */
  detail: string
  /** Stable code. */
  code:
    | 'invalid_symbol'
    | 'invalid_source'
    | 'invalid_interval'
    | 'invalid_side'
    | 'invalid_time_range'
    | 'unauthorized'
    | 'credits_exhausted'
    | 'plan_required'
    | 'tier_restricted'
    | 'not_found'
    | 'market_not_found'
    | 'transaction_not_found'
    | 'method_not_allowed'
    | 'idempotency_conflict'
    | 'payload_too_large'
    | 'unsupported_media_type'
    | 'invalid_param'
    | 'transaction_rejected'
    | 'upgrade_required'
    | 'rate_limited'
    | 'rate_limit_exceeded'
    | 'internal_error'
    | 'data_not_available'
    | 'upstream_error'
    | 'upstream_unavailable'
    | 'environment_unavailable'
    | 'upstream_timeout'
  /** The value of X-Request-Id. */
  request_id: string
  /** The parameter at fault. */
  param?: string
  /** The allowed values. */
  allowed?: readonly unknown[]
  /** Lowest tier that may do this. */
  required_tier?: string
  /** Where the plan can be changed. */
  upgrade_url?: string
  /** Seconds to wait. */
  retry_after?: number
  /** The most calls that a batch may have on this plan. */
  max_batch?: number
  /** The largest body that the plan may send here. */
  max_bytes?: number
  /** True when checking stopped at the most faults that are listed: there may be more. */
  checking_stopped?: boolean
  /** Which of several causes it was. */
  reason?: string
  /** When the credits are renewed. */
  resets_at?: string
  /** The known name nearest to the one that was given. */
  suggestion?: string
  /** The transaction that the node refused. */
  tx_id?: string
  /** The transaction that it conflicts with. */
  other_tx_id?: string
  /** The transaction whose output is spent already. */
  spent_tx_id?: string
  /** Which of its outputs. */
  spent_index?: number
  /** The fee that was offered. */
  fee_sompi?: Integer
  /** The fee that the node wants. */
  required_fee_sompi?: Integer
  /** Which mass is too large or decides the fee. */
  mass_kind?: string
  /** That mass. */
  mass?: number
  /** The largest mass that the node takes. */
  mass_limit?: number
  /** What is recorded, where a range was asked for that is not. */
  available_range?: ErrorBodyAvailableRange | null
  /** Earliest start that the plan allows. */
  earliest_start?: string
  /** Every fault, where several parameters are wrong. */
  errors?: readonly ErrorBodyError[]
}

export interface ListMeta {
  /** Echo of the request. */
  symbol: string | null
  /** Echo of the request. */
  source: string | null
  /** Echo of the request. */
  interval: string | null
  /** Rows of this page. */
  count: number
  /** The same as count. */
  returned: number
  /** Whether there is another page. */
  has_more: boolean
  /** Pass it as `after` to get the next page. */
  next_cursor: string | null
  /** True when the start was moved; null otherwise. */
  clamped: boolean | null
  /** Why it was moved. */
  clamped_reason: 'plan_history' | 'before_earliest_data' | null
  /** The start that was asked for. */
  original_start: string | null
  /** The start that was served. */
  effective_start: string | null
  /** Parameters that have no meaning for the asked source. */
  ignored: readonly string[]
  /** Explains the row shape of an unfiltered request. */
  predmkt_a_note?: string
  /** The venue publishes a sample only. */
  sampled?: boolean
  /** What was observed of the range of this page. */
  coverage: ListMetaCoverage | null
}

/** What was observed of the range of this page. */
export interface ListMetaCoverage {
  /** Start of the range. */
  from: string | null
  /** End of the range. */
  to: string | null
  /** Whether nothing is missing. */
  complete: boolean
  /** The gaps. */
  gaps: readonly ListMetaCoverageGap[]
}

export interface ListMetaCoverageGap {
  /** Source with the gap. */
  source: string
  /** Start of the gap. */
  from: string
  /** End of the gap. */
  to: string
  /** Why there is nothing. */
  reason: 'not_observed' | 'venue_down' | 'before_start' | 'not_provided'
}

/** Preview of the price, with `dry_run=true`. */
export interface DryRun {
  /** Always true. */
  dry_run: true
  /** Rows that the page would have. */
  rows: number
  /** What it would cost. */
  credits: number
  /** Credits that are left; none were taken. */
  credits_remaining: number
  /** Whether the start would be moved. */
  clamped: boolean
  /** Rows that the credits pay for; null where rows cost nothing of their own. */
  rows_affordable: number | null
  /** Whether the plan or the credits would cut the page shorter than asked. */
  would_be_capped: boolean
}

export interface Sources {
  /** The sources. */
  data: readonly SourcesData[]
  /** The count; everything else is null. */
  meta: SourcesMeta
}

export interface SourcesData {
  /** Source identifier. */
  source: string
  /** Name for people. */
  display_name: string
  /** The same as display_name. */
  label: string
  /** Supported symbols. */
  symbols: readonly string[]
  /** Supported candle intervals. */
  intervals: readonly string[]
  /** Which tier each candle interval needs. */
  tier_requirements: readonly SourcesDataTierRequirement[]
  /** Endpoints that serve this source. */
  endpoints: readonly SourcesDataEndpoint[]
}

export interface SourcesDataTierRequirement {
  /** Candle interval. */
  interval: string
  /** Lowest tier that may read it; null where no plan does. */
  min_tier: 'free' | 'pro' | 'business' | null
}

export interface SourcesDataEndpoint {
  /** Path, with the `source` query where it takes one. */
  path: string
  /** Always GET. */
  method: 'GET'
  /** What it answers. */
  description: string
  /** Lowest tier that may call it. */
  min_tier: 'free' | 'pro' | 'business'
  /** What it costs. */
  credits: string
}

/** The count; everything else is null. */
export interface SourcesMeta {
  /** Always null. */
  symbol: null
  /** Always null. */
  source: null
  /** Always null. */
  interval: null
  /** Number of sources. */
  count: number
  /** Always null. */
  next_cursor: null
}

export interface Symbols {
  /** The symbols. */
  symbols: readonly SymbolsSymbol[]
}

export interface SymbolsSymbol {
  /** Ticker in upper case. */
  symbol: string
  /** Name of the asset. */
  name: string
  /** Sources that cover it. */
  sources: readonly string[]
  /** Candle intervals, over all sources. */
  intervals: readonly string[]
  /** Time of the earliest data point; null before the first one is recorded. */
  earliest_data: string | null
}

export interface Candle {
  /** Open time of the bar. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** Length of the bar, as asked. */
  interval: string
  /** First price; a probability for prediction markets. */
  open: number
  /** Highest price. */
  high: number
  /** Lowest price. */
  low: number
  /** Last price; a probability in 0 to 1 for prediction markets. */
  close: number
  /** Traded volume: base asset, dollar-pegged stablecoin (`predmkt_a`) or contracts (`predmkt_b`); null for `oracle`. */
  volume: number | null
  /** Number of trades; `cexa` and `cexa_futures` only. */
  num_trades: number | null
  /** Share of the volume bought by takers; `cexa_futures` only. */
  taker_buy_ratio: number | null
  /** Last settled funding rate at the close; `cexa_futures` and `perpdex` only. */
  funding_rate: number | null
  /** Last observed open interest at the close, base asset; `cexa_futures` and `perpdex` only. */
  open_interest: number | null
  /** False while the bar is still open. */
  closed: boolean
  /** Prediction markets: condition id (`predmkt_a`) or ticker (`predmkt_b`). */
  market_id?: string
  /** Prediction markets: slug of the market. */
  market_slug?: string | null
  /** Prediction markets: order-book token of the leg. */
  token_id?: string | null
  /** Prediction markets: outcome that the price is the probability of. */
  outcome?: string | null
  /** Prediction markets: question of the market. */
  question?: string | null
}

export type Snapshot = SnapshotPredmktA | SnapshotPredmktB | SnapshotPerpdex | SnapshotCexa

export interface SnapshotPredmktA {
  /** Time of the sample. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'predmkt_a'
  /** Sampling step, as asked; `500ms` when every stored sample is served. */
  interval: string
  /** Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`. */
  market_id: string | null
  /** Highest bid; null without bids. */
  best_bid: number | null
  /** Lowest ask; null without asks. */
  best_ask: number | null
  /** Middle of best bid and best ask; null unless both exist. */
  mid_price: number | null
  /** best_ask minus best_bid; null unless both exist. */
  spread: number | null
  /** Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book. */
  imbalance: number | null
  /** Slug of the market. */
  market_slug: string | null
  /** Question of the market. */
  question: string | null
  /** Duration of the contract. */
  market_type: string | null
  /** Order-book token of the Up leg. */
  token_up: string
  /** Order-book token of the Down leg. */
  token_down: string
  /** Probability of Up. */
  price_up: number | null
  /** Probability of Down. */
  price_down: number | null
  /** Price of the asset that the market settles on, at the sample. */
  reference_price: number | null
  /** Book of the Up token, with `include_orderbook`. */
  orderbook_up?: SnapshotPredmktAOrderbookUp
  /** Book of the Down token, with `include_orderbook`. */
  orderbook_down?: SnapshotPredmktAOrderbookUp
  /** Change of the Up book since the row before, with `include_diffs`; null for the first. */
  diffs?: SnapshotPredmktADiffs | null
}

/** Book of the Up token, with `include_orderbook`. */
export interface SnapshotPredmktAOrderbookUp {
  /** Bids, highest price first. */
  bids: readonly (readonly number[])[]
  /** Asks, lowest price first. */
  asks: readonly (readonly number[])[]
}

export interface SnapshotPredmktADiffs {
  /** Bid levels that are new or have a new size. */
  bids_added: readonly (readonly number[])[]
  /** Bid levels that are gone or had another size. */
  bids_removed: readonly (readonly number[])[]
  /** Ask levels that are new or have a new size. */
  asks_added: readonly (readonly number[])[]
  /** Ask levels that are gone or had another size. */
  asks_removed: readonly (readonly number[])[]
}

export interface SnapshotPredmktB {
  /** Time of the sample. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'predmkt_b'
  /** Sampling step, as asked; `500ms` when every stored sample is served. */
  interval: string
  /** Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`. */
  market_id: string | null
  /** Highest bid; null without bids. */
  best_bid: number | null
  /** Lowest ask; null without asks. */
  best_ask: number | null
  /** Middle of best bid and best ask; null unless both exist. */
  mid_price: number | null
  /** best_ask minus best_bid; null unless both exist. */
  spread: number | null
  /** Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book. */
  imbalance: number | null
  /** Highest bid for Yes. */
  yes_bid: number | null
  /** Lowest ask for Yes. */
  yes_ask: number | null
  /** Highest bid for No. */
  no_bid: number | null
  /** Lowest ask for No. */
  no_ask: number | null
  /** Price of the last trade. */
  last_price: number | null
  /** Contracts traded so far. */
  volume: number | null
  /** Open contracts. */
  open_interest: number | null
  /** Book of Yes, with `include_orderbook`. */
  orderbook_yes?: SnapshotPredmktAOrderbookUp
  /** Book of No, with `include_orderbook`. */
  orderbook_no?: SnapshotPredmktAOrderbookUp
  /** Change of the Yes book since the row before, with `include_diffs`; null for the first. */
  diffs?: SnapshotPredmktADiffs | null
}

export interface SnapshotPerpdex {
  /** Time of the sample. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'perpdex'
  /** Sampling step, as asked; `500ms` when every stored sample is served. */
  interval: string
  /** Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`. */
  market_id: string | null
  /** Highest bid; null without bids. */
  best_bid: number | null
  /** Lowest ask; null without asks. */
  best_ask: number | null
  /** Middle of best bid and best ask; null unless both exist. */
  mid_price: number | null
  /** best_ask minus best_bid; null unless both exist. */
  spread: number | null
  /** Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book. */
  imbalance: number | null
  /** Bids, highest price first; 20 levels. */
  bids: readonly (readonly number[])[]
  /** Asks, lowest price first; 20 levels. */
  asks: readonly (readonly number[])[]
}

export interface SnapshotCexa {
  /** Time of the sample. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'cexa'
  /** Sampling step, as asked; `500ms` when every stored sample is served. */
  interval: string
  /** Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`. */
  market_id: string | null
  /** Highest bid; null without bids. */
  best_bid: number | null
  /** Lowest ask; null without asks. */
  best_ask: number | null
  /** Middle of best bid and best ask; null unless both exist. */
  mid_price: number | null
  /** best_ask minus best_bid; null unless both exist. */
  spread: number | null
  /** Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book. */
  imbalance: number | null
}

export interface SnapshotAt {
  /** The snapshot; null when there is none. */
  data: Snapshot | null
  /** Echo of the request and what is known about the answer. */
  meta: SnapshotAtMeta
}

/** Echo of the request and what is known about the answer. */
export interface SnapshotAtMeta {
  /** Echo of the request. */
  symbol: string | null
  /** Echo of the request. */
  source: string | null
  /** Duration of the contract, as asked; null where it was not. */
  interval: string | null
  /** The instant that was asked for; left out: that of the answer. */
  time: string
  /** 1, or 0 when there is no snapshot. */
  count: number
  /** The same as count. */
  returned: number
  /** Always false. */
  has_more: false
  /** Always null. */
  next_cursor: null
  /** Always null: the time is never moved. */
  clamped: null
  /** Always null. */
  clamped_reason: null
  /** Always null. */
  original_start: null
  /** Always null. */
  effective_start: null
  /** Parameters without a meaning for the source, and `interval` beside `market_id`. */
  ignored: readonly string[]
  /** What was observed from the snapshot (or from where one could be) to the time. */
  coverage: ListMetaCoverage | null
  /** Why `data` is null. no_market: no market is known that runs at the time. not_recorded: nothing was recorded at or before it. plan_history: only before the window of the plan. Null with a snapshot. */
  reason: 'no_market' | 'not_recorded' | 'plan_history' | null
}

export interface Trade {
  /** Time of the trade. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** The venue's identifier of the trade. */
  trade_id: string
  /** Price; a probability in 0 to 1 for prediction markets. */
  price: number
  /** Size: base asset, shares (`predmkt_a`) or contracts (`predmkt_b`). */
  size: number
  /** Side of the aggressor. */
  side: 'buy' | 'sell'
  /** Role of the reported party; null unless known. */
  maker_taker: 'maker' | 'taker' | null
  /** Prediction markets: condition id or ticker; null elsewhere. */
  market_id: string | null
  /** `predmkt_a`: order-book token that was traded; null elsewhere. */
  token_id: string | null
  /** Prediction markets: outcome that was traded; null elsewhere. */
  outcome: string | null
}

export interface Flow {
  /** Start of the bucket. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** Length of the bucket, as asked. */
  interval: string
  /** Base volume of trades whose aggressor bought. */
  buy_volume: number
  /** Base volume of trades whose aggressor sold. */
  sell_volume: number
  /** Number of buys; null in buckets rebuilt without aggregate trades. */
  num_buys: number | null
  /** Number of sells; null in buckets rebuilt without aggregate trades. */
  num_sells: number | null
  /** Volume-weighted price of the buys; null without buys. */
  vwap_buy: number | null
  /** Volume-weighted price of the sells; null without sells. */
  vwap_sell: number | null
  /** buy_volume minus sell_volume. */
  net_volume: number
  /** buy_volume over the whole volume, 6 decimals; null without volume. */
  buy_ratio: number | null
}

export interface OpenInterest {
  /** Time of the observation. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** Distance of the observations, as asked. */
  interval: string
  /** Open interest: base asset, or open contracts (`predmkt_b`). */
  open_interest: number
  /** Open interest in US dollars at the mark price, or at the maximum payout (`predmkt_b`). */
  open_interest_usd: number
  /** `predmkt_b`: ticker of the market; absent in the sum over the symbol. */
  market_id?: string
}

export interface Liquidation {
  /** Time of the liquidation. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** The side that was liquidated. */
  side: 'long' | 'short'
  /** Quantity, base asset. */
  quantity: number
  /** Bankruptcy price that triggered it. */
  price: number
  /** Average fill price. */
  avg_price: number
  /** quantity times avg_price. */
  usd_value: number
}

export interface Funding {
  /** When the rate was recorded. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** Funding rate; positive means longs pay shorts. */
  funding_rate: number
  /** Next scheduled settlement. */
  next_funding_time: string
}

export interface Ticker {
  /** Second of the observation. */
  timestamp: string
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** Best bid. */
  bid_price: number
  /** Size at the best bid, base asset. */
  bid_size: number
  /** Best ask. */
  ask_price: number
  /** Size at the best ask, base asset. */
  ask_size: number
}

export interface Market {
  /** Identifier of the market: condition id (`predmkt_a`), ticker (`predmkt_b`) or coin (`perpdex`). */
  market_id: string
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Slug of the market. */
  slug: string | null
  /** Ticker of the market. */
  ticker: string | null
  /** Condition id of the market. */
  condition_id: string | null
  /** Identifier of the event that groups markets. */
  event_id: string | null
  /** The question that the market settles. */
  question: string | null
  /** Duration of the contract; null for perpetuals. */
  market_type: '5m' | '15m' | '1h' | '4h' | '24h' | null
  /** Start of the window that the contract settles on. */
  start_time: string | null
  /** End of that window. */
  end_time: string | null
  /** True until the market ends, also before it begins; false once it has ended or is resolved. */
  active: boolean
  /** upcoming before its start, open until its end, closed until its result is known, then resolved. */
  status: 'upcoming' | 'open' | 'closed' | 'resolved'
  /** Outcome that won; null until resolved. */
  winner: string | null
  /** When the market was resolved. */
  resolved_at: string | null
  /** Order-book tokens of the market. */
  tokens: readonly MarketToken[]
  /** When the venue created its record; null where it does not say. */
  created_at: string | null
  /** When the venue last changed it; null where it does not say. */
  updated_at: string | null
  /** What the venue files it under. */
  tags: readonly string[]
  /** Strike price, where the contract has one. */
  strike: number | null
  /** Price of the asset at start_time. */
  reference_price_start: number | null
  /** Price of the asset at end_time. */
  reference_price_end: number | null
  /** Volume so far. */
  volume: number | null
  /** Liquidity as the venue reports it. */
  liquidity: number | null
  /** Open interest as the venue reports it. */
  open_interest: number | null
  /** `predmkt_a`: order-book token of the outcome Up. */
  clob_token_up: string | null
  /** `predmkt_a`: order-book token of the outcome Down. */
  clob_token_down: string | null
  /** Volume of a resolved market; null until then. */
  final_volume: number | null
  /** Liquidity of a resolved market; null until then. */
  final_liquidity: number | null
}

export interface MarketToken {
  /** Order-book token. */
  token_id: string
  /** Outcome that the token pays for. */
  outcome: string
}

export interface MarketRecord {
  /** Identifier of the market: condition id (`predmkt_a`), ticker (`predmkt_b`) or coin (`perpdex`). */
  market_id: string
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Slug of the market. */
  slug: string | null
  /** Ticker of the market. */
  ticker: string | null
  /** Condition id of the market. */
  condition_id: string | null
  /** Identifier of the event that groups markets. */
  event_id: string | null
  /** The question that the market settles. */
  question: string | null
  /** Duration of the contract; null for perpetuals. */
  market_type: '5m' | '15m' | '1h' | '4h' | '24h' | null
  /** Start of the window that the contract settles on. */
  start_time: string | null
  /** End of that window. */
  end_time: string | null
  /** True until the market ends, also before it begins; false once it has ended or is resolved. */
  active: boolean
  /** upcoming before its start, open until its end, closed until its result is known, then resolved. */
  status: 'upcoming' | 'open' | 'closed' | 'resolved'
  /** Outcome that won; null until resolved. */
  winner: string | null
  /** When the market was resolved. */
  resolved_at: string | null
  /** Order-book tokens of the market. */
  tokens: readonly MarketToken[]
  /** When the venue created its record; null where it does not say. */
  created_at: string | null
  /** When the venue last changed it; null where it does not say. */
  updated_at: string | null
  /** What the venue files it under. */
  tags: readonly string[]
  /** Strike price, where the contract has one. */
  strike: number | null
  /** Price of the asset at start_time. */
  reference_price_start: number | null
  /** Price of the asset at end_time. */
  reference_price_end: number | null
  /** Volume so far. */
  volume: number | null
  /** Liquidity as the venue reports it. */
  liquidity: number | null
  /** Open interest as the venue reports it. */
  open_interest: number | null
  /** `predmkt_a`: order-book token of the outcome Up. */
  clob_token_up: string | null
  /** `predmkt_a`: order-book token of the outcome Down. */
  clob_token_down: string | null
  /** Volume of a resolved market; null until then. */
  final_volume: number | null
  /** Liquidity of a resolved market; null until then. */
  final_liquidity: number | null
}

export interface ExchangePair {
  /** Asset symbol. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Name of the asset. */
  name: string
  /** Where the row was recorded. */
  source: 'cexa' | 'cexa_futures' | 'perpdex' | 'predmkt_a' | 'predmkt_b' | 'oracle' | 'cexa_spot'
  /** Candle intervals. */
  intervals: readonly string[]
  /** Time of the earliest candle; null before the first one is recorded. */
  earliest_data: string | null
}

export interface SubmitResult {
  /** Id of the transaction, computed here. */
  tx_id: string
  /** Whether the network has it. */
  submitted: boolean
  /** Whether it was seen in a mempool; false for one that had left it by acceptance before. */
  mempool_seen: boolean
  /** Whether the network had accepted it before this call. */
  already_accepted: boolean
  /** Calls to nodes; all looks at the mempool together are one. */
  attempts: number
  /** Price of this answer. `X-Credits-Charged` is what was charged: less where the balance does not cover it. */
  credits_used: number
}

export interface SubmitRequest {
  /** The signed transaction, in the form that the node takes. */
  transaction: SubmitRequestTransaction
  /** Take it before its parents are known. Not together with `replace_by_fee`: a replacement is never taken as an orphan. */
  allow_orphan?: boolean
  /** Replace the one transaction in the mempool that it conflicts with. */
  replace_by_fee?: boolean
  /** Answer when the network shows the transaction. */
  wait_for_mempool?: boolean
  /** How long to wait for that. */
  wait_timeout_seconds?: number
}

/** The signed transaction, in the form that the node takes. */
export interface SubmitRequestTransaction {
  /** Transaction version. */
  version: number
  /** What is spent. */
  inputs: readonly SubmitRequestTransactionInput[]
  /** What is created. */
  outputs: readonly SubmitRequestTransactionOutput[]
  /** Lock time. A number, or decimal text where a double would lose digits. */
  lockTime: number | string
  /** The subnetwork. */
  subnetworkId: string
  /** Gas of the lane. A number, or decimal text where a double would lose digits. */
  gas: number | string
  /** Payload, hex. */
  payload: string
  /** Storage mass that the transaction commits to. A number, or decimal text where a double would lose digits. */
  storageMass?: number | string
  /** The older name of storageMass. A number, or decimal text where a double would lose digits. */
  mass?: number | string
}

export interface SubmitRequestTransactionInput {
  previousOutpoint: SubmitRequestTransactionInputPreviousOutpoint
  /** The signature script, hex. */
  signatureScript: string
  /** Sequence number. A number, or decimal text where a double would lose digits. */
  sequence: number | string
  /** Signature operations; version 0 only. */
  sigOpCount?: number
  /** Compute budget; version 1 only. */
  computeBudget?: number
}

export interface SubmitRequestTransactionInputPreviousOutpoint {
  /** Transaction whose output is spent. */
  transactionId: string
  /** Which of its outputs. */
  index: number
}

export interface SubmitRequestTransactionOutput {
  /** Amount in sompi. A number, or decimal text where a double would lose digits. */
  value: number | string
  /** Four hex digits of version and the script; or an object of both. */
  scriptPublicKey: string | SubmitRequestTransactionOutputScriptPublicKey
  /** Covenant that the output is bound to; version 1 only. */
  covenant?: SubmitRequestTransactionOutputCovenant | null
}

export interface SubmitRequestTransactionOutputScriptPublicKey {
  version: number
  script: string
}

export interface SubmitRequestTransactionOutputCovenant {
  /** Input that authorises it. */
  authorizingInput: number
  /** The covenant. */
  covenantId: string
}

export interface TransactionLookup {
  /** Transaction id. */
  tx_id: string
  /** pending, confirmed or dropped. */
  status: string
  /** The parsed transaction. */
  parsed: TransactionLookupParsed
  /** index or mempool. */
  source: string
  /** Time of the block that carries it; null while pending. */
  block_time: string | null
  /** That block; null while pending. */
  block_hash: string | null
  /** Chain block that accepted it; null while pending. */
  accepting_block_hash: string | null
  /** Time of that block. */
  accepting_block_time: string | null
  /** Blue score since acceptance; 0 while pending. */
  confirmations: number
  /** Of a dropped transaction: the one that spends the same output, where it is known. */
  replaced_by: string | null
  /** Fee, where all inputs are known. */
  fee_sompi: Integer | null
  /** Credits that this answer cost. */
  credits_used: number
}

/** The parsed transaction. */
export interface TransactionLookupParsed {
  /** Transaction id. */
  tx_id: string
  /** What is spent. */
  inputs: readonly TransactionLookupParsedInput[]
  /** What is created. */
  outputs: readonly TransactionLookupParsedOutput[]
  /** coinbase, covenant, covenant_execution, krc20, native_asset, scriptlang. */
  tags: readonly string[]
  /** One member for each tag. */
  details: Readonly<Record<string, unknown>>
}

export interface TransactionLookupParsedInput {
  /** Transaction whose output is spent. */
  tx_id: string
  /** Which of its outputs. */
  index: number
  /** Whose output it is; null while unknown. */
  address: string | null
  /** How much; null while unknown. */
  amount_sompi: Integer | null
  /** Whether a key of the address is shown to have signed. False: its program demanded none. Null: not shown. */
  signed?: boolean | null
}

export interface TransactionLookupParsedOutput {
  /** Place of the output. */
  index: number
  /** Amount in sompi. */
  amount_sompi: Integer
  /** Who receives it; null for a script without an address. */
  address: string | null
  /** Four hex digits of version, then the script. */
  script_public_key: string
  /** pubkey, pubkeyecdsa, scripthash or nonstandard. */
  script_class: string
  /** Covenant of the output; null without one. */
  covenant: TransactionLookupParsedOutputCovenant | null
}

export interface TransactionLookupParsedOutputCovenant {
  /** Covenant id. */
  id: string
  /** The input that authorises it. */
  authorizing_input: number
}

export interface AddressTransaction {
  /** Transaction id. */
  tx_id: string
  /** receive, send, or self (all inputs and outputs are its own; the amount is the fee). */
  direction: string
  /** Net of the address's own inputs and outputs, in sompi. */
  amount_sompi: Integer
  /** KAS, TKAS on test networks. */
  asset: string
  /** pending, confirmed or dropped. */
  status: string
  /** Address of the largest foreign input or output; null if none is known. */
  counterparty: string | null
  /** Time of the block that carries it; null while pending. */
  block_time: string | null
  /** mempool_entry while pending, utxos_changed once accepted. */
  event_kind: string
}

export interface AddressTransactions {
  /** The address asked for. */
  address: string
  /** Pending first, then by block time and acceptance, newest first; one for each transaction. */
  items: readonly AddressTransaction[]
  /** Pass it as `cursor` to get the next page; null on the last. */
  next_cursor: string | null
  /** From when on every transaction is indexed: after the last gap. */
  coverage_from: string | null
  /** What the history reaches over. */
  coverage: AddressTransactionsCoverage
  /** Credits that this answer cost. */
  credits_used: number
}

/** What the history reaches over. */
export interface AddressTransactionsCoverage {
  /** From when on transactions are indexed; null before the first start. */
  from: string | null
  /** Time of the last indexed chain block. */
  to: string | null
  /** Whether nothing is missing in between. */
  complete: boolean
  /** What is missing, for every address; the newest 100, oldest first. */
  gaps: readonly AddressTransactionsCoverageGap[]
}

export interface AddressTransactionsCoverageGap {
  /** Time of the last block before the gap. */
  from: string | null
  /** Time of the first block after it. */
  to: string | null
  /** pruned: the nodes no longer had that part of the chain. unreadable: transactions of that block are in a form that is not known. */
  reason: string
}

export interface AddressActivityItem {
  /** mempool or utxo. */
  kind: string
  /** Transaction id; of a utxo the one that created it. */
  tx_id: string
  /** Sompi; null for mempool items. */
  amount: Integer | null
  /** Null for utxo items. */
  parsed: TransactionLookupParsed | null
}

export interface AddressActivity {
  /** The address asked for. */
  address: string
  /** Mempool items first, then unspent outputs, newest first. */
  items: readonly AddressActivityItem[]
  /** Credits that this answer cost. */
  credits_used: number
}

export interface AddressBalance {
  /** The address asked for. */
  address: string
  /** KAS, TKAS on test networks. */
  asset: string
  /** The past time asked for; null: now. */
  at: string | null
  /** Sum of its unspent outputs, in sompi. */
  confirmed_sompi: Integer
  /** What the mempool would change; null for a past time. */
  pending: AddressBalancePending | null
  /** Credits that this answer cost. */
  credits_used: number
}

export interface AddressBalancePending {
  /** What transactions in the mempool pay to it, in sompi. */
  incoming_sompi: Integer
  /** What they spend of it, in sompi. */
  outgoing_sompi: Integer
  /** How many they are. */
  transactions: number
}

export interface AddressUtxo {
  /** Transaction that created it. */
  tx_id: string
  /** Which of its outputs. */
  index: number
  /** Amount in sompi. */
  amount_sompi: Integer
  /** Four hex digits of version, then the script. */
  script_public_key: string
  /** DAA score of the block that accepted it. */
  block_daa_score: Integer
  /** Whether a coinbase created it: it can be spent when it is mature. */
  is_coinbase: boolean
  /** The covenant it is bound to; null without one. */
  covenant_id: string | null
}

export interface AddressUtxos {
  /** The address asked for. */
  address: string
  /** By transaction id and index, ascending. */
  items: readonly AddressUtxo[]
  /** Pass it as `cursor` to get the next page; null on the last. */
  next_cursor: string | null
  /** Credits that this answer cost. */
  credits_used: number
}

export interface AddressCovenant {
  /** The covenant it is bound to. */
  covenant_id: string
  /** Transaction that created it. */
  tx_id: string
  /** Which of its outputs. */
  index: number
  /** Amount in sompi. */
  amount_sompi: Integer
  /** Address of its script; null for a script without one. */
  address: string | null
  /** Four hex digits of version, then the script. */
  script_public_key: string
  /** Time of the block that carries the transaction. */
  block_time: string
}

export interface AddressCovenants {
  /** The address asked for. */
  address: string
  /** By covenant, transaction id and index, ascending. */
  items: readonly CovenantUtxo[]
  /** Pass it as `cursor` to get the next page; null on the last. */
  next_cursor: string | null
  /** Outputs that were created earlier are not listed. */
  coverage_from: string | null
  /** Credits that this answer cost. */
  credits_used: number
}

export interface CovenantStep {
  /** The transaction. */
  tx_id: string
  /** Time of the block that carries it. */
  block_time: string
  /** genesis, continuation, or burn (no output goes on with it). */
  kind: string
  /** What the revealed programs are: kcc20 or kcc0020 (a token), silverscript (a compiled contract, by its frame), unknown; null where none was revealed. */
  program: string | null
  /** Outputs of the covenant that it spent. */
  spent: readonly CovenantStepSpent[]
  /** Outputs that it bound to the covenant. */
  created: readonly CovenantStepCreated[]
}

export interface CovenantStepSpent {
  /** Which input of the transaction. */
  input: number
  /** Transaction that created the spent output. */
  tx_id: string
  /** Which of its outputs. */
  index: number
  /** Amount in sompi. */
  amount_sompi: Integer | null
  /** Address of its script. */
  address: string | null
  /** Whether a key of the address is shown to have signed. False: its program demanded none. Null: not shown. */
  signed?: boolean | null
  /** Hash of its program; null where it was not paid to a script hash. */
  program_hash: string | null
  /** State of a KCC-20 token that the spending program has revealed; null where it has none. States of outputs that are not spent are hidden. */
  token: CovenantStepSpentToken | null
}

export interface CovenantStepSpentToken {
  /** Key, script hash or covenant id, as hex. */
  owner: string
  /** pubkey, script_hash, covenant or presence. */
  owner_type: string
  /** In the smallest unit of the token. */
  amount: Integer
  /** Whether it may mint; null where its form does not say. */
  is_minter: boolean | null
}

export interface CovenantStepCreated {
  /** Which output of the transaction. */
  index: number
  /** Amount in sompi. */
  amount_sompi: Integer
  /** Address of its script. */
  address: string | null
  /** Hash of its program, which is hidden until it is spent. */
  program_hash: string | null
}

export interface Covenant {
  /** The covenant asked for. */
  covenant_id: string
  /** Transaction that founded it; null where that was before the index began or is no longer stored. */
  genesis: string | null
  /** As the newest revealed program shows it: kcc20, kcc0020, silverscript or unknown. */
  program: string | null
  /** Whether the newest step left no output. */
  is_burnt: boolean
  /** Its lineage: every accepted transaction that created or spent it, newest first. */
  items: readonly CovenantStep[]
  /** Pass it as `cursor` to get the next page; null on the last. */
  next_cursor: string | null
  /** From when on every transaction is indexed: after the last gap. */
  coverage_from: string | null
  /** Credits that this answer cost. */
  credits_used: number
}

export interface CovenantUtxo {
  /** The covenant it is bound to. */
  covenant_id: string
  /** Transaction that created it. */
  tx_id: string
  /** Which of its outputs. */
  index: number
  /** Amount in sompi. */
  amount_sompi: Integer
  /** Address of its script; null for a script without one. */
  address: string | null
  /** Four hex digits of version, then the script. */
  script_public_key: string
  /** Time of the block that carries the transaction. */
  block_time: string
}

export interface CovenantUtxos {
  /** The covenant asked for. */
  covenant_id: string
  /** By transaction id and index, ascending. */
  items: readonly CovenantUtxo[]
  /** Pass it as `cursor` to get the next page; null on the last. */
  next_cursor: string | null
  /** Outputs that were created earlier are not listed. */
  coverage_from: string | null
  /** Credits that this answer cost. */
  credits_used: number
}

export interface Token {
  /** Tick, deploying transaction or covenant id. */
  token_id: string
  /** krc20, kcc20 or kcc0020 (a draft). */
  form: string
  /** What the amounts rest on: complete (every operation since its beginning), since_deploy (every one since a deployment that was seen; one of the same tick that is older than the index would make it void), revealed (what programs of spent outputs have shown), unknown (the token is older than the index, so its amounts are null). */
  history: string
  /** Tick of a KRC-20 token, or the name of an issued one; covenant tokens have none. */
  name: string | null
  /** Of KRC-20: digits after the point. */
  decimals: number | null
  /** In circulation, in its smallest unit: minted less burned, or the sum of the states that are proven. Null where it is not known. */
  amount: string | null
  /** Of KRC-20: what may be minted; 0 is without limit. */
  max_amount: string | null
  /** Of KRC-20: what one mint gives; 0 for tokens that their owner issues. */
  mint_amount: string | null
  /** Of KRC-20: who may issue, burn or hand it over. */
  owner: string | null
  /** Holders that are known; null where history is unknown. */
  holders: number | null
  /** Of covenant tokens: unspent outputs whose state is proven. */
  outputs: number | null
  /** Operations or transitions since the index has known it. */
  operations: number
  /** The first of them. */
  first_tx_id: string
  /** Time of the block that carries it. */
  first_seen: string
}

export interface Tokens {
  /** By id, ascending. */
  items: readonly Token[]
  /** Pass it as `cursor` to get the next page; null on the last. */
  next_cursor: string | null
  /** Tokens that did nothing since then are not listed. */
  coverage_from: string | null
  /** Credits that this answer cost. */
  credits_used: number
}

export interface TokenDetail {
  /** Tick, deploying transaction or covenant id. */
  token_id: string
  /** krc20, kcc20 or kcc0020 (a draft). */
  form: string
  /** What the amounts rest on: complete (every operation since its beginning), since_deploy (every one since a deployment that was seen; one of the same tick that is older than the index would make it void), revealed (what programs of spent outputs have shown), unknown (the token is older than the index, so its amounts are null). */
  history: string
  /** Tick of a KRC-20 token, or the name of an issued one; covenant tokens have none. */
  name: string | null
  /** Of KRC-20: digits after the point. */
  decimals: number | null
  /** In circulation, in its smallest unit: minted less burned, or the sum of the states that are proven. Null where it is not known. */
  amount: string | null
  /** Of KRC-20: what may be minted; 0 is without limit. */
  max_amount: string | null
  /** Of KRC-20: what one mint gives; 0 for tokens that their owner issues. */
  mint_amount: string | null
  /** Of KRC-20: who may issue, burn or hand it over. */
  owner: string | null
  /** Holders that are known; null where history is unknown. */
  holders: number | null
  /** Of covenant tokens: unspent outputs whose state is proven. */
  outputs: number | null
  /** Operations or transitions since the index has known it. */
  operations: number
  /** The first of them. */
  first_tx_id: string
  /** Time of the block that carries it. */
  first_seen: string
  /** Credits that this answer cost. */
  credits_used: number
}

export interface TokenHolder {
  /** Address; of an owner without one its kind and hex: `covenant:…` or `presence:…`. */
  holder: string
  /** In the token's smallest unit, what is locked included. */
  amount: string
  /** Of KRC-20: listed for sale. */
  locked: string
  /** Of covenant tokens: unspent outputs that are its own. */
  outputs: number
}

export interface TokenHolders {
  /** The token asked for. */
  token_id: string
  /** Largest amount first. */
  items: readonly TokenHolder[]
  /** Why amounts are missing: hidden_until_spent (outputs of the covenant whose states no transaction has shown), older_than_index (nothing is listed); null where all are known, and where that is not checked: covenant tokens with more than 10,000 outputs whose state is proven. */
  hidden_reason: string | null
  /** Pass it as `cursor` to get the next page; null on the last. */
  next_cursor: string | null
  /** From when on every transaction is indexed: after the last gap. */
  coverage_from: string | null
  /** Credits that this answer cost. */
  credits_used: number
}

export interface FeeEstimate {
  /** Network of the estimate. */
  network: string
  /** For the next block. */
  priority: FeeEstimatePriority
  /** For inclusion within about a minute. */
  normal: readonly FeeEstimatePriority[]
  /** For inclusion within about an hour. */
  low: readonly FeeEstimatePriority[]
  /** Whether the experimental estimator was used. */
  experimental: boolean
  /** Credits that this answer cost. */
  credits_used: number
  /** How to use it. */
  guidance: string
}

/** For the next block. */
export interface FeeEstimatePriority {
  /** Sompi per gram of mass. */
  feerate: number
  /** Time until it is in a block. */
  estimated_seconds: number
}

/** An answer, or for a batch a list of answers in the order of the calls. */
export type RpcResponse =
  | RpcResponseResult
  | RpcResponseError
  | readonly (RpcResponseResult | RpcResponseError)[]

export interface RpcResponseResult {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  /** What the node answered, byte for byte. */
  result: unknown
}

export interface RpcResponseError {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  error: RpcResponseErrorError
}

export interface RpcResponseErrorError {
  /** Its kind. */
  code: -32700 | -32600 | -32601 | -32602 | -32010 | -32000 | -32020
  /** A sentence, or the text of the node. */
  message: string
  /** What is known in fields. */
  data?: unknown
}

/** A call, or a batch of up to 50 (and up to the requests per second of the plan). */
export type RpcRequest =
  | RpcRequestPing
  | RpcRequestGetServerInfo
  | RpcRequestGetInfo
  | RpcRequestGetSyncStatus
  | RpcRequestGetCurrentNetwork
  | RpcRequestGetSystemInfo
  | RpcRequestGetConnections
  | RpcRequestGetMetrics
  | RpcRequestGetPeerAddresses
  | RpcRequestGetConnectedPeerInfo
  | RpcRequestGetBlockDagInfo
  | RpcRequestGetSink
  | RpcRequestGetSinkBlueScore
  | RpcRequestGetBlockCount
  | RpcRequestGetCurrentBlockColor
  | RpcRequestGetBlockRewardInfo
  | RpcRequestGetSeqCommitLaneProof
  | RpcRequestGetBalanceByAddress
  | RpcRequestGetUtxoReturnAddress
  | RpcRequestGetFeeEstimate
  | RpcRequestGetFeeEstimateExperimental
  | RpcRequestGetCoinSupply
  | RpcRequestGetDaaScoreTimestampEstimate
  | RpcRequestEstimateNetworkHashesPerSecond
  | RpcRequestGetSubnetwork
  | RpcRequestGetBlock
  | RpcRequestGetBlocks
  | RpcRequestGetHeaders
  | RpcRequestGetVirtualChainFromBlock
  | RpcRequestGetVirtualChainFromBlockV2
  | RpcRequestGetBlockTemplate
  | RpcRequestSubmitBlock
  | RpcRequestGetBalancesByAddresses
  | RpcRequestGetUtxosByAddresses
  | RpcRequestGetMempoolEntry
  | RpcRequestGetMempoolEntries
  | RpcRequestGetMempoolEntriesByAddresses
  | RpcRequestSubmitTransaction
  | RpcRequestSubmitTransactionReplacement
  | readonly (
      | RpcRequestPing
      | RpcRequestGetServerInfo
      | RpcRequestGetInfo
      | RpcRequestGetSyncStatus
      | RpcRequestGetCurrentNetwork
      | RpcRequestGetSystemInfo
      | RpcRequestGetConnections
      | RpcRequestGetMetrics
      | RpcRequestGetPeerAddresses
      | RpcRequestGetConnectedPeerInfo
      | RpcRequestGetBlockDagInfo
      | RpcRequestGetSink
      | RpcRequestGetSinkBlueScore
      | RpcRequestGetBlockCount
      | RpcRequestGetCurrentBlockColor
      | RpcRequestGetBlockRewardInfo
      | RpcRequestGetSeqCommitLaneProof
      | RpcRequestGetBalanceByAddress
      | RpcRequestGetUtxoReturnAddress
      | RpcRequestGetFeeEstimate
      | RpcRequestGetFeeEstimateExperimental
      | RpcRequestGetCoinSupply
      | RpcRequestGetDaaScoreTimestampEstimate
      | RpcRequestEstimateNetworkHashesPerSecond
      | RpcRequestGetSubnetwork
      | RpcRequestGetBlock
      | RpcRequestGetBlocks
      | RpcRequestGetHeaders
      | RpcRequestGetVirtualChainFromBlock
      | RpcRequestGetVirtualChainFromBlockV2
      | RpcRequestGetBlockTemplate
      | RpcRequestSubmitBlock
      | RpcRequestGetBalancesByAddresses
      | RpcRequestGetUtxosByAddresses
      | RpcRequestGetMempoolEntry
      | RpcRequestGetMempoolEntries
      | RpcRequestGetMempoolEntriesByAddresses
      | RpcRequestSubmitTransaction
      | RpcRequestSubmitTransactionReplacement
    )[]

export interface RpcRequestPing {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'ping'
  params?: Readonly<Record<string, unknown>>
}

/** Answers are shared for up to 200 ms. */
export interface RpcRequestGetServerInfo {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getServerInfo'
  params?: Readonly<Record<string, unknown>>
}

/** Answers are shared for up to 200 ms. */
export interface RpcRequestGetInfo {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getInfo'
  params?: Readonly<Record<string, unknown>>
}

export interface RpcRequestGetSyncStatus {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getSyncStatus'
  params?: Readonly<Record<string, unknown>>
}

/** Answers are shared for up to 5000 ms. */
export interface RpcRequestGetCurrentNetwork {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getCurrentNetwork'
  params?: Readonly<Record<string, unknown>>
}

/** Answers are shared for up to 5000 ms. */
export interface RpcRequestGetSystemInfo {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getSystemInfo'
  params?: Readonly<Record<string, unknown>>
}

export interface RpcRequestGetConnections {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getConnections'
  params?: RpcRequestGetConnectionsParams
}

export interface RpcRequestGetConnectionsParams {
  /** include CPU and memory use */
  includeProfileData?: boolean
}

/** Answers are shared for up to 500 ms. */
export interface RpcRequestGetMetrics {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getMetrics'
  params?: RpcRequestGetMetricsParams
}

export interface RpcRequestGetMetricsParams {
  /** include process metrics */
  processMetrics?: boolean
  /** include connection metrics */
  connectionMetrics?: boolean
  /** include bandwidth metrics */
  bandwidthMetrics?: boolean
  /** include consensus metrics */
  consensusMetrics?: boolean
  /** include storage metrics */
  storageMetrics?: boolean
  /** include custom metrics */
  customMetrics?: boolean
}

/** Answers are shared for up to 500 ms. */
export interface RpcRequestGetPeerAddresses {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getPeerAddresses'
  params?: Readonly<Record<string, unknown>>
}

/** Answers are shared for up to 500 ms. */
export interface RpcRequestGetConnectedPeerInfo {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getConnectedPeerInfo'
  params?: Readonly<Record<string, unknown>>
}

/** Answers are shared for up to 100 ms. */
export interface RpcRequestGetBlockDagInfo {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getBlockDagInfo'
  params?: Readonly<Record<string, unknown>>
}

export interface RpcRequestGetSink {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getSink'
  params?: Readonly<Record<string, unknown>>
}

export interface RpcRequestGetSinkBlueScore {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getSinkBlueScore'
  params?: Readonly<Record<string, unknown>>
}

/** Answers are shared for up to 100 ms. */
export interface RpcRequestGetBlockCount {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getBlockCount'
  params?: Readonly<Record<string, unknown>>
}

export interface RpcRequestGetCurrentBlockColor {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getCurrentBlockColor'
  params: RpcRequestGetCurrentBlockColorParams
}

export interface RpcRequestGetCurrentBlockColorParams {
  /** a block hash */
  hash: string
}

export interface RpcRequestGetBlockRewardInfo {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getBlockRewardInfo'
  params: RpcRequestGetCurrentBlockColorParams
}

export interface RpcRequestGetSeqCommitLaneProof {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getSeqCommitLaneProof'
  params: RpcRequestGetSeqCommitLaneProofParams
}

export interface RpcRequestGetSeqCommitLaneProofParams {
  /** a chain block */
  blockHash: string
  /** the lane */
  laneKey: string
}

export interface RpcRequestGetBalanceByAddress {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getBalanceByAddress'
  params: RpcRequestGetBalanceByAddressParams
}

export interface RpcRequestGetBalanceByAddressParams {
  /** the address */
  address: string
}

export interface RpcRequestGetUtxoReturnAddress {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getUtxoReturnAddress'
  params: RpcRequestGetUtxoReturnAddressParams
}

export interface RpcRequestGetUtxoReturnAddressParams {
  /** a transaction id */
  txid: string
  /** DAA score of its accepting block */
  acceptingBlockDaaScore: number | string
}

/** Answers are shared for up to 500 ms. */
export interface RpcRequestGetFeeEstimate {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getFeeEstimate'
  params?: Readonly<Record<string, unknown>>
}

/** Answers are shared for up to 500 ms. */
export interface RpcRequestGetFeeEstimateExperimental {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getFeeEstimateExperimental'
  params?: RpcRequestGetFeeEstimateExperimentalParams
}

export interface RpcRequestGetFeeEstimateExperimentalParams {
  /** include the details */
  verbose?: boolean
}

/** Answers are shared for up to 500 ms. */
export interface RpcRequestGetCoinSupply {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getCoinSupply'
  params?: Readonly<Record<string, unknown>>
}

export interface RpcRequestGetDaaScoreTimestampEstimate {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getDaaScoreTimestampEstimate'
  params: RpcRequestGetDaaScoreTimestampEstimateParams
}

export interface RpcRequestGetDaaScoreTimestampEstimateParams {
  /** DAA scores */
  daaScores: readonly (number | string)[]
}

export interface RpcRequestEstimateNetworkHashesPerSecond {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'estimateNetworkHashesPerSecond'
  params: RpcRequestEstimateNetworkHashesPerSecondParams
}

export interface RpcRequestEstimateNetworkHashesPerSecondParams {
  /** blocks to look back */
  windowSize: number | string
  /** count back from this block; the virtual block by default */
  startHash?: string
}

export interface RpcRequestGetSubnetwork {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getSubnetwork'
  params: RpcRequestGetSubnetworkParams
}

export interface RpcRequestGetSubnetworkParams {
  /** the subnetwork */
  subnetworkId: string
}

export interface RpcRequestGetBlock {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getBlock'
  params: RpcRequestGetBlockParams
}

export interface RpcRequestGetBlockParams {
  /** a block hash */
  hash: string
  /** include the transactions */
  includeTransactions?: boolean
}

export interface RpcRequestGetBlocks {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getBlocks'
  params?: RpcRequestGetBlocksParams
}

export interface RpcRequestGetBlocksParams {
  /** the first block; the genesis by default */
  lowHash?: string
  /** include the blocks */
  includeBlocks?: boolean
  /** include their transactions (needs includeBlocks) */
  includeTransactions?: boolean
}

export interface RpcRequestGetHeaders {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getHeaders'
  params: RpcRequestGetHeadersParams
}

export interface RpcRequestGetHeadersParams {
  /** the first header */
  startHash: string
  /** how many */
  limit: number | string
  /** towards the tip */
  isAscending?: boolean
}

export interface RpcRequestGetVirtualChainFromBlock {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getVirtualChainFromBlock'
  params: RpcRequestGetVirtualChainFromBlockParams
}

export interface RpcRequestGetVirtualChainFromBlockParams {
  /** a block of the selected chain */
  startHash: string
  /** include the accepted ids */
  includeAcceptedTransactionIds?: boolean
  /** leave out younger blocks */
  minConfirmationCount?: number | string
}

export interface RpcRequestGetVirtualChainFromBlockV2 {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getVirtualChainFromBlockV2'
  params: RpcRequestGetVirtualChainFromBlockV2Params
}

export interface RpcRequestGetVirtualChainFromBlockV2Params {
  /** a block of the selected chain */
  startHash: string
  /** how much to include */
  dataVerbosityLevel?: 'None' | 'Low' | 'High' | 'Full'
  /** leave out younger blocks */
  minConfirmationCount?: number | string
}

export interface RpcRequestGetBlockTemplate {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getBlockTemplate'
  params: RpcRequestGetBlockTemplateParams
}

export interface RpcRequestGetBlockTemplateParams {
  /** who is paid */
  payAddress: string
  /** bytes for the coinbase payload */
  extraData: readonly (number | string)[]
}

export interface RpcRequestSubmitBlock {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'submitBlock'
  params: RpcRequestSubmitBlockParams
}

export interface RpcRequestSubmitBlockParams {
  block: RpcRequestSubmitBlockParamsBlock
  /** accept a block off the DAA window */
  allowNonDaaBlocks?: boolean
}

export interface RpcRequestSubmitBlockParamsBlock {
  header: RpcRequestSubmitBlockParamsBlockHeader
  /** transactions, with up to 2,000 inputs and outputs together */
  transactions: readonly Readonly<Record<string, unknown>>[]
}

export interface RpcRequestSubmitBlockParamsBlockHeader {
  /** header version */
  version: number | string
  /** parents, one list per level */
  parentsByLevel: readonly (readonly string[])[]
  /** merkle root */
  hashMerkleRoot: string
  /** merkle root of accepted ids */
  acceptedIdMerkleRoot: string
  /** UTXO commitment */
  utxoCommitment: string
  /** milliseconds */
  timestamp: number | string
  /** difficulty bits */
  bits: number | string
  /** nonce */
  nonce: number | string
  /** DAA score */
  daaScore: number | string
  /** blue work, hex */
  blueWork: string
  /** blue score */
  blueScore: number | string
  /** pruning point */
  pruningPoint: string
}

export interface RpcRequestGetBalancesByAddresses {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getBalancesByAddresses'
  params: RpcRequestGetBalancesByAddressesParams
}

export interface RpcRequestGetBalancesByAddressesParams {
  /** addresses of the network */
  addresses: readonly string[]
}

export interface RpcRequestGetUtxosByAddresses {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getUtxosByAddresses'
  params: RpcRequestGetBalancesByAddressesParams
}

export interface RpcRequestGetMempoolEntry {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getMempoolEntry'
  params: RpcRequestGetMempoolEntryParams
}

export interface RpcRequestGetMempoolEntryParams {
  /** a transaction id */
  transactionId: string
  /** also look at orphans */
  includeOrphanPool?: boolean
  /** leave out the pool itself (orphans only) */
  filterTransactionPool?: boolean
}

export interface RpcRequestGetMempoolEntries {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getMempoolEntries'
  params?: RpcRequestGetMempoolEntriesParams
}

export interface RpcRequestGetMempoolEntriesParams {
  /** also look at orphans */
  includeOrphanPool?: boolean
  /** leave out the pool itself (orphans only) */
  filterTransactionPool?: boolean
}

export interface RpcRequestGetMempoolEntriesByAddresses {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'getMempoolEntriesByAddresses'
  params: RpcRequestGetMempoolEntriesByAddressesParams
}

export interface RpcRequestGetMempoolEntriesByAddressesParams {
  /** addresses of the network */
  addresses: readonly string[]
  /** also look at orphans */
  includeOrphanPool?: boolean
  /** leave out the pool itself (orphans only) */
  filterTransactionPool?: boolean
}

export interface RpcRequestSubmitTransaction {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'submitTransaction'
  params: RpcRequestSubmitTransactionParams
}

export interface RpcRequestSubmitTransactionParams {
  /** a signed transaction */
  transaction: Readonly<Record<string, unknown>>
  /** accept it without its parents */
  allowOrphan?: boolean
}

export interface RpcRequestSubmitTransactionReplacement {
  /** Version of the protocol. */
  jsonrpc: '2.0'
  /** Chosen by the caller, copied into the answer. */
  id: string | number | null
  method: 'submitTransactionReplacement'
  params: RpcRequestSubmitTransactionReplacementParams
}

export interface RpcRequestSubmitTransactionReplacementParams {
  /** a signed transaction that replaces one in the mempool */
  transaction: Readonly<Record<string, unknown>>
}

export interface Webhook {
  /** Id of the webhook. */
  id: string
  /** Where deliveries go. */
  url: string
  /** Kinds of events. */
  kinds: readonly (
    | 'block_added'
    | 'virtual_chain_changed'
    | 'virtual_daa_score_changed'
    | 'sink_blue_score_changed'
    | 'utxos_changed'
    | 'mempool_entry'
    | 'covenant_execution'
    | 'krc20_activity'
    | 'native_asset_transfer'
    | 'scriptlang_event'
    | 'covenant_created'
    | 'covenant_spent'
    | 'token_transfer'
  )[]
  /** Addresses that narrow the kinds which have some; needed for utxos_changed. */
  addresses: readonly string[]
  /** Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array. */
  batch: boolean
  /** Whether events are delivered. */
  active: boolean
  /** When it was created. */
  created_at: string
  /** Why the service switched it off: gone, failing, paused, key_revoked, key_expired; null while it did not. */
  disabled_reason: string | null
  /** When the service switched it off. */
  disabled_at: string | null
  /** Why deliveries wait: credits_exhausted, account_paused, plan, account_missing; null while they do not, and while it is off. */
  paused_reason: string | null
  /** First failure or pause since the last success. */
  failing_since: string | null
  /** When the last delivery was taken. */
  last_success_at: string | null
}

export interface Webhooks {
  /** Oldest first. */
  webhooks: readonly Webhook[]
  /** Pass it as cursor to get the next page; null on the last. */
  next_cursor: string | null
  /** Credits that this call cost. */
  credits_used: number
}

export interface CreatedWebhook {
  /** Id of the webhook. */
  id: string
  /** Where deliveries go. */
  url: string
  /** Kinds of events. */
  kinds: readonly (
    | 'block_added'
    | 'virtual_chain_changed'
    | 'virtual_daa_score_changed'
    | 'sink_blue_score_changed'
    | 'utxos_changed'
    | 'mempool_entry'
    | 'covenant_execution'
    | 'krc20_activity'
    | 'native_asset_transfer'
    | 'scriptlang_event'
    | 'covenant_created'
    | 'covenant_spent'
    | 'token_transfer'
  )[]
  /** Addresses that narrow the kinds which have some; needed for utxos_changed. */
  addresses: readonly string[]
  /** Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array. */
  batch: boolean
  /** Whether events are delivered. */
  active: boolean
  /** When it was created. */
  created_at: string
  /** Signing secret; shown once. */
  secret: string
  /** Credits that this call cost. */
  credits_used: number
}

export interface NewWebhook {
  /** HTTPS address of the receiver; port 443 or 1024 and above. */
  url: string
  /** Kinds of events. */
  kinds: readonly (
    | 'block_added'
    | 'virtual_chain_changed'
    | 'virtual_daa_score_changed'
    | 'sink_blue_score_changed'
    | 'utxos_changed'
    | 'mempool_entry'
    | 'covenant_execution'
    | 'krc20_activity'
    | 'native_asset_transfer'
    | 'scriptlang_event'
    | 'covenant_created'
    | 'covenant_spent'
    | 'token_transfer'
  )[]
  /** Addresses that narrow the kinds which have some; needed for utxos_changed. */
  addresses?: readonly string[]
  /** Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array. */
  batch?: boolean
}

export interface FoundWebhook {
  /** Id of the webhook. */
  id: string
  /** Where deliveries go. */
  url: string
  /** Kinds of events. */
  kinds: readonly (
    | 'block_added'
    | 'virtual_chain_changed'
    | 'virtual_daa_score_changed'
    | 'sink_blue_score_changed'
    | 'utxos_changed'
    | 'mempool_entry'
    | 'covenant_execution'
    | 'krc20_activity'
    | 'native_asset_transfer'
    | 'scriptlang_event'
    | 'covenant_created'
    | 'covenant_spent'
    | 'token_transfer'
  )[]
  /** Addresses that narrow the kinds which have some; needed for utxos_changed. */
  addresses: readonly string[]
  /** Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array. */
  batch: boolean
  /** Whether events are delivered. */
  active: boolean
  /** When it was created. */
  created_at: string
  /** Why the service switched it off: gone, failing, paused, key_revoked, key_expired; null while it did not. */
  disabled_reason: string | null
  /** When the service switched it off. */
  disabled_at: string | null
  /** Why deliveries wait: credits_exhausted, account_paused, plan, account_missing; null while they do not, and while it is off. */
  paused_reason: string | null
  /** First failure or pause since the last success. */
  failing_since: string | null
  /** When the last delivery was taken. */
  last_success_at: string | null
  /** Credits that this call cost. */
  credits_used: number
}

export interface ChangedWebhook {
  /** Id of the webhook. */
  id: string
  /** Where deliveries go. */
  url: string
  /** Kinds of events. */
  kinds: readonly (
    | 'block_added'
    | 'virtual_chain_changed'
    | 'virtual_daa_score_changed'
    | 'sink_blue_score_changed'
    | 'utxos_changed'
    | 'mempool_entry'
    | 'covenant_execution'
    | 'krc20_activity'
    | 'native_asset_transfer'
    | 'scriptlang_event'
    | 'covenant_created'
    | 'covenant_spent'
    | 'token_transfer'
  )[]
  /** Addresses that narrow the kinds which have some; needed for utxos_changed. */
  addresses: readonly string[]
  /** Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array. */
  batch: boolean
  /** Whether events are delivered. */
  active: boolean
  /** When it was created. */
  created_at: string
  /** Why the service switched it off: gone, failing, paused, key_revoked, key_expired; null while it did not. */
  disabled_reason: string | null
  /** When the service switched it off. */
  disabled_at: string | null
  /** Why deliveries wait: credits_exhausted, account_paused, plan, account_missing; null while they do not, and while it is off. */
  paused_reason: string | null
  /** First failure or pause since the last success. */
  failing_since: string | null
  /** When the last delivery was taken. */
  last_success_at: string | null
  /** Credits that this call cost. */
  credits_used: number
}

export interface WebhookChange {
  /** Off stops deliveries; on starts them, also after the service switched it off. */
  active?: boolean
  /** Kinds of events. */
  kinds?: readonly (
    | 'block_added'
    | 'virtual_chain_changed'
    | 'virtual_daa_score_changed'
    | 'sink_blue_score_changed'
    | 'utxos_changed'
    | 'mempool_entry'
    | 'covenant_execution'
    | 'krc20_activity'
    | 'native_asset_transfer'
    | 'scriptlang_event'
    | 'covenant_created'
    | 'covenant_spent'
    | 'token_transfer'
  )[]
  /** Addresses that narrow the kinds which have some; needed for utxos_changed. */
  addresses?: readonly string[]
  /** Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array. */
  batch?: boolean
}

export interface DeletedWebhook {
  /** Id of the webhook. */
  id: string
  /** It is gone. */
  deleted: true
  /** Credits that this call cost. */
  credits_used: number
}

export interface Delivery {
  /** Id of the delivery, as in X-Svc-Delivery. */
  id: string
  /** Id of the event. */
  event_id: string
  /** Number of the event. */
  seq: number
  /** Kind of the event. */
  kind: string
  /** failed: no further try will be made; a replay sends it again. */
  state: 'pending' | 'delivered' | 'failed'
  /** Tries so far. */
  attempts: number
  /** HTTP status of the last try; null without an answer. */
  last_status: number | null
  /** What was wrong with the last try. */
  last_error: string | null
  /** When the last try ended. */
  last_attempt_at: string | null
  /** How long the last try took. */
  duration_ms: number | null
  /** When the next try is due. */
  next_attempt_at: string | null
  /** When the delivery was planned. */
  created_at: string
}

export interface Deliveries {
  /** Id of the webhook. */
  id: string
  /** Newest first. */
  deliveries: readonly Delivery[]
  /** Pass it as cursor to get the next page; null on the last. */
  next_cursor: string | null
  /** Credits that this call cost. */
  credits_used: number
}

export interface WebhookTest {
  /** Id of the webhook. */
  id: string
  /** Id of the delivery, as in X-Svc-Delivery. */
  delivery_id: string
  /** Id of the sample event. */
  event_id: string
  /** Whether the receiver answered 2xx in time. */
  delivered: boolean
  /** HTTP status of the answer; null without one. */
  status: number | null
  /** What was wrong. */
  error: string | null
  /** How long it took. */
  duration_ms: number
  /** Credits that this call cost. */
  credits_used: number
}

export interface RotatedSecret {
  /** Id of the webhook. */
  id: string
  /** The new signing secret; shown once. */
  secret: string
  /** Until when the old secret signs too. */
  previous_valid_until: string
  /** Credits that this call cost. */
  credits_used: number
}

export interface Replay {
  /** Id of the webhook. */
  id: string
  /** Events that will be delivered again. */
  events: number
  /** Events of the range that wait to be delivered already; they are not planned again. */
  already_pending: number
  /** Where the range began. */
  after_seq: number
  /** Where it ends. */
  up_to_seq: number
  /** Where to go on when there was more than one call replays. */
  next_after_seq: number | null
  /** Whether the log no longer reached back to the beginning. */
  gap: boolean
  /** Credits that this call cost. */
  credits_used: number
}

export interface ReplayRange {
  /** Events with a higher number. */
  after_seq?: number
  /** Events from this time on. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  since?: Time
  /** No event with a higher number. Without an end: everything up to now. */
  up_to_seq?: number
  /** Events before this time. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  until?: Time
}

export interface Limits {
  /** Name of the plan. */
  plan: string
  /** Market-data name of the plan. */
  tier: 'free' | 'pro' | 'business'
  /** Of the key where it has a cap of its own, else of the account. */
  credits: LimitsCredits
  /** Of the account; only where the key has a cap of its own. */
  account_credits?: LimitsCredits
  rate_limits: LimitsRateLimits
  /** What the plan can do. */
  features: Readonly<Record<string, boolean>>
  /** Most rows of one page. */
  max_rows_per_request: number
  /** Days of history per kind of data; null means all of it. */
  max_history_days: Readonly<Record<string, number | null>>
  key: LimitsKey
}

/** Of the key where it has a cap of its own, else of the account. */
export interface LimitsCredits {
  /** Credits used in this period. */
  used: number
  /** Credits of this period. */
  limit: number
  /** Credits that are left. */
  remaining: number
  /** When the credits are renewed. */
  resets_at: string
}

export interface LimitsRateLimits {
  /** Requests allowed per second. */
  requests_per_second: number
  /** Requests allowed per minute. */
  requests_per_minute: number
  /** Requests of the last second, this one included. */
  current_second: number
  /** Requests of the last minute, this one included. */
  current_minute: number
}

export interface LimitsKey {
  /** Name of the key that was used. */
  name: string
  /** Environment of the key. */
  environment: 'test' | 'live'
  /** When the key expires; null: never. */
  expires_at: string | null
}

export interface Status {
  /** ok; degraded when some part is stale or down, or the disk nearly full; down when nothing works. */
  status: 'ok' | 'degraded' | 'down'
  /** The environment that the key reads. */
  environment: 'test' | 'live'
  /** One record per recorded source. */
  ingestion: readonly StatusIngestion[]
  /** The upstream nodes. */
  nodes: readonly StatusNode[]
  index: StatusIndex
  webhooks: StatusWebhooks
  /** The disk of the store. */
  disk: StatusDisk
  /** That no venue is recorded or no node is connected here, and which setting changes that; null otherwise. */
  notice: string | null
}

export interface StatusIngestion {
  /** Source that is recorded. */
  source: string
  /** Whether data arrives as it should. */
  status: 'healthy' | 'stale' | 'down'
  /** Time of the newest recorded event. */
  last_event_at: string | null
  /** Seconds since then. */
  lag_seconds: number | null
  /** Rows written since the process started. */
  rows_inserted: number
  /** Gaps recorded in the last 24 hours. */
  gaps_24h: number
  /** Share of the first fill with history that is done; null where there is none. */
  backfill: number | null
  /** Self-checks: sealed pages are read again, rows are compared with each other and with the venue. */
  audit: StatusIngestionAudit
  /** What the operator should know, such as missing credentials; null where there is nothing. */
  notice: string | null
  /** One record per dataset of the source. */
  coverage: readonly StatusIngestionCoverage[]
}

/** Self-checks: sealed pages are read again, rows are compared with each other and with the venue. */
export interface StatusIngestionAudit {
  /** Ranges of stored data that were examined since the process started. */
  checked: number
  /** What was found to be wrong in them, and became a correction or a gap. */
  differences: number
}

export interface StatusIngestionCoverage {
  /** What is recorded: candles, trades, snapshots (order books), … */
  dataset: string
  /** Its finest interval; null where it has none. */
  interval: string | null
  /** First observed instant of any symbol; null before the first record. */
  from: string | null
  /** Last observed instant of any symbol; null before the first record. */
  to: string | null
}

export interface StatusNode {
  /** Name of the node. */
  name: string
  /** State of the node in the pool. */
  state: string
  /** Whether the node is in step with its network. */
  synced: boolean
  /** Its virtual DAA score. */
  daa_score: number | null
  /** How far it is behind the best node, in DAA score. */
  lag: number | null
}

export interface StatusIndex {
  /** Whether the chain is indexed; restarting while what does it is started again or keeps failing, off where there is no node. */
  state: 'running' | 'restarting' | 'off'
  /** How often it had to be started again. */
  restarts: number
  /** From when on every transaction is indexed; null before the first start. */
  coverage_from: string | null
  /** Gaps recorded in the last 24 hours, counted up to 1,000. */
  gaps_24h: number
  /** The newest ten gaps, oldest first. */
  gaps: readonly StatusIndexGap[]
}

export interface StatusIndexGap {
  /** When it was noticed. */
  recorded_at: string
  /** Time of the last block before it. */
  from: string
  /** Time of the first block after it. */
  to: string
  /** pruned: the nodes no longer had that part of the chain. blocks_pruned: blocks in between were not told, the chain is whole. unreadable: transactions of that block are in a form that is not known. */
  reason: string
}

export interface StatusWebhooks {
  /** Deliveries that wait. */
  pending: number
  /** Age of the oldest of them. */
  oldest_pending_seconds: number
}

/** The disk of the store. */
export interface StatusDisk {
  /** low when there is less room than the operator wants: backfills and replays of webhooks stop, so that recording goes on. */
  state: 'ok' | 'low'
  /** When it was measured; null before the first time. */
  measured_at: string | null
  /** What the service stores, in all environments. */
  used_bytes: number | null
  /** Room on the disk; null where the disk is that of another server. */
  free_bytes: number | null
  /** By how much that grows, over the last 24 hours. Null until it is known. */
  growth_bytes_per_day: number | null
  /** When the disk will be full if it goes on like that; null where it will not. */
  full_at: string | null
  /** What this environment stores. */
  parts: readonly StatusDiskPart[]
}

export interface StatusDiskPart {
  /** A dataset (candles, trades, …), chain (index and events) or webhooks. */
  part: string
  /** Stored rows, where they are counted. */
  rows: number | null
  /** What it takes, with its share of indexes. */
  bytes: number
  /** By how much that grows. Null until it is known. */
  growth_bytes_per_day: number | null
}

export interface Health {
  /** Always ok: a process that cannot answer does not. */
  status: 'ok'
  /** Version of the running service. */
  version: string
  /** Seconds since the process started. */
  uptime_seconds: number
}

export interface Ready {
  /** Whether every part works. */
  ready: boolean
  /** The parts that were asked. */
  parts: readonly ReadyPart[]
}

export interface ReadyPart {
  /** Name of the part. */
  name: string
  /** Whether it works. */
  ok: boolean
  /** What is wrong with it. */
  detail?: string
}

export interface OpenApi {
  /** Version of OpenAPI. */
  openapi: string
}

export interface AsyncApi {
  /** Version of AsyncAPI. */
  asyncapi: string
}

export interface BlockAddedEvent {
  id: string
  seq: number
  kind: 'block_added'
  network: string
  created_at: string
  addresses: readonly string[]
  data: BlockAddedEventData
}

export interface BlockAddedEventData {
  hash: string
  daa_score: Integer
  blue_score: Integer
  timestamp: string
  transaction_ids: readonly string[]
}

export interface VirtualChainChangedEvent {
  id: string
  seq: number
  kind: 'virtual_chain_changed'
  network: string
  created_at: string
  addresses: readonly string[]
  data: VirtualChainChangedEventData
}

export interface VirtualChainChangedEventData {
  removed: readonly string[]
  added: readonly string[]
  accepted: readonly VirtualChainChangedEventDataAccepted[]
}

export interface VirtualChainChangedEventDataAccepted {
  accepting_block_hash: string
  transaction_ids: readonly string[]
}

export interface VirtualDaaScoreChangedEvent {
  id: string
  seq: number
  kind: 'virtual_daa_score_changed'
  network: string
  created_at: string
  addresses: readonly string[]
  data: VirtualDaaScoreChangedEventData
}

export interface VirtualDaaScoreChangedEventData {
  daa_score: Integer
}

export interface SinkBlueScoreChangedEvent {
  id: string
  seq: number
  kind: 'sink_blue_score_changed'
  network: string
  created_at: string
  addresses: readonly string[]
  data: SinkBlueScoreChangedEventData
}

export interface SinkBlueScoreChangedEventData {
  blue_score: Integer
}

export interface UtxosChangedEvent {
  id: string
  seq: number
  kind: 'utxos_changed'
  network: string
  created_at: string
  addresses: readonly string[]
  data: UtxosChangedEventData
}

export interface UtxosChangedEventData {
  address: string
  tx_id: string
  added: readonly UtxosChangedEventDataAdded[]
  removed: readonly UtxosChangedEventDataAdded[]
  daa_score: Integer
  retracted: boolean
  retracts: string | null
}

export interface UtxosChangedEventDataAdded {
  tx_id: string
  index: number
  /** sompi */
  amount_sompi: Integer
}

export interface MempoolEntryEvent {
  id: string
  seq: number
  kind: 'mempool_entry'
  network: string
  created_at: string
  addresses: readonly string[]
  data: MempoolEntryEventData
}

export interface MempoolEntryEventData {
  tx_id: string
  /** sompi; null where an input is not known */
  fee_sompi: Integer | null
  is_orphan: boolean
  /** where it was seen first: block when it left the mempool between two polls */
  first_seen: 'mempool' | 'block'
  tags: readonly string[]
  outputs: readonly MempoolEntryEventDataOutput[]
}

export interface MempoolEntryEventDataOutput {
  index: number
  /** sompi */
  amount_sompi: Integer
  address: string | null
  script_public_key: string
  script_class: string
  covenant: MempoolEntryEventDataOutputCovenant | null
}

export interface MempoolEntryEventDataOutputCovenant {
  id: string
  authorizing_input: number
}

export interface CovenantExecutionEvent {
  id: string
  seq: number
  kind: 'covenant_execution'
  network: string
  created_at: string
  addresses: readonly string[]
  data: CovenantExecutionEventData
}

export interface CovenantExecutionEventData {
  tx_id: string
  stage: 'mempool' | 'accepted'
  tags: readonly string[]
  detail: Readonly<Record<string, unknown>>
  outputs: readonly MempoolEntryEventDataOutput[]
}

export interface Krc20ActivityEvent {
  id: string
  seq: number
  kind: 'krc20_activity'
  network: string
  created_at: string
  addresses: readonly string[]
  data: CovenantExecutionEventData
}

export interface NativeAssetTransferEvent {
  id: string
  seq: number
  kind: 'native_asset_transfer'
  network: string
  created_at: string
  addresses: readonly string[]
  data: CovenantExecutionEventData
}

export interface ScriptlangEvent {
  id: string
  seq: number
  kind: 'scriptlang_event'
  network: string
  created_at: string
  addresses: readonly string[]
  data: CovenantExecutionEventData
}

export interface CovenantCreatedEvent {
  id: string
  seq: number
  kind: 'covenant_created'
  network: string
  created_at: string
  addresses: readonly string[]
  data: CovenantCreatedEventData
}

export interface CovenantCreatedEventData {
  covenant_id: string
  tx_id: string
  daa_score: Integer
  retracted: boolean
  retracts: string | null
  /** the covenant begins here */
  is_genesis: boolean
  outputs: readonly CovenantCreatedEventDataOutput[]
}

export interface CovenantCreatedEventDataOutput {
  tx_id: string
  index: number
  /** sompi */
  amount_sompi: Integer
  address: string | null
}

export interface CovenantSpentEvent {
  id: string
  seq: number
  kind: 'covenant_spent'
  network: string
  created_at: string
  addresses: readonly string[]
  data: CovenantSpentEventData
}

export interface CovenantSpentEventData {
  covenant_id: string
  tx_id: string
  daa_score: Integer
  retracted: boolean
  retracts: string | null
  /** no output carries it on */
  is_burn: boolean
  inputs: readonly CovenantSpentEventDataInput[]
}

export interface CovenantSpentEventDataInput {
  tx_id: string
  index: number
  /** sompi */
  amount_sompi: Integer
  address: string | null
  /** a key of the address has signed; false: none had to; null: not shown */
  signed: boolean | null
}

export interface TokenTransferEvent {
  id: string
  seq: number
  kind: 'token_transfer'
  network: string
  created_at: string
  addresses: readonly string[]
  data: TokenTransferEventData
}

export interface TokenTransferEventData {
  token_id: string
  /** krc20, kcc20 or kcc0020 */
  form: string
  tx_id: string
  daa_score: Integer
  retracted: boolean
  retracts: string | null
  /** of KRC-20 its name, of a covenant token transition or burn */
  operation: string
  /** null: whether it had an effect is not known, because the token is older than the index */
  valid: true | null
  from: readonly TokenTransferEventDataFrom[]
  to: readonly TokenTransferEventDataTo[]
}

export interface TokenTransferEventDataFrom {
  /** address, or kind and hex of another owner; null while it is hidden */
  holder: string | null
  /** digits, in the token's smallest unit; null while it is hidden */
  amount: string | null
  /** a key of the address has signed; false: none had to; null: not shown */
  signed: boolean | null
}

export interface TokenTransferEventDataTo {
  /** address, or kind and hex of another owner; null while it is hidden */
  holder: string | null
  /** digits, in the token's smallest unit; null while it is hidden */
  amount: string | null
}

/** Any event. */
export type ChainEvent =
  | BlockAddedEvent
  | VirtualChainChangedEvent
  | VirtualDaaScoreChangedEvent
  | SinkBlueScoreChangedEvent
  | UtxosChangedEvent
  | MempoolEntryEvent
  | CovenantExecutionEvent
  | Krc20ActivityEvent
  | NativeAssetTransferEvent
  | ScriptlangEvent
  | CovenantCreatedEvent
  | CovenantSpentEvent
  | TokenTransferEvent

/** Kinds of events. */
export type EventKind =
  | 'block_added'
  | 'virtual_chain_changed'
  | 'virtual_daa_score_changed'
  | 'sink_blue_score_changed'
  | 'utxos_changed'
  | 'mempool_entry'
  | 'covenant_execution'
  | 'krc20_activity'
  | 'native_asset_transfer'
  | 'scriptlang_event'
  | 'covenant_created'
  | 'covenant_spent'
  | 'token_transfer'

export interface MarketsMeta {
  /** Markets that fit the filters, on all pages; null where they are more than 2,000. */
  total: number | null
  /** Rows per page that are allowed here. */
  limit: number
  /** Rows of the pages before this one. */
  offset: number | null
}

export type ErrorCode =
  | 'invalid_symbol'
  | 'invalid_source'
  | 'invalid_interval'
  | 'invalid_side'
  | 'invalid_time_range'
  | 'unauthorized'
  | 'credits_exhausted'
  | 'plan_required'
  | 'tier_restricted'
  | 'not_found'
  | 'market_not_found'
  | 'transaction_not_found'
  | 'method_not_allowed'
  | 'idempotency_conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'invalid_param'
  | 'transaction_rejected'
  | 'upgrade_required'
  | 'rate_limited'
  | 'rate_limit_exceeded'
  | 'internal_error'
  | 'data_not_available'
  | 'upstream_error'
  | 'upstream_unavailable'
  | 'environment_unavailable'
  | 'upstream_timeout'

/** Refused with the code `invalid_symbol`. */
export class InvalidSymbolError extends ApiError {
  override readonly code = 'invalid_symbol'
}

/** Refused with the code `invalid_source`. */
export class InvalidSourceError extends ApiError {
  override readonly code = 'invalid_source'
}

/** Refused with the code `invalid_interval`. */
export class InvalidIntervalError extends ApiError {
  override readonly code = 'invalid_interval'
}

/** Refused with the code `invalid_side`. */
export class InvalidSideError extends ApiError {
  override readonly code = 'invalid_side'
}

/** Refused with the code `invalid_time_range`. */
export class InvalidTimeRangeError extends ApiError {
  override readonly code = 'invalid_time_range'
}

/** Refused with the code `unauthorized`. */
export class UnauthorizedError extends ApiError {
  override readonly code = 'unauthorized'
}

/** Refused with the code `credits_exhausted`. */
export class CreditsExhaustedError extends ApiError {
  override readonly code = 'credits_exhausted'
}

/** Refused with the code `plan_required`. */
export class PlanRequiredError extends ApiError {
  override readonly code = 'plan_required'
}

/** Refused with the code `tier_restricted`. */
export class TierRestrictedError extends ApiError {
  override readonly code = 'tier_restricted'
}

/** Refused with the code `not_found`. */
export class NotFoundError extends ApiError {
  override readonly code = 'not_found'
}

/** Refused with the code `market_not_found`. */
export class MarketNotFoundError extends ApiError {
  override readonly code = 'market_not_found'
}

/** Refused with the code `transaction_not_found`. */
export class TransactionNotFoundError extends ApiError {
  override readonly code = 'transaction_not_found'
}

/** Refused with the code `method_not_allowed`. */
export class MethodNotAllowedError extends ApiError {
  override readonly code = 'method_not_allowed'
}

/** Refused with the code `idempotency_conflict`. */
export class IdempotencyConflictError extends ApiError {
  override readonly code = 'idempotency_conflict'
}

/** Refused with the code `payload_too_large`. */
export class PayloadTooLargeError extends ApiError {
  override readonly code = 'payload_too_large'
}

/** Refused with the code `unsupported_media_type`. */
export class UnsupportedMediaTypeError extends ApiError {
  override readonly code = 'unsupported_media_type'
}

/** Refused with the code `invalid_param`. */
export class InvalidParamError extends ApiError {
  override readonly code = 'invalid_param'
}

/** Refused with the code `transaction_rejected`. */
export class TransactionRejectedError extends ApiError {
  override readonly code = 'transaction_rejected'
}

/** Refused with the code `upgrade_required`. */
export class UpgradeRequiredError extends ApiError {
  override readonly code = 'upgrade_required'
}

/** Refused with the code `rate_limited`. */
export class RateLimitedError extends ApiError {
  override readonly code = 'rate_limited'
}

/** Refused with the code `rate_limit_exceeded`. */
export class RateLimitExceededError extends ApiError {
  override readonly code = 'rate_limit_exceeded'
}

/** Refused with the code `internal_error`. */
export class InternalError extends ApiError {
  override readonly code = 'internal_error'
}

/** Refused with the code `data_not_available`. */
export class DataNotAvailableError extends ApiError {
  override readonly code = 'data_not_available'
}

/** Refused with the code `upstream_error`. */
export class UpstreamError extends ApiError {
  override readonly code = 'upstream_error'
}

/** Refused with the code `upstream_unavailable`. */
export class UpstreamUnavailableError extends ApiError {
  override readonly code = 'upstream_unavailable'
}

/** Refused with the code `environment_unavailable`. */
export class EnvironmentUnavailableError extends ApiError {
  override readonly code = 'environment_unavailable'
}

/** Refused with the code `upstream_timeout`. */
export class UpstreamTimeoutError extends ApiError {
  override readonly code = 'upstream_timeout'
}

export const ERROR_CLASSES: Readonly<Record<string, typeof ApiError>> = {
  invalid_symbol: InvalidSymbolError,
  invalid_source: InvalidSourceError,
  invalid_interval: InvalidIntervalError,
  invalid_side: InvalidSideError,
  invalid_time_range: InvalidTimeRangeError,
  unauthorized: UnauthorizedError,
  credits_exhausted: CreditsExhaustedError,
  plan_required: PlanRequiredError,
  tier_restricted: TierRestrictedError,
  not_found: NotFoundError,
  market_not_found: MarketNotFoundError,
  transaction_not_found: TransactionNotFoundError,
  method_not_allowed: MethodNotAllowedError,
  idempotency_conflict: IdempotencyConflictError,
  payload_too_large: PayloadTooLargeError,
  unsupported_media_type: UnsupportedMediaTypeError,
  invalid_param: InvalidParamError,
  transaction_rejected: TransactionRejectedError,
  upgrade_required: UpgradeRequiredError,
  rate_limited: RateLimitedError,
  rate_limit_exceeded: RateLimitExceededError,
  internal_error: InternalError,
  data_not_available: DataNotAvailableError,
  upstream_error: UpstreamError,
  upstream_unavailable: UpstreamUnavailableError,
  environment_unavailable: EnvironmentUnavailableError,
  upstream_timeout: UpstreamTimeoutError,
}

export interface CandlesParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Length of a bar. */
  interval?: '1s' | '1m' | '5m' | '15m' | '1h' | '4h' | '1d' | '24h' | undefined
  /** Venue that the rows come from. */
  source?:
    | 'cexa'
    | 'cexa_spot'
    | 'cexa_futures'
    | 'perpdex'
    | 'predmkt_a'
    | 'predmkt_b'
    | 'oracle'
    | undefined
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere. */
  token_id?: string | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface PredmktACandlesParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Length of a bar. */
  interval?: '5m' | '15m' | '1h' | '4h' | '1d' | '24h' | undefined
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere. */
  token_id?: string | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
  /** Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). */
  condition_id?: string | undefined
}

export interface PredmktBBySymbolParams {
  /** Asset symbol in any case, or a market id, condition id, slug, ticker or token id. */
  symbol: string
  /** Length of a bar. */
  interval?: '5m' | '15m' | '1h' | '4h' | '1d' | '24h' | undefined
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere. */
  token_id?: string | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
  /** Another name of `start`. First instant, inclusive. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start_time?: Time | undefined
  /** Another name of `end`. Last instant, exclusive. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end_time?: Time | undefined
  /** Pages are asked for by `after`. Accepted and ignored. */
  offset?: number | undefined
  /** Candles have no order book: it is on the snapshots of the venue. Accepted and ignored. */
  include_orderbook?: boolean | undefined
}

export interface PerpdexBySymbolParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Length of a bar. */
  interval?: '1s' | '1m' | '5m' | '15m' | '1h' | '4h' | '1d' | '24h' | undefined
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere. */
  token_id?: string | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
  /** Another name of `start`. First instant, inclusive. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start_time?: Time | undefined
  /** Another name of `end`. Last instant, exclusive. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end_time?: Time | undefined
  /** Pages are asked for by `after`. Accepted and ignored. */
  offset?: number | undefined
  /** Candles have no order book: it is on the snapshots of the venue. Accepted and ignored. */
  include_orderbook?: boolean | undefined
}

export interface SnapshotsParams {
  /** Venue that the rows come from. */
  source: 'predmkt_a' | 'predmkt_b' | 'perpdex' | 'cexa'
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Adds both books of each market: every level of `predmkt_b`, up to `depth` of `predmkt_a`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_orderbook?: boolean | undefined
  /** Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_diffs?: boolean | undefined
  /** Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere. */
  depth?: number | undefined
  /** Sampling step; left out: every stored sample. */
  interval?: '500ms' | '1s' | '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface PredmktASnapshotsParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Adds both books of each market: every level of `predmkt_b`, up to `depth` of `predmkt_a`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_orderbook?: boolean | undefined
  /** Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_diffs?: boolean | undefined
  /** Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere. */
  depth?: number | undefined
  /** Sampling step; left out: every stored sample. */
  interval?: '500ms' | '1s' | '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
  /** Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). */
  condition_id?: string | undefined
}

export interface PredmktAOrderbookParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_diffs?: boolean | undefined
  /** Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere. */
  depth?: number | undefined
  /** Sampling step; left out: every stored sample. */
  interval?: '500ms' | '1s' | '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
  /** Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). */
  condition_id?: string | undefined
}

export interface PredmktBSnapshotsParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Adds both books of each market: every level of `predmkt_b`, up to `depth` of `predmkt_a`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_orderbook?: boolean | undefined
  /** Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_diffs?: boolean | undefined
  /** Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere. */
  depth?: number | undefined
  /** Sampling step; left out: every stored sample. */
  interval?: '500ms' | '1s' | '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
  /** Another name of `market_type`. Series of the contract. */
  series?: '15m' | 'hourly' | 'daily' | undefined
}

export interface PredmktBOrderbookParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_diffs?: boolean | undefined
  /** Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere. */
  depth?: number | undefined
  /** Sampling step; left out: every stored sample. */
  interval?: '500ms' | '1s' | '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
  /** Another name of `market_type`. Series of the contract. */
  series?: '15m' | 'hourly' | 'daily' | undefined
}

export interface PerpdexSnapshotsParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Adds both books of each market: every level of `predmkt_b`, up to `depth` of `predmkt_a`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_orderbook?: boolean | undefined
  /** Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_diffs?: boolean | undefined
  /** Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere. */
  depth?: number | undefined
  /** Sampling step; left out: every stored sample. */
  interval?: '500ms' | '1s' | '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface SnapshotsAtParams {
  /** Venue that the rows come from. */
  source: 'predmkt_a' | 'predmkt_b' | 'perpdex' | 'cexa'
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** The instant. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. Needed unless `interval` is given. */
  time?: Time | undefined
  /** Duration of the contract; without `time` its newest snapshot. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  interval?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Adds both books of the market, with every level. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_orderbook?: boolean | undefined
}

export interface PredmktASnapshotsAtParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** The instant. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. Needed unless `interval` is given. */
  time?: Time | undefined
  /** Duration of the contract; without `time` its newest snapshot. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  interval?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Adds both books of the market, with every level. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_orderbook?: boolean | undefined
  /** Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). */
  condition_id?: string | undefined
}

export interface PredmktBSnapshotsAtParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** The instant. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. Needed unless `interval` is given. */
  time?: Time | undefined
  /** Duration of the contract; without `time` its newest snapshot. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  interval?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Adds both books of the market, with every level. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_orderbook?: boolean | undefined
}

export interface PerpdexSnapshotsAtParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** The instant. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. Needed unless `interval` is given. */
  time?: Time | undefined
  /** Duration of the contract; without `time` its newest snapshot. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  interval?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** Adds both books of the market, with every level. Only for predmkt_a, predmkt_b; ignored elsewhere. */
  include_orderbook?: boolean | undefined
}

export interface TradesParams {
  /** Asset symbol in any case, or a market id, condition id, slug, ticker or token id. */
  symbol: string
  /** Venue that the rows come from. */
  source?: 'predmkt_a' | 'predmkt_b' | 'perpdex' | undefined
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere. */
  token_id?: string | undefined
  /** Side of the aggressor. Left out: all. */
  side?: 'buy' | 'sell' | 'all' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface PredmktATradesParams {
  /** Asset symbol in any case, or a market id, condition id, slug, ticker or token id. */
  symbol: string
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere. */
  token_id?: string | undefined
  /** Side of the aggressor. Left out: all. */
  side?: 'buy' | 'sell' | 'all' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
  /** Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). */
  condition_id?: string | undefined
}

export interface PerpdexTradesParams {
  /** Asset symbol in any case, or a market id, condition id, slug, ticker or token id. */
  symbol: string
  /** One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere. */
  market_id?: string | undefined
  /** One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere. */
  token_id?: string | undefined
  /** Side of the aggressor. Left out: all. */
  side?: 'buy' | 'sell' | 'all' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface FlowParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Length of a bucket. */
  interval: '5m' | '15m' | '1h' | '4h' | '24h'
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface OpenInterestParams {
  /** Asset symbol in any case, or the ticker or slug of a `predmkt_b` market. */
  symbol: string
  /** Venue that the rows come from. */
  source?: 'cexa_futures' | 'perpdex' | 'predmkt_b' | undefined
  /** Distance of the observations. */
  interval?: '5m' | '15m' | '1h' | '4h' | '1d' | '24h' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface PerpdexOpenInterestParams {
  /** Asset symbol in any case, or the ticker or slug of a `predmkt_b` market. */
  symbol: string
  /** Distance of the observations. */
  interval?: '5m' | '15m' | '1h' | '4h' | '1d' | '24h' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface LiquidationsParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Side that was liquidated. */
  side?: 'long' | 'short' | 'all' | undefined
  /** Least value in US dollars. Needs the business plan. */
  min_usd?: number | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface FundingParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Venue that the rows come from. */
  source?: 'cexa_futures' | 'perpdex' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface PerpdexFundingParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface TickerParams {
  /** Asset symbol, in any case. */
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP'
  /** Venue that the rows come from. */
  source?: 'cexa' | 'cexa_futures' | undefined
  /** First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  start?: Time | undefined
  /** Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  end?: Time | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Row order. Left out: chronological when `start` is given, newest first otherwise. */
  order?: 'asc' | 'desc' | undefined
}

export interface MarketsParams {
  /** Venue that the rows come from. */
  source?: 'predmkt_a' | 'predmkt_b' | 'perpdex' | undefined
  /** Asset symbol, in any case. */
  symbol?: 'BTC' | 'ETH' | 'SOL' | 'XRP' | undefined
  /** Duration of the contract. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Only markets that have not ended (true), or that have ended or are resolved (false). */
  active?: boolean | undefined
  /** Only markets in this state. */
  status?: 'upcoming' | 'open' | 'closed' | 'resolved' | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Order by end. Left out: latest first. */
  order?: 'asc' | 'desc' | undefined
}

export interface PredmktAMarketsParams {
  /** Asset symbol, in any case. */
  symbol?: 'BTC' | 'ETH' | 'SOL' | 'XRP' | undefined
  /** Duration of the contract. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Only markets that have not ended (true), or that have ended or are resolved (false). */
  active?: boolean | undefined
  /** Only markets in this state. */
  status?: 'upcoming' | 'open' | 'closed' | 'resolved' | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Order by end. Left out: latest first. */
  order?: 'asc' | 'desc' | undefined
}

export interface PredmktBParams {
  /** Asset symbol, in any case. */
  symbol?: 'BTC' | 'ETH' | 'SOL' | 'XRP' | undefined
  /** Duration of the contract. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Only markets in this state. */
  status?: 'upcoming' | 'open' | 'closed' | 'resolved' | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Order by end. Left out: latest first. */
  order?: 'asc' | 'desc' | undefined
}

export interface PredmktBMarketsParams {
  /** Asset symbol, in any case. */
  symbol?: 'BTC' | 'ETH' | 'SOL' | 'XRP' | undefined
  /** Duration of the contract. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Only markets in this state. */
  status?: 'upcoming' | 'open' | 'closed' | 'resolved' | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Order by end. Left out: latest first. */
  order?: 'asc' | 'desc' | undefined
}

export interface PerpdexParams {
  /** Asset symbol, in any case. */
  symbol?: 'BTC' | 'ETH' | 'SOL' | 'XRP' | undefined
  /** Duration of the contract. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Only markets that have not ended (true), or that have ended or are resolved (false). */
  active?: boolean | undefined
  /** Only markets in this state. */
  status?: 'upcoming' | 'open' | 'closed' | 'resolved' | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Order by end. Left out: latest first. */
  order?: 'asc' | 'desc' | undefined
}

export interface PerpdexMarketsParams {
  /** Asset symbol, in any case. */
  symbol?: 'BTC' | 'ETH' | 'SOL' | 'XRP' | undefined
  /** Duration of the contract. */
  market_type?: '5m' | '15m' | '1h' | '4h' | '24h' | undefined
  /** Only markets that have not ended (true), or that have ended or are resolved (false). */
  active?: boolean | undefined
  /** Only markets in this state. */
  status?: 'upcoming' | 'open' | 'closed' | 'resolved' | undefined
  /** Rows per page. The plan's row cap may cut it. */
  limit?: number | undefined
  /** Cursor from `meta.next_cursor` of the page before. */
  after?: string | undefined
  /** Order by end. Left out: latest first. */
  order?: 'asc' | 'desc' | undefined
}

export interface MarketParams {
  /** Market id, condition id, slug, ticker or token id. */
  identifier: string
  /** Venue that the rows come from. */
  source?: 'predmkt_a' | 'predmkt_b' | 'perpdex' | undefined
}

export interface PredmktAMarketParams {
  /** Market id, condition id, slug, ticker or token id. */
  identifier: string
}

export interface TransactionParams {
  /** Transaction id. */
  tx_id: string
}

export interface AddressTransactionsParams {
  /** A Kaspa address, with its prefix. */
  address: string
  /** Rows per page. */
  limit?: number | undefined
  /** Cursor from `next_cursor` of the page before. */
  cursor?: string | undefined
}

export interface AddressActivityParams {
  /** A Kaspa address, with its prefix. */
  address: string
  /** Items at most. */
  limit?: number | undefined
}

export interface AddressBalanceParams {
  /** A Kaspa address, with its prefix. */
  address: string
  /** A past time. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. */
  at?: Time | undefined
}

export interface AddressUtxosParams {
  /** A Kaspa address, with its prefix. */
  address: string
  /** Rows per page. */
  limit?: number | undefined
  /** Cursor from `next_cursor` of the page before. */
  cursor?: string | undefined
}

export interface AddressCovenantsParams {
  /** A Kaspa address, with its prefix. */
  address: string
  /** Rows per page. */
  limit?: number | undefined
  /** Cursor from `next_cursor` of the page before. */
  cursor?: string | undefined
}

export interface CovenantParams {
  /** Covenant id. */
  covenant_id: string
  /** Steps per page. */
  limit?: number | undefined
  /** Cursor from `next_cursor` of the page before. */
  cursor?: string | undefined
}

export interface CovenantUtxosParams {
  /** Covenant id. */
  covenant_id: string
  /** Rows per page. */
  limit?: number | undefined
  /** Cursor from `next_cursor` of the page before. */
  cursor?: string | undefined
}

export interface TokensParams {
  /** Tokens per page. */
  limit?: number | undefined
  /** Cursor from `next_cursor` of the page before. */
  cursor?: string | undefined
}

export interface TokenParams {
  /** Token: a KRC-20 tick, the deploying transaction of an issued KRC-20 token, or a covenant id. */
  token: string
}

export interface TokenHoldersParams {
  /** Token: a KRC-20 tick, the deploying transaction of an issued KRC-20 token, or a covenant id. */
  token: string
  /** Holders per page. */
  limit?: number | undefined
  /** Cursor from `next_cursor` of the page before. */
  cursor?: string | undefined
}

export interface FeesEstimateParams {
  /** Use the experimental estimator of the node. */
  experimental?: boolean | undefined
}

export interface WebhooksParams {
  /** Webhooks per page. */
  limit?: number | undefined
  /** Cursor from `next_cursor` of the page before. */
  cursor?: string | undefined
}

export interface WebhookParams {
  /** Id of the webhook. */
  id: string
}

export interface UpdateWebhookParams {
  /** Id of the webhook. */
  id: string
}

export interface DeleteWebhookParams {
  /** Id of the webhook. */
  id: string
}

export interface WebhookDeliveriesParams {
  /** Id of the webhook. */
  id: string
  /** Deliveries per page. */
  limit?: number | undefined
  /** Cursor from `next_cursor` of the page before. */
  cursor?: string | undefined
}

export interface TestWebhookParams {
  /** Id of the webhook. */
  id: string
}

export interface RotateWebhookParams {
  /** Id of the webhook. */
  id: string
}

export interface ReplayWebhookParams {
  /** Id of the webhook. */
  id: string
}

export interface StatusParams {
  /** Records of `ingestion` at most. Left out: all. */
  limit?: number | undefined
}

/** What an operation is on the wire. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly rowsField?: string
  readonly cursorParam?: string
  readonly hasLimit?: boolean
  /** What is given as a time. */
  readonly givenTimes?: readonly string[]
}

export const OPERATIONS = {
  sources: { method: 'GET', path: '/v1/sources' },
  symbols: { method: 'GET', path: '/v1/symbols' },
  candles: {
    method: 'GET',
    path: '/v1/candles',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  predmktACandles: {
    method: 'GET',
    path: '/v1/predmkt_a/candles',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  predmktBBySymbol: {
    method: 'GET',
    path: '/v1/predmkt_b/{symbol}',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end', 'start_time', 'end_time'],
  },
  perpdexBySymbol: {
    method: 'GET',
    path: '/v1/perpdex/{symbol}',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end', 'start_time', 'end_time'],
  },
  snapshots: {
    method: 'GET',
    path: '/v1/snapshots',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  predmktASnapshots: {
    method: 'GET',
    path: '/v1/predmkt_a/snapshots',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  predmktAOrderbook: {
    method: 'GET',
    path: '/v1/predmkt_a/orderbook',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  predmktBSnapshots: {
    method: 'GET',
    path: '/v1/predmkt_b/snapshots',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  predmktBOrderbook: {
    method: 'GET',
    path: '/v1/predmkt_b/orderbook',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  perpdexSnapshots: {
    method: 'GET',
    path: '/v1/perpdex/snapshots',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  snapshotsAt: { method: 'GET', path: '/v1/snapshots/at', givenTimes: ['time'] },
  predmktASnapshotsAt: { method: 'GET', path: '/v1/predmkt_a/snapshots/at', givenTimes: ['time'] },
  predmktBSnapshotsAt: { method: 'GET', path: '/v1/predmkt_b/snapshots/at', givenTimes: ['time'] },
  perpdexSnapshotsAt: { method: 'GET', path: '/v1/perpdex/snapshots/at', givenTimes: ['time'] },
  trades: {
    method: 'GET',
    path: '/v1/trades',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  predmktATrades: {
    method: 'GET',
    path: '/v1/predmkt_a/trades',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  perpdexTrades: {
    method: 'GET',
    path: '/v1/perpdex/trades',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  flow: {
    method: 'GET',
    path: '/v1/flow',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  openInterest: {
    method: 'GET',
    path: '/v1/open-interest',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  perpdexOpenInterest: {
    method: 'GET',
    path: '/v1/perpdex/open-interest',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  liquidations: {
    method: 'GET',
    path: '/v1/liquidations',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  funding: {
    method: 'GET',
    path: '/v1/funding',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  perpdexFunding: {
    method: 'GET',
    path: '/v1/perpdex/funding',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  ticker: {
    method: 'GET',
    path: '/v1/ticker',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
    givenTimes: ['start', 'end'],
  },
  markets: { method: 'GET', path: '/v1/markets', rowsField: 'data', cursorParam: 'after', hasLimit: true },
  predmktAMarkets: {
    method: 'GET',
    path: '/v1/predmkt_a/markets',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
  },
  predmktB: { method: 'GET', path: '/v1/predmkt_b', rowsField: 'data', cursorParam: 'after', hasLimit: true },
  predmktBMarkets: {
    method: 'GET',
    path: '/v1/predmkt_b/markets',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
  },
  perpdex: { method: 'GET', path: '/v1/perpdex', rowsField: 'data', cursorParam: 'after', hasLimit: true },
  perpdexMarkets: {
    method: 'GET',
    path: '/v1/perpdex/markets',
    rowsField: 'data',
    cursorParam: 'after',
    hasLimit: true,
  },
  market: { method: 'GET', path: '/v1/markets/{identifier}' },
  predmktAMarket: { method: 'GET', path: '/v1/predmkt_a/markets/{identifier}' },
  cexaSpot: { method: 'GET', path: '/v1/cexa/spot', rowsField: 'data' },
  cexaFutures: { method: 'GET', path: '/v1/cexa/futures', rowsField: 'data' },
  submitTransaction: { method: 'POST', path: '/v1/transactions/submit' },
  transaction: { method: 'GET', path: '/v1/transactions/{tx_id}' },
  addressTransactions: {
    method: 'GET',
    path: '/v1/addresses/{address}/transactions',
    rowsField: 'items',
    cursorParam: 'cursor',
    hasLimit: true,
  },
  addressActivity: {
    method: 'GET',
    path: '/v1/addresses/{address}/activity',
    rowsField: 'items',
    hasLimit: true,
  },
  addressBalance: { method: 'GET', path: '/v1/addresses/{address}/balance', givenTimes: ['at'] },
  addressUtxos: {
    method: 'GET',
    path: '/v1/addresses/{address}/utxos',
    rowsField: 'items',
    cursorParam: 'cursor',
    hasLimit: true,
  },
  addressCovenants: {
    method: 'GET',
    path: '/v1/addresses/{address}/covenants',
    rowsField: 'items',
    cursorParam: 'cursor',
    hasLimit: true,
  },
  covenant: {
    method: 'GET',
    path: '/v1/covenants/{covenant_id}',
    rowsField: 'items',
    cursorParam: 'cursor',
    hasLimit: true,
  },
  covenantUtxos: {
    method: 'GET',
    path: '/v1/covenants/{covenant_id}/utxos',
    rowsField: 'items',
    cursorParam: 'cursor',
    hasLimit: true,
  },
  tokens: { method: 'GET', path: '/v1/tokens', rowsField: 'items', cursorParam: 'cursor', hasLimit: true },
  token: { method: 'GET', path: '/v1/tokens/{token}' },
  tokenHolders: {
    method: 'GET',
    path: '/v1/tokens/{token}/holders',
    rowsField: 'items',
    cursorParam: 'cursor',
    hasLimit: true,
  },
  feesEstimate: { method: 'GET', path: '/v1/fees/estimate' },
  rpc: { method: 'POST', path: '/rpc' },
  webhooks: {
    method: 'GET',
    path: '/v1/webhooks',
    rowsField: 'webhooks',
    cursorParam: 'cursor',
    hasLimit: true,
  },
  createWebhook: { method: 'POST', path: '/v1/webhooks' },
  webhook: { method: 'GET', path: '/v1/webhooks/{id}' },
  updateWebhook: { method: 'PATCH', path: '/v1/webhooks/{id}' },
  deleteWebhook: { method: 'DELETE', path: '/v1/webhooks/{id}' },
  webhookDeliveries: {
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    rowsField: 'deliveries',
    cursorParam: 'cursor',
    hasLimit: true,
  },
  testWebhook: { method: 'POST', path: '/v1/webhooks/{id}/test' },
  rotateWebhook: { method: 'POST', path: '/v1/webhooks/{id}/rotate' },
  replayWebhook: { method: 'POST', path: '/v1/webhooks/{id}/replay', givenTimes: ['since', 'until'] },
  limits: { method: 'GET', path: '/v1/limits' },
  status: { method: 'GET', path: '/v1/status' },
  health: { method: 'GET', path: '/v1/health' },
  ready: { method: 'GET', path: '/ready' },
  openapiJson: { method: 'GET', path: '/openapi.json' },
  asyncapiJson: { method: 'GET', path: '/asyncapi.json' },
} as const satisfies Record<string, Operation>

/** Parameters of what can be asked for its price. */
export interface PricedParams {
  sources: object
  symbols: object
  candles: CandlesParams
  predmktACandles: PredmktACandlesParams
  predmktBBySymbol: PredmktBBySymbolParams
  perpdexBySymbol: PerpdexBySymbolParams
  snapshots: SnapshotsParams
  predmktASnapshots: PredmktASnapshotsParams
  predmktAOrderbook: PredmktAOrderbookParams
  predmktBSnapshots: PredmktBSnapshotsParams
  predmktBOrderbook: PredmktBOrderbookParams
  perpdexSnapshots: PerpdexSnapshotsParams
  snapshotsAt: SnapshotsAtParams
  predmktASnapshotsAt: PredmktASnapshotsAtParams
  predmktBSnapshotsAt: PredmktBSnapshotsAtParams
  perpdexSnapshotsAt: PerpdexSnapshotsAtParams
  trades: TradesParams
  predmktATrades: PredmktATradesParams
  perpdexTrades: PerpdexTradesParams
  flow: FlowParams
  openInterest: OpenInterestParams
  perpdexOpenInterest: PerpdexOpenInterestParams
  liquidations: LiquidationsParams
  funding: FundingParams
  perpdexFunding: PerpdexFundingParams
  ticker: TickerParams
  markets: MarketsParams
  predmktAMarkets: PredmktAMarketsParams
  predmktB: PredmktBParams
  predmktBMarkets: PredmktBMarketsParams
  perpdex: PerpdexParams
  perpdexMarkets: PerpdexMarketsParams
  market: MarketParams
  predmktAMarket: PredmktAMarketParams
  cexaSpot: object
  cexaFutures: object
  transaction: TransactionParams
  addressTransactions: AddressTransactionsParams
  addressActivity: AddressActivityParams
  addressBalance: AddressBalanceParams
  addressUtxos: AddressUtxosParams
  addressCovenants: AddressCovenantsParams
  covenant: CovenantParams
  covenantUtxos: CovenantUtxosParams
  tokens: TokensParams
  token: TokenParams
  tokenHolders: TokenHoldersParams
  feesEstimate: FeesEstimateParams
  webhooks: WebhooksParams
  webhook: WebhookParams
  webhookDeliveries: WebhookDeliveriesParams
  limits: object
  status: StatusParams
}

/** Per call. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /** Of a POST; made by the client where it is left out, except for calls to `/rpc` that only read. */
  readonly idempotencyKey?: string
}

/** A method for every endpoint. */
export abstract class Methods {
  protected abstract rowsOf<Row, Meta>(
    operation: Operation,
    params: object,
    options?: CallOptions,
  ): Rows<Row, Meta>
  protected abstract answerOf<T>(
    operation: Operation,
    params: object,
    options?: CallOptions,
    body?: unknown,
  ): Promise<T>

  /** Catalog of sources and their endpoints. The same for every plan; each endpoint record carries its `min_tier`. Credits: 25 flat. Open from the free plan on. `GET /v1/sources` */
  sources(options?: CallOptions): Promise<Sources> {
    return this.answerOf(OPERATIONS.sources, {}, options)
  }

  /** Symbols and what covers them. Credits: 0 flat. Open from the free plan on. `GET /v1/symbols` */
  symbols(options?: CallOptions): Promise<Symbols> {
    return this.answerOf(OPERATIONS.symbols, {}, options)
  }

  /** Candles (OHLCV). The current bar is served with `closed: false`. Rows come in time order when `start` is given, newest first otherwise. `oracle` has 5m and 15m only and no volume; prediction-market prices are probabilities. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/candles` */
  candles(params: CandlesParams, options?: CallOptions): Rows<Candle, ListMeta> {
    return this.rowsOf(OPERATIONS.candles, params, options)
  }

  /** Candles of prediction market A. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/candles` with source=predmkt_a. `GET /v1/predmkt_a/candles` */
  predmktACandles(params: PredmktACandlesParams, options?: CallOptions): Rows<Candle, ListMeta> {
    return this.rowsOf(OPERATIONS.predmktACandles, params, options)
  }

  /** Probability and price history of prediction market B. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/candles` with source=predmkt_b. `GET /v1/predmkt_b/{symbol}` */
  predmktBBySymbol(params: PredmktBBySymbolParams, options?: CallOptions): Rows<Candle, ListMeta> {
    return this.rowsOf(OPERATIONS.predmktBBySymbol, params, options)
  }

  /** Candles of a perpetual. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/candles` with source=perpdex. `GET /v1/perpdex/{symbol}` */
  perpdexBySymbol(params: PerpdexBySymbolParams, options?: CallOptions): Rows<Candle, ListMeta> {
    return this.rowsOf(OPERATIONS.perpdexBySymbol, params, options)
  }

  /** Order-book snapshots. Samples on a 500 ms grid. `interval` picks the last sample of each step. The books of prediction markets come with `include_orderbook`; `perpdex` rows always carry their levels. Credits: 50 plus 4 per row; 50 plus 10 per row with include_orderbook on predmkt_a. Open from the free plan on. `GET /v1/snapshots` */
  snapshots(params: SnapshotsParams, options?: CallOptions): Rows<Snapshot, ListMeta> {
    return this.rowsOf(OPERATIONS.snapshots, params, options)
  }

  /** Up/Down book snapshots. Credits: 50 plus 4 per row; 50 plus 10 per row with include_orderbook on predmkt_a. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_a. `GET /v1/predmkt_a/snapshots` */
  predmktASnapshots(params: PredmktASnapshotsParams, options?: CallOptions): Rows<Snapshot, ListMeta> {
    return this.rowsOf(OPERATIONS.predmktASnapshots, params, options)
  }

  /** Order-book history of prediction market A. Credits: 50 plus 10 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_a, include_orderbook=true. `GET /v1/predmkt_a/orderbook` */
  predmktAOrderbook(params: PredmktAOrderbookParams, options?: CallOptions): Rows<Snapshot, ListMeta> {
    return this.rowsOf(OPERATIONS.predmktAOrderbook, params, options)
  }

  /** Yes/No book snapshots. Credits: 50 plus 4 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_b. `GET /v1/predmkt_b/snapshots` */
  predmktBSnapshots(params: PredmktBSnapshotsParams, options?: CallOptions): Rows<Snapshot, ListMeta> {
    return this.rowsOf(OPERATIONS.predmktBSnapshots, params, options)
  }

  /** Order-book history of prediction market B. Credits: 50 plus 4 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_b, include_orderbook=true. `GET /v1/predmkt_b/orderbook` */
  predmktBOrderbook(params: PredmktBOrderbookParams, options?: CallOptions): Rows<Snapshot, ListMeta> {
    return this.rowsOf(OPERATIONS.predmktBOrderbook, params, options)
  }

  /** L2 book snapshots of perpetuals. Credits: 50 plus 4 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=perpdex. `GET /v1/perpdex/snapshots` */
  perpdexSnapshots(params: PerpdexSnapshotsParams, options?: CallOptions): Rows<Snapshot, ListMeta> {
    return this.rowsOf(OPERATIONS.perpdexSnapshots, params, options)
  }

  /** The snapshot at or before a time. Without `market_id` a prediction market answers with the market whose window holds the time, shortest duration first, or the newest of a duration with `interval` in place of `time`. `data` is null when there is none at or before the time; `meta.reason` says why. Credits: 50 flat. Open from the free plan on. `GET /v1/snapshots/at` */
  snapshotsAt(params: SnapshotsAtParams, options?: CallOptions): Promise<SnapshotAt> {
    return this.answerOf(OPERATIONS.snapshotsAt, params, options)
  }

  /** Up/Down snapshot at or before a time. Credits: 50 flat. Open from the free plan on. Another path to `GET /v1/snapshots/at` with source=predmkt_a. `GET /v1/predmkt_a/snapshots/at` */
  predmktASnapshotsAt(params: PredmktASnapshotsAtParams, options?: CallOptions): Promise<SnapshotAt> {
    return this.answerOf(OPERATIONS.predmktASnapshotsAt, params, options)
  }

  /** Yes/No snapshot at or before a time. Credits: 50 flat. Open from the free plan on. Another path to `GET /v1/snapshots/at` with source=predmkt_b. `GET /v1/predmkt_b/snapshots/at` */
  predmktBSnapshotsAt(params: PredmktBSnapshotsAtParams, options?: CallOptions): Promise<SnapshotAt> {
    return this.answerOf(OPERATIONS.predmktBSnapshotsAt, params, options)
  }

  /** L2 snapshot at or before a time. Credits: 50 flat. Open from the free plan on. Another path to `GET /v1/snapshots/at` with source=perpdex. `GET /v1/perpdex/snapshots/at` */
  perpdexSnapshotsAt(params: PerpdexSnapshotsAtParams, options?: CallOptions): Promise<SnapshotAt> {
    return this.answerOf(OPERATIONS.perpdexSnapshotsAt, params, options)
  }

  /** Trade ticks. Single trades. Spot exchange trades are on `/v1/flow` as buckets. Credits: 50 plus 2 per row. Open from the free plan on. `GET /v1/trades` */
  trades(params: TradesParams, options?: CallOptions): Rows<Trade, ListMeta> {
    return this.rowsOf(OPERATIONS.trades, params, options)
  }

  /** Trade ticks of prediction market A. Credits: 50 plus 2 per row. Open from the free plan on. Another path to `GET /v1/trades` with source=predmkt_a. `GET /v1/predmkt_a/trades` */
  predmktATrades(params: PredmktATradesParams, options?: CallOptions): Rows<Trade, ListMeta> {
    return this.rowsOf(OPERATIONS.predmktATrades, params, options)
  }

  /** Trade ticks of perpetuals. Credits: 50 plus 2 per row. Open from the free plan on. Another path to `GET /v1/trades` with source=perpdex. `GET /v1/perpdex/trades` */
  perpdexTrades(params: PerpdexTradesParams, options?: CallOptions): Rows<Trade, ListMeta> {
    return this.rowsOf(OPERATIONS.perpdexTrades, params, options)
  }

  /** Buy and sell pressure of the spot exchange. Buckets of aggregate trades. Counts are null in bars that were rebuilt without aggregate trades. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/flow` */
  flow(params: FlowParams, options?: CallOptions): Rows<Flow, ListMeta> {
    return this.rowsOf(OPERATIONS.flow, params, options)
  }

  /** Open interest. For `predmkt_b` a symbol gives the sum over its markets; a ticker in place of the symbol gives one market. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/open-interest` */
  openInterest(params: OpenInterestParams, options?: CallOptions): Rows<OpenInterest, ListMeta> {
    return this.rowsOf(OPERATIONS.openInterest, params, options)
  }

  /** Open interest of perpetuals. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/open-interest` with source=perpdex. `GET /v1/perpdex/open-interest` */
  perpdexOpenInterest(
    params: PerpdexOpenInterestParams,
    options?: CallOptions,
  ): Rows<OpenInterest, ListMeta> {
    return this.rowsOf(OPERATIONS.perpdexOpenInterest, params, options)
  }

  /** Liquidations of the futures exchange. A sample: the venue publishes at most one liquidation per symbol and second. Kept for 90 days. Credits: 25 plus 2 per row. Open from the free plan on. `GET /v1/liquidations` */
  liquidations(params: LiquidationsParams, options?: CallOptions): Rows<Liquidation, ListMeta> {
    return this.rowsOf(OPERATIONS.liquidations, params, options)
  }

  /** Funding rates. One row per settlement: every 8 hours on the futures exchange, hourly on `perpdex`. Without a source both are interleaved in time. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/funding` */
  funding(params: FundingParams, options?: CallOptions): Rows<Funding, ListMeta> {
    return this.rowsOf(OPERATIONS.funding, params, options)
  }

  /** Funding rates of perpetuals. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/funding` with source=perpdex. `GET /v1/perpdex/funding` */
  perpdexFunding(params: PerpdexFundingParams, options?: CallOptions): Rows<Funding, ListMeta> {
    return this.rowsOf(OPERATIONS.perpdexFunding, params, options)
  }

  /** Best bid and ask, one row per second. Credits: 50 plus 5 per row. Open from the developer plan (tier pro) on. `GET /v1/ticker` */
  ticker(params: TickerParams, options?: CallOptions): Rows<Ticker, ListMeta> {
    return this.rowsOf(OPERATIONS.ticker, params, options)
  }

  /** Markets and their identifiers. Latest end first, perpetuals before all; with `order=asc` the soonest end first. `active` and `status` left out list all. Credits: 25 flat. Open from the free plan on. `GET /v1/markets` */
  markets(params: MarketsParams = {}, options?: CallOptions): Rows<Market, ListMeta & MarketsMeta> {
    return this.rowsOf(OPERATIONS.markets, params, options)
  }

  /** Markets of prediction market A. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=predmkt_a. `GET /v1/predmkt_a/markets` */
  predmktAMarkets(
    params: PredmktAMarketsParams = {},
    options?: CallOptions,
  ): Rows<Market, ListMeta & MarketsMeta> {
    return this.rowsOf(OPERATIONS.predmktAMarkets, params, options)
  }

  /** Active markets of prediction market B. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=predmkt_b, active=true. `GET /v1/predmkt_b` */
  predmktB(params: PredmktBParams = {}, options?: CallOptions): Rows<Market, ListMeta & MarketsMeta> {
    return this.rowsOf(OPERATIONS.predmktB, params, options)
  }

  /** Active markets of prediction market B. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=predmkt_b, active=true. `GET /v1/predmkt_b/markets` */
  predmktBMarkets(
    params: PredmktBMarketsParams = {},
    options?: CallOptions,
  ): Rows<Market, ListMeta & MarketsMeta> {
    return this.rowsOf(OPERATIONS.predmktBMarkets, params, options)
  }

  /** Perpetual markets. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=perpdex. `GET /v1/perpdex` */
  perpdex(params: PerpdexParams = {}, options?: CallOptions): Rows<Market, ListMeta & MarketsMeta> {
    return this.rowsOf(OPERATIONS.perpdex, params, options)
  }

  /** Perpetual markets. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=perpdex. `GET /v1/perpdex/markets` */
  perpdexMarkets(
    params: PerpdexMarketsParams = {},
    options?: CallOptions,
  ): Rows<Market, ListMeta & MarketsMeta> {
    return this.rowsOf(OPERATIONS.perpdexMarkets, params, options)
  }

  /** One market by any of its identifiers. Credits: 25 flat. Open from the free plan on. `GET /v1/markets/{identifier}` */
  market(params: MarketParams, options?: CallOptions): Promise<MarketRecord> {
    return this.answerOf(OPERATIONS.market, params, options)
  }

  /** One market of prediction market A. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets/{identifier}` with source=predmkt_a. `GET /v1/predmkt_a/markets/{identifier}` */
  predmktAMarket(params: PredmktAMarketParams, options?: CallOptions): Promise<MarketRecord> {
    return this.answerOf(OPERATIONS.predmktAMarket, params, options)
  }

  /** Symbols of spot exchange A. Their rows are on the endpoints with `source=cexa`. Credits: 25 flat. Open from the free plan on. `GET /v1/cexa/spot` */
  cexaSpot(options?: CallOptions): Rows<ExchangePair, ListMeta> {
    return this.rowsOf(OPERATIONS.cexaSpot, {}, options)
  }

  /** Symbols of futures exchange A. Their rows are on the endpoints with `source=cexa_futures`. Credits: 25 flat. Open from the free plan on. `GET /v1/cexa/futures` */
  cexaFutures(options?: CallOptions): Rows<ExchangePair, ListMeta> {
    return this.rowsOf(OPERATIONS.cexaFutures, {}, options)
  }

  /** Submit a signed transaction. Hands the transaction to a node and to another one where the first does not answer. "Already in the mempool" and "already accepted" are success, so sending the same transaction again does no harm. A refusal is 422 `transaction_rejected`, with `reason` and what the node said about it (`required_fee_sompi`, `other_tx_id`, `mass_limit` …). When a node that did not answer may have taken it, the error has `in_doubt: true` and `tx_id`. Credits: 10 plus 5 per attempt. Open from the developer plan (tier pro) on. `POST /v1/transactions/submit` */
  submitTransaction(body: SubmitRequest, options?: CallOptions): Promise<SubmitResult> {
    return this.answerOf(OPERATIONS.submitTransaction, {}, options, body)
  }

  /** One transaction, parsed. From the index; where it is not there, from the mempool of a node, for 5 credits more. A confirmed transaction becomes pending again when its accepting block leaves the chain, and dropped when it leaves the mempool without being accepted. What is in no mempool is unknown (404) once the index has caught up with the node that was asked; while it is more than a few seconds behind that node, that is 503 with the reason `index_behind`. Credits: 10 plus 5 per mempool lookup. Open from the developer plan (tier pro) on. `GET /v1/transactions/{tx_id}` */
  transaction(params: TransactionParams, options?: CallOptions): Promise<TransactionLookup> {
    return this.answerOf(OPERATIONS.transaction, params, options)
  }

  /** History of an address. Every transaction since the index was started, for every address, without registration. Pending transactions come first, newest first, then confirmed ones by block time and by the order in which they were accepted; a dropped one stands where it was first seen. Rows that arrive during a walk do not shift it; a transaction that is accepted during a walk moves to the place of its block, and one whose block leaves the chain back to the top. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/transactions` */
  addressTransactions(
    params: AddressTransactionsParams,
    options?: CallOptions,
  ): Rows<AddressTransaction, AddressTransactions> {
    return this.rowsOf(OPERATIONS.addressTransactions, params, options)
  }

  /** What an address holds and has under way now. Asked of a node: transactions in the mempool that send from or to the address, then its unspent outputs. The price is 5 for each of the two calls to the node, plus 10, plus 1 per row. Credits: 10 plus 5 per upstream call plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/activity` */
  addressActivity(
    params: AddressActivityParams,
    options?: CallOptions,
  ): Rows<AddressActivityItem, AddressActivity> {
    return this.rowsOf(OPERATIONS.addressActivity, params, options)
  }

  /** Balance of an address, now or at a past time. Asked of a node. A past balance is what the node says now, less what the index has recorded since: it counts the confirmed transactions whose `block_time` is `at` or earlier. A time before the index begins, or before a gap in it, is refused. It takes a second or so, since node and index are compared at one moment of the chain; it is refused with 503 where the address has new transactions all the time (`reason`: `address_busy`), or where the index has not caught up with the nodes (`index_behind`) or the nodes with the index (`nodes_behind`). The price is 10, plus 5 each for two calls to the node, also where more are made so that all comes from one moment. Credits: 10 plus 5 per upstream call. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/balance` */
  addressBalance(params: AddressBalanceParams, options?: CallOptions): Promise<AddressBalance> {
    return this.answerOf(OPERATIONS.addressBalance, params, options)
  }

  /** Unspent outputs of an address. Asked of a node, in the order of transaction id and index: a walk gives each output once that stays unspent meanwhile. Outputs that the mempool spends are still listed. An address with more than 100,000 of them is refused. The price is 5 for the call to the node, plus 10, plus 1 per row. Credits: 10 plus 5 per upstream call plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/utxos` */
  addressUtxos(params: AddressUtxosParams, options?: CallOptions): Rows<AddressUtxo, AddressUtxos> {
    return this.rowsOf(OPERATIONS.addressUtxos, params, options)
  }

  /** Covenant outputs of an address. Unspent outputs of the address that are bound to a covenant, as the chain has confirmed them, from the index. Whose key may spend them is up to the covenant: an output is not a claim of ownership. Outputs from before `coverage_from` are left out. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/covenants` */
  addressCovenants(
    params: AddressCovenantsParams,
    options?: CallOptions,
  ): Rows<AddressCovenant, AddressCovenants> {
    return this.rowsOf(OPERATIONS.addressCovenants, params, options)
  }

  /** A covenant and its lineage. Accepted transactions only, in the order of acceptance; one whose block leaves the chain leaves the lineage with it. What a program is follows from what a spend reveals: a form that is not known is `unknown`, and what is hidden until it is spent is null. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/covenants/{covenant_id}` */
  covenant(params: CovenantParams, options?: CallOptions): Rows<CovenantStep, Covenant> {
    return this.rowsOf(OPERATIONS.covenant, params, options)
  }

  /** Unspent outputs of a covenant. As the chain has confirmed it, from the index. Outputs from before `coverage_from` are left out: they may have been spent where the index has a gap. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/covenants/{covenant_id}/utxos` */
  covenantUtxos(params: CovenantUtxosParams, options?: CallOptions): Rows<CovenantUtxo, CovenantUtxos> {
    return this.rowsOf(OPERATIONS.covenantUtxos, params, options)
  }

  /** Tokens. KRC-20 tokens and covenant tokens that the index has seen at work, as far as the chain reveals them. KRC-20 operations are judged by the rules of its reference indexer. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/tokens` */
  tokens(params: TokensParams = {}, options?: CallOptions): Rows<Token, Tokens> {
    return this.rowsOf(OPERATIONS.tokens, params, options)
  }

  /** A token. As far as the chain reveals it; `history` says what its amounts rest on. Accepted transactions only: what a block that left the chain had done is undone. Credits: 10 flat. Open from the developer plan (tier pro) on. `GET /v1/tokens/{token}` */
  token(params: TokenParams, options?: CallOptions): Promise<TokenDetail> {
    return this.answerOf(OPERATIONS.token, params, options)
  }

  /** Holders of a token. As the chain has confirmed it. Of a covenant token only states that are proven count: new states are hidden until they are spent, unless the transaction that made them shows them. A holder whose amount changes during a walk may be met twice or not at all. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/tokens/{token}/holders` */
  tokenHolders(params: TokenHoldersParams, options?: CallOptions): Rows<TokenHolder, TokenHolders> {
    return this.rowsOf(OPERATIONS.tokenHolders, params, options)
  }

  /** Fee rates by urgency. Credits: 1 flat. Open from the free plan on. `GET /v1/fees/estimate` */
  feesEstimate(params: FeesEstimateParams = {}, options?: CallOptions): Promise<FeeEstimate> {
    return this.answerOf(OPERATIONS.feesEstimate, params, options)
  }

  /** JSON-RPC to the node. JSON-RPC 2.0 in front of the node, `params` as an object. Everything is checked before it is forwarded, and integers of 64 bits survive unchanged in both directions; they may also be sent as decimal text. */
  rpc(body: RpcRequest, options?: CallOptions): Promise<RpcResponse> {
    return this.answerOf(OPERATIONS.rpc, {}, options, body)
  }

  /** The webhooks of the account. Oldest first. A page holds up to 10,000 addresses: it ends before the webhook that would exceed them, and always has one. Credits: 0 flat. Open from the developer plan (tier pro) on. `GET /v1/webhooks` */
  webhooks(params: WebhooksParams = {}, options?: CallOptions): Rows<Webhook, Webhooks> {
    return this.rowsOf(OPERATIONS.webhooks, params, options)
  }

  /** Create a webhook. The secret that signs its deliveries is shown in this answer and never again. Credits: 10 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks` */
  createWebhook(body: NewWebhook, options?: CallOptions): Promise<CreatedWebhook> {
    return this.answerOf(OPERATIONS.createWebhook, {}, options, body)
  }

  /** One webhook. The secret is shown at creation only. Credits: 0 flat. Open from the developer plan (tier pro) on. `GET /v1/webhooks/{id}` */
  webhook(params: WebhookParams, options?: CallOptions): Promise<FoundWebhook> {
    return this.answerOf(OPERATIONS.webhook, params, options)
  }

  /** Change a webhook. What is left out stays as it is. The url and the secret are not changed here. Credits: 0 flat. Open from the developer plan (tier pro) on. `PATCH /v1/webhooks/{id}` */
  updateWebhook(
    params: UpdateWebhookParams,
    body: WebhookChange,
    options?: CallOptions,
  ): Promise<ChangedWebhook> {
    return this.answerOf(OPERATIONS.updateWebhook, params, options, body)
  }

  /** Remove a webhook, with everything that waits for it. Credits: 0 flat. Open from the developer plan (tier pro) on. `DELETE /v1/webhooks/{id}` */
  deleteWebhook(params: DeleteWebhookParams, options?: CallOptions): Promise<DeletedWebhook> {
    return this.answerOf(OPERATIONS.deleteWebhook, params, options)
  }

  /** Deliveries of a webhook, newest first. Pending ones, and those of the last seven days. Credits: 0 flat. Open from the developer plan (tier pro) on. `GET /v1/webhooks/{id}/deliveries` */
  webhookDeliveries(params: WebhookDeliveriesParams, options?: CallOptions): Rows<Delivery, Deliveries> {
    return this.rowsOf(OPERATIONS.webhookDeliveries, params, options)
  }

  /** Send a sample event now. Sends one event of the webhook's first kind, signed like any other, with seq 0 and an id that begins evt_test. The answer tells what the receiver said. Credits: 0 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks/{id}/test` */
  testWebhook(params: TestWebhookParams, options?: CallOptions): Promise<WebhookTest> {
    return this.answerOf(OPERATIONS.testWebhook, params, options)
  }

  /** Give a webhook a new signing secret. The old secret goes on signing beside the new one for 24 hours: in X-Svc-Signature-Previous and in the Standard Webhooks header. Another rotation within this time replaces the new secret and leaves the old one and its time as they are. Credits: 0 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks/{id}/rotate` */
  rotateWebhook(params: RotateWebhookParams, options?: CallOptions): Promise<RotatedSecret> {
    return this.answerOf(OPERATIONS.rotateWebhook, params, options)
  }

  /** Deliver past events again. Up to 10,000 events per call, as new deliveries; no more than the credits pay for. An event that waits to be delivered already is not planned again. Each costs a credit when it is delivered, like any delivery. With 10,000 events waiting for the webhook (50,000 for the account) a replay has to wait too (429). It counts as a heavy call while it runs, and an account has one at a time: another one is refused with 429 (`replay_running`). Without an `Idempotency-Key` it ends where it is when its caller disconnects. While the disk of the service is nearly full, nothing is replayed (503). Credits: 0 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks/{id}/replay` */
  replayWebhook(params: ReplayWebhookParams, body: ReplayRange, options?: CallOptions): Promise<Replay> {
    return this.answerOf(OPERATIONS.replayWebhook, params, options, body)
  }

  /** Plan, credits and rate limits of the account. Credits: 0 flat. Open from the free plan on. `GET /v1/limits` */
  limits(options?: CallOptions): Promise<Limits> {
    return this.answerOf(OPERATIONS.limits, {}, options)
  }

  /** State of the recorders, the nodes and the deliveries. Credits: 0 flat. Open from the free plan on. `GET /v1/status` */
  status(params: StatusParams = {}, options?: CallOptions): Promise<Status> {
    return this.answerOf(OPERATIONS.status, params, options)
  }

  /** Liveness. Another path to `GET /health`. `GET /v1/health` */
  health(options?: CallOptions): Promise<Health> {
    return this.answerOf(OPERATIONS.health, {}, options)
  }

  /** Readiness. Whether every part works, venues and nodes included: 200, or 503 with the failing parts. Needs no key. `GET /ready` */
  ready(options?: CallOptions): Promise<Ready> {
    return this.answerOf(OPERATIONS.ready, {}, options)
  }

  /** This contract as OpenAPI 3.1. Generated from the declarations that the service runs on. Needs no key. `GET /openapi.json` */
  openapiJson(options?: CallOptions): Promise<OpenApi> {
    return this.answerOf(OPERATIONS.openapiJson, {}, options)
  }

  /** The stream and the webhooks as AsyncAPI 3. Generated from the kinds of events that the service runs on. Needs no key. `GET /asyncapi.json` */
  asyncapiJson(options?: CallOptions): Promise<AsyncApi> {
    return this.answerOf(OPERATIONS.asyncapiJson, {}, options)
  }
}
