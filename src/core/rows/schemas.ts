/**
 * The schemas of served rows. They are separate from the encoders, so that a thread that only writes does not load the
 * schema library, which would double the cost of its start.
 */
import { type Static, type TSchema, Type } from 'typebox'
import type { Dataset } from '../feed.ts'
import type { Source } from '../source.ts'
import {
  flagField,
  levelsField,
  nullableFractionField,
  nullableIntegerField,
  nullableNumberField,
  nullableOneOfField,
  nullableTextField,
  nullableTimeField,
  numberField,
  oneOfField,
  sourceField,
  symbolField,
  textField,
  timeField,
} from './fields.ts'
import { MARKET_STATUSES, MARKET_TYPES } from './market.ts'

export const CandleRow = Type.Object({
  timestamp: timeField('Open time of the bar.'),
  symbol: symbolField(),
  source: sourceField(),
  interval: textField('Length of the bar, as asked.'),
  open: numberField('First price; a probability for prediction markets.'),
  high: numberField('Highest price.'),
  low: numberField('Lowest price.'),
  close: numberField('Last price; a probability in 0 to 1 for prediction markets.'),
  volume: nullableNumberField(
    'Traded volume: base asset, dollar-pegged stablecoin (`predmkt_a`) or contracts (`predmkt_b`); null for `oracle`.',
  ),
  num_trades: nullableIntegerField('Number of trades; `cexa` and `cexa_futures` only.'),
  taker_buy_ratio: nullableFractionField('Share of the volume bought by takers; `cexa_futures` only.'),
  funding_rate: nullableNumberField(
    'Last settled funding rate at the close; `cexa_futures` and `perpdex` only.',
  ),
  open_interest: nullableNumberField(
    'Last observed open interest at the close, base asset; `cexa_futures` and `perpdex` only.',
  ),
  closed: flagField('False while the bar is still open.'),
  market_id: Type.Optional(
    textField('Prediction markets: condition id (`predmkt_a`) or ticker (`predmkt_b`).'),
  ),
  market_slug: Type.Optional(nullableTextField('Prediction markets: slug of the market.')),
  token_id: Type.Optional(nullableTextField('Prediction markets: order-book token of the leg.')),
  outcome: Type.Optional(
    nullableTextField('Prediction markets: outcome that the price is the probability of.'),
  ),
  question: Type.Optional(nullableTextField('Prediction markets: question of the market.')),
})
export type CandleRow = Static<typeof CandleRow>

export const TradeRow = Type.Object({
  timestamp: timeField('Time of the trade.'),
  symbol: symbolField(),
  source: sourceField(),
  trade_id: textField("The venue's identifier of the trade."),
  price: numberField('Price; a probability in 0 to 1 for prediction markets.'),
  size: numberField('Size: base asset, shares (`predmkt_a`) or contracts (`predmkt_b`).'),
  side: oneOfField('Side of the aggressor.', 'buy', 'sell'),
  maker_taker: nullableOneOfField('Role of the reported party; null unless known.', 'maker', 'taker'),
  market_id: nullableTextField('Prediction markets: condition id or ticker; null elsewhere.'),
  token_id: nullableTextField('`predmkt_a`: order-book token that was traded; null elsewhere.'),
  outcome: nullableTextField('Prediction markets: outcome that was traded; null elsewhere.'),
})
export type TradeRow = Static<typeof TradeRow>

export const FlowRow = Type.Object({
  timestamp: timeField('Start of the bucket.'),
  symbol: symbolField(),
  source: sourceField(),
  interval: textField('Length of the bucket, as asked.'),
  buy_volume: numberField('Base volume of trades whose aggressor bought.'),
  sell_volume: numberField('Base volume of trades whose aggressor sold.'),
  num_buys: nullableIntegerField('Number of buys; null in buckets rebuilt without aggregate trades.'),
  num_sells: nullableIntegerField('Number of sells; null in buckets rebuilt without aggregate trades.'),
  vwap_buy: nullableNumberField('Volume-weighted price of the buys; null without buys.'),
  vwap_sell: nullableNumberField('Volume-weighted price of the sells; null without sells.'),
  net_volume: numberField('buy_volume minus sell_volume.'),
  buy_ratio: nullableFractionField('buy_volume over the whole volume, 6 decimals; null without volume.'),
})

const IMBALANCE_DOC =
  'Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book.'
/** The rows of each venue have their own shape, identified by their source. */
const commonOf = (source: Source) => ({
  timestamp: timeField('Time of the sample.'),
  symbol: symbolField(),
  source: Type.Literal(source, { type: 'string', description: 'Where the row was recorded.' }),
  interval: textField('Sampling step, as asked; `500ms` when every stored sample is served.'),
  market_id: nullableTextField('Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`.'),
  best_bid: nullableNumberField('Highest bid; null without bids.'),
  best_ask: nullableNumberField('Lowest ask; null without asks.'),
  mid_price: nullableNumberField('Middle of best bid and best ask; null unless both exist.'),
  spread: nullableNumberField('best_ask minus best_bid; null unless both exist.'),
  imbalance: nullableFractionField(IMBALANCE_DOC),
})
const book = (description: string) =>
  Type.Object(
    { bids: levelsField('Bids, highest price first.'), asks: levelsField('Asks, lowest price first.') },
    { description },
  )
const diffs = (description: string) =>
  Type.Union(
    [
      Type.Object({
        bids_added: levelsField('Bid levels that are new or have a new size.'),
        bids_removed: levelsField('Bid levels that are gone or had another size.'),
        asks_added: levelsField('Ask levels that are new or have a new size.'),
        asks_removed: levelsField('Ask levels that are gone or had another size.'),
      }),
      Type.Null(),
    ],
    { description },
  )

export const PredmktASnapshotRow = Type.Object({
  ...commonOf('predmkt_a'),
  market_slug: nullableTextField('Slug of the market.'),
  question: nullableTextField('Question of the market.'),
  market_type: nullableTextField('Duration of the contract.'),
  token_up: textField('Order-book token of the Up leg.'),
  token_down: textField('Order-book token of the Down leg.'),
  price_up: nullableFractionField('Probability of Up.'),
  price_down: nullableFractionField('Probability of Down.'),
  reference_price: nullableNumberField('Price of the asset that the market settles on, at the sample.'),
  orderbook_up: Type.Optional(book('Book of the Up token, with `include_orderbook`.')),
  orderbook_down: Type.Optional(book('Book of the Down token, with `include_orderbook`.')),
  diffs: Type.Optional(
    diffs('Change of the Up book since the row before, with `include_diffs`; null for the first.'),
  ),
})
export const PredmktBSnapshotRow = Type.Object({
  ...commonOf('predmkt_b'),
  yes_bid: nullableFractionField('Highest bid for Yes.'),
  yes_ask: nullableFractionField('Lowest ask for Yes.'),
  no_bid: nullableFractionField('Highest bid for No.'),
  no_ask: nullableFractionField('Lowest ask for No.'),
  last_price: nullableFractionField('Price of the last trade.'),
  volume: nullableNumberField('Contracts traded so far.'),
  open_interest: nullableNumberField('Open contracts.'),
  orderbook_yes: Type.Optional(book('Book of Yes, with `include_orderbook`.')),
  orderbook_no: Type.Optional(book('Book of No, with `include_orderbook`.')),
  diffs: Type.Optional(
    diffs('Change of the Yes book since the row before, with `include_diffs`; null for the first.'),
  ),
})
export const PerpdexSnapshotRow = Type.Object({
  ...commonOf('perpdex'),
  bids: levelsField('Bids, highest price first; 20 levels.'),
  asks: levelsField('Asks, lowest price first; 20 levels.'),
})
/** Part of the contract, but not recorded yet. */
export const CexaSnapshotRow = Type.Object(commonOf('cexa'))
export const SnapshotRow = Type.Union([
  PredmktASnapshotRow,
  PredmktBSnapshotRow,
  PerpdexSnapshotRow,
  CexaSnapshotRow,
])
export type SnapshotRow = Static<typeof SnapshotRow>

export const OpenInterestRow = Type.Object({
  timestamp: timeField('Time of the observation.'),
  symbol: symbolField(),
  source: sourceField(),
  interval: textField('Distance of the observations, as asked.'),
  open_interest: numberField('Open interest: base asset, or open contracts (`predmkt_b`).'),
  open_interest_usd: numberField(
    'Open interest in US dollars at the mark price, or at the maximum payout (`predmkt_b`).',
  ),
  market_id: Type.Optional(
    textField('`predmkt_b`: ticker of the market; absent in the sum over the symbol.'),
  ),
})
export type OpenInterestRow = Static<typeof OpenInterestRow>

export const LiquidationRow = Type.Object({
  timestamp: timeField('Time of the liquidation.'),
  symbol: symbolField(),
  source: sourceField(),
  side: oneOfField('The side that was liquidated.', 'long', 'short'),
  quantity: numberField('Quantity, base asset.'),
  price: numberField('Bankruptcy price that triggered it.'),
  avg_price: numberField('Average fill price.'),
  usd_value: numberField('quantity times avg_price.'),
})

export const FundingRow = Type.Object({
  timestamp: timeField('When the rate was recorded.'),
  symbol: symbolField(),
  source: sourceField(),
  funding_rate: numberField('Funding rate; positive means longs pay shorts.'),
  next_funding_time: timeField('Next scheduled settlement.'),
})

export const TickerRow = Type.Object({
  timestamp: timeField('Second of the observation.'),
  symbol: symbolField(),
  source: sourceField(),
  bid_price: numberField('Best bid.'),
  bid_size: numberField('Size at the best bid, base asset.'),
  ask_price: numberField('Best ask.'),
  ask_size: numberField('Size at the best ask, base asset.'),
})

const VenueRecord = Type.Object({
  created_at: nullableTimeField('When the venue created its record; null where it does not say.'),
  updated_at: nullableTimeField('When the venue last changed it; null where it does not say.'),
  tags: Type.Array(Type.String(), { description: 'What the venue files it under.' }),
})

export const MarketRow = Type.Object({
  market_id: textField(
    'Identifier of the market: condition id (`predmkt_a`), ticker (`predmkt_b`) or coin (`perpdex`).',
  ),
  source: sourceField(),
  symbol: symbolField(),
  slug: nullableTextField('Slug of the market.'),
  ticker: nullableTextField('Ticker of the market.'),
  condition_id: nullableTextField('Condition id of the market.'),
  event_id: nullableTextField('Identifier of the event that groups markets.'),
  question: nullableTextField('The question that the market settles.'),
  market_type: nullableOneOfField('Duration of the contract; null for perpetuals.', ...MARKET_TYPES),
  start_time: nullableTimeField('Start of the window that the contract settles on.'),
  end_time: nullableTimeField('End of that window.'),
  active: flagField(
    'True until the market ends, also before it begins; false once it has ended or is resolved.',
  ),
  status: oneOfField(
    'upcoming before its start, open until its end, closed until its result is known, then resolved.',
    ...MARKET_STATUSES,
  ),
  winner: nullableTextField('Outcome that won; null until resolved.'),
  resolved_at: nullableTimeField('When the market was resolved.'),
  tokens: Type.Array(
    Type.Object({
      token_id: textField('Order-book token.'),
      outcome: textField('Outcome that the token pays for.'),
    }),
    { description: 'Order-book tokens of the market.' },
  ),
  ...VenueRecord.properties,
  strike: nullableNumberField('Strike price, where the contract has one.'),
  reference_price_start: nullableNumberField('Price of the asset at start_time.'),
  reference_price_end: nullableNumberField('Price of the asset at end_time.'),
  volume: nullableNumberField('Volume so far.'),
  liquidity: nullableNumberField('Liquidity as the venue reports it.'),
  open_interest: nullableNumberField('Open interest as the venue reports it.'),
})
/** Records stored by earlier versions lack the fields of the venue's record. */
export type MarketRow = Omit<Static<typeof MarketRow>, keyof Static<typeof VenueRecord>> &
  Partial<Static<typeof VenueRecord>>

/** A market as it is served, including what follows from its stored fields. */
export const MarketRecord = Type.Object({
  ...MarketRow.properties,
  clob_token_up: nullableTextField('`predmkt_a`: order-book token of the outcome Up.'),
  clob_token_down: nullableTextField('`predmkt_a`: order-book token of the outcome Down.'),
  final_volume: nullableNumberField('Volume of a resolved market; null until then.'),
  final_liquidity: nullableNumberField('Liquidity of a resolved market; null until then.'),
})

export const ROW_SCHEMAS = {
  candles: CandleRow,
  trades: TradeRow,
  flow: FlowRow,
  snapshots: SnapshotRow,
  open_interest: OpenInterestRow,
  liquidations: LiquidationRow,
  funding: FundingRow,
  ticker: TickerRow,
} as const satisfies Record<Dataset, TSchema>

/** Rows as they are stored and served. */
export type ServedRows = { [D in Dataset]: Static<(typeof ROW_SCHEMAS)[D]> }
