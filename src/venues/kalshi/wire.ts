/**
 * Kalshi's messages, reduced to the fields that are read. Dollar and count fields end in `_dollars` and `_fp`; the
 * whole-cent fields beside them in old recordings are ignored.
 */
import type { Static } from 'typebox'
import Type from 'typebox'
import { MAX_LEVELS } from '../../core/rows/book.ts'
import { DecimalText, Id, Millis, PriceLevel, wireType } from '../adapter/wire-type.ts'

const Text = Type.String()
const orNull = <S extends Type.TSchema>(schema: S) => Type.Union([schema, Type.Null()])
const maybe = <S extends Type.TSchema>(schema: S) => Type.Optional(orNull(schema))
/** The venue writes a price that does not exist yet as an empty string. */
const MaybeDollars = maybe(Type.Union([DecimalText, Type.Literal('')]))
const Side = Type.Union([Type.Literal('yes'), Type.Literal('no')])
const Levels = maybe(Type.Array(PriceLevel, { maxItems: MAX_LEVELS }))

/**
 * Time of the event. Until April 2026 only seconds were sent; since then milliseconds are sent beside the seconds or
 * beside an ISO text.
 */
const times = {
  ts_ms: Type.Optional(Millis),
  ts: Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 9_999_999_999 }), Text])),
}

const message = <S extends Type.TProperties>(kind: string, properties: S) =>
  Type.Object({ type: Type.Literal(kind), sid: Id, ...properties })

export const SnapshotFrame = wireType(
  message('orderbook_snapshot', {
    seq: Id,
    msg: Type.Object({ market_ticker: Text, yes_dollars_fp: Levels, no_dollars_fp: Levels }),
  }),
)
export const DeltaFrame = wireType(
  message('orderbook_delta', {
    seq: Id,
    msg: Type.Object({
      market_ticker: Text,
      price_dollars: DecimalText,
      delta_fp: DecimalText,
      side: Side,
      ...times,
    }),
  }),
)

export const TickerFrame = wireType(
  message('ticker', {
    msg: Type.Object({
      market_ticker: Text,
      price_dollars: MaybeDollars,
      yes_bid_dollars: MaybeDollars,
      yes_ask_dollars: MaybeDollars,
      volume_fp: maybe(DecimalText),
      open_interest_fp: maybe(DecimalText),
      ...times,
    }),
  }),
)

const tradeFields = {
  trade_id: Text,
  yes_price_dollars: DecimalText,
  count_fp: DecimalText,
  taker_book_side: maybe(Type.Union([Type.Literal('bid'), Type.Literal('ask')])),
  taker_outcome_side: maybe(Side),
  taker_side: maybe(Side),
  is_block_trade: maybe(Type.Boolean()),
}

export const TradeFrame = wireType(
  message('trade', { msg: Type.Object({ ...tradeFields, ...times, market_ticker: Text }) }),
)

/** Replies. Where `seq` is present, it belongs to the same sequence as that of the books. */
export const ReplyFrame = wireType(
  Type.Object({
    type: Text,
    id: Type.Optional(Id),
    sid: Type.Optional(Id),
    seq: Type.Optional(Id),
    msg: Type.Optional(Type.Unknown()),
  }),
)
export const SubscribedMsg = wireType(Type.Object({ channel: Text, sid: Id }))
export const OkMsg = wireType(Type.Object({ market_tickers: Type.Array(Text) }))
export const ErrorMsg = wireType(
  Type.Object({ code: Type.Integer(), msg: Type.Optional(Text), market_ticker: Type.Optional(Text) }),
)

/** Bounded, because all contracts of a series stay in memory. */
const ShortText = Type.String({ maxLength: 512 })

const marketSchema = Type.Object({
  ticker: ShortText,
  event_ticker: ShortText,
  title: maybe(ShortText),
  yes_sub_title: maybe(ShortText),
  created_time: maybe(ShortText),
  updated_time: maybe(ShortText),
  open_time: ShortText,
  close_time: ShortText,
  status: ShortText,
  result: maybe(ShortText),
  settlement_ts: maybe(ShortText),
  expiration_value: maybe(Type.Union([ShortText, Type.Number()])),
  floor_strike: maybe(Type.Union([Type.Number(), DecimalText])),
  cap_strike: maybe(Type.Union([Type.Number(), DecimalText])),
  last_price_dollars: MaybeDollars,
  volume_fp: maybe(DecimalText),
  open_interest_fp: maybe(DecimalText),
})
export const ListedContract = wireType(marketSchema)
/** Read apart from the contract, because quotes change all the time. */
export const ListedQuotes = wireType(
  Type.Object({ yes_bid_dollars: MaybeDollars, yes_ask_dollars: MaybeDollars }),
)
/**
 * The fields that are read of a contract; if all of them are equal, it has not changed. A new `updated_time` alone is
 * not a change.
 */
export const LISTED_FIELDS = (Object.keys(marketSchema.properties) as (keyof MarketWire)[]).filter(
  (field) => field !== 'updated_time',
)
export type MarketWire = Static<typeof marketSchema>

export const MarketList = wireType(Type.Object({ markets: Type.Array(Type.Unknown()), cursor: maybe(Text) }))

const bookSchema = Type.Object({
  orderbook_fp: Type.Object({ yes_dollars: Levels, no_dollars: Levels }),
})
export const RestBook = wireType(bookSchema)
export type RestBookWire = Static<typeof bookSchema>

const restTradeSchema = Type.Object({ ...tradeFields, ticker: Text, created_time: Text })
export const RestTrade = wireType(restTradeSchema)
export type RestTradeWire = Static<typeof restTradeSchema>
export type TradeFieldsWire = Omit<RestTradeWire, 'ticker' | 'created_time'>
export const TradeList = wireType(Type.Object({ trades: Type.Array(Type.Unknown()), cursor: maybe(Text) }))

const ohlc = (suffix: string) => ({
  [`open${suffix}`]: maybe(DecimalText),
  [`high${suffix}`]: maybe(DecimalText),
  [`low${suffix}`]: maybe(DecimalText),
  [`close${suffix}`]: maybe(DecimalText),
})
const candle = (suffix: string, volume: string, interest: string) =>
  Type.Object({
    end_period_ts: Id,
    price: maybe(Type.Object({ ...ohlc(suffix), [`previous${suffix}`]: maybe(DecimalText) })),
    yes_bid: maybe(Type.Object(ohlc(suffix))),
    yes_ask: maybe(Type.Object(ohlc(suffix))),
    [volume]: DecimalText,
    [interest]: maybe(DecimalText),
  })
/**
 * Candles of the live tier; the historical tier has the same dollar values under names without a suffix. A candle
 * without a volume is unreadable, because nothing shows whether there was a trade.
 */
export const LiveCandle = wireType(candle('_dollars', 'volume_fp', 'open_interest_fp'))
export const HistoricalCandle = wireType(candle('', 'volume', 'open_interest'))
export const CandleList = wireType(
  Type.Object({ ticker: maybe(Text), candlesticks: Type.Array(Type.Unknown()) }),
)

export const Cutoff = wireType(
  Type.Object({
    market_settled_ts: Type.Union([Text, Type.Number()]),
    trades_created_ts: Type.Union([Text, Type.Number()]),
  }),
)
export const ExchangeStatus = wireType(
  Type.Object({ exchange_active: Type.Boolean(), trading_active: Type.Boolean() }),
)

/** Known kinds of frames that were not requested. */
export const NOT_RECORDED: ReadonlySet<string> = new Set([
  'market_lifecycle_v2',
  'event_lifecycle',
  'event_fee_update',
  'multivariate_market_lifecycle',
  'multivariate_lookup',
  'multivariate',
  'fill',
  'market_position',
  'user_order',
  'user_orders',
  'order_group_updates',
  'communications',
  'rfq_created',
  'rfq_deleted',
  'quote_created',
  'quote_accepted',
  'quote_executed',
  'cfbenchmarks_value',
  'cfbenchmarks_value_indexlist',
  'pyth_value',
  'pyth_value_underlying_list',
])

/** Error codes that are handled specially; all others are treated alike. */
export const ERROR = {
  alreadySubscribed: 6,
  channelError: 10,
  unknownMarket: 16,
  /** It is not known whether the command was executed. */
  commandTimeout: 18,
  bufferOverflow: 25,
} as const
