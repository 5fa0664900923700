/** Polymarket's messages, reduced to the fields that are read. Lists inside strings are parsed by the mapper. */
import type { Static } from 'typebox'
import Type from 'typebox'
import { MAX_LEVELS } from '../../core/rows/book.ts'
import { wireType } from '../adapter/wire-type.ts'

const Text = Type.String()
const orNull = <S extends Type.TSchema>(schema: S) => Type.Union([schema, Type.Null()])
const maybe = <S extends Type.TSchema>(schema: S) => Type.Optional(orNull(schema))
/** `.5`, `0.50`, or the empty string for no price. */
const PriceText = Type.String({ pattern: '^(\\d*\\.?\\d+)?$', maxLength: 40 })
const AmountText = Type.String({ pattern: '^\\d*\\.?\\d+$', maxLength: 40 })
const MillisText = Type.Union([Type.String({ pattern: '^\\d{1,16}$' }), Type.Integer({ minimum: 0 })])
const Numeric = Type.Union([Type.Number({ minimum: 0, maximum: 1e15 }), AmountText])
const Seconds = Type.Integer({ minimum: 0, maximum: 99_999_999_999 })
const TradeSide = Type.Union([Type.Literal('BUY'), Type.Literal('SELL')])
const Levels = Type.Array(Type.Object({ price: AmountText, size: AmountText }), { maxItems: MAX_LEVELS })
/** A list, or a string that contains its JSON. */
const List = Type.Union([
  Type.String({ maxLength: 4_096 }),
  Type.Array(Type.String({ maxLength: 512 }), { maxItems: 16 }),
])

const MeanConfig = maybe(
  Type.Object({
    twapEnabled: maybe(Type.Boolean()),
    twapLookbackSeconds: maybe(Type.Integer({ minimum: 1 })),
  }),
)

/** Bounded, because all windows of a day stay in memory. */
const ShortText = Type.String({ maxLength: 512 })
const Tags = maybe(Type.Array(Type.Object({ label: maybe(Text) })))

const marketSchema = Type.Object({
  id: ShortText,
  conditionId: ShortText,
  slug: ShortText,
  question: maybe(ShortText),
  outcomes: List,
  clobTokenIds: maybe(List),
  version: maybe(ShortText),
  positionIds: maybe(List),
  outcomePrices: maybe(List),
  eventStartTime: maybe(ShortText),
  endDate: ShortText,
  closed: maybe(Type.Boolean()),
  acceptingOrders: maybe(Type.Boolean()),
  closedTime: maybe(ShortText),
  resolutionStatus: maybe(ShortText),
  resolutionSource: maybe(ShortText),
  volumeNum: maybe(Type.Number()),
  volume: maybe(Numeric),
  liquidityNum: maybe(Type.Number()),
  orderMinSize: maybe(Type.Number()),
  orderPriceMinTickSize: maybe(Type.Number()),
  negRisk: maybe(Type.Boolean()),
  createdAt: maybe(ShortText),
  updatedAt: maybe(ShortText),
  events: maybe(
    Type.Array(
      Type.Object({
        id: maybe(ShortText),
        openInterest: maybe(Type.Number()),
        cryptoMarketConfig: MeanConfig,
        tags: Tags,
      }),
    ),
  ),
})
export const GammaMarket = wireType(marketSchema)
export type GammaMarketWire = Static<typeof marketSchema>
export const GammaMarkets = wireType(Type.Array(Type.Unknown()))

export const GammaEvents = wireType(
  Type.Array(
    Type.Object({
      id: Text,
      openInterest: maybe(Type.Number()),
      cryptoMarketConfig: MeanConfig,
      tags: Tags,
      markets: maybe(Type.Array(Type.Unknown())),
    }),
  ),
)

/** The order book's record of a market, the second source for its winner. */
const clobMarketSchema = Type.Object({
  condition_id: Text,
  closed: Type.Boolean(),
  tokens: Type.Array(Type.Object({ token_id: Text, outcome: Text, winner: maybe(Type.Boolean()) })),
})
export const ClobMarket = wireType(clobMarketSchema)
export type ClobMarketWire = Static<typeof clobMarketSchema>

const bookSchema = Type.Object({
  asset_id: Text,
  market: Text,
  timestamp: Type.Optional(MillisText),
  hash: maybe(Text),
  bids: Type.Optional(Levels),
  asks: Type.Optional(Levels),
  /** Former names of the sides. */
  buys: Type.Optional(Levels),
  sells: Type.Optional(Levels),
})
export const BookMessage = wireType(bookSchema)
export type BookWire = Static<typeof bookSchema>

const change = {
  asset_id: Text,
  price: AmountText,
  size: AmountText,
  side: TradeSide,
  hash: maybe(Text),
  best_bid: maybe(PriceText),
  best_ask: maybe(PriceText),
}
const changeSchema = Type.Object(change)
export type ChangeWire = Static<typeof changeSchema>
/** The form since 2025-09-15. */
export const ChangesMessage = wireType(
  Type.Object({
    market: Text,
    timestamp: MillisText,
    price_changes: Type.Array(changeSchema, { maxItems: 2 * MAX_LEVELS }),
  }),
)
/** The form before: one change per message, or a list without tops. */
export const OldChangeMessage = wireType(Type.Object({ ...change, market: Text, timestamp: MillisText }))

const lastTradeSchema = Type.Object({
  asset_id: Text,
  market: Text,
  price: AmountText,
  size: AmountText,
  side: TradeSide,
  timestamp: MillisText,
  transaction_hash: maybe(Text),
})
export const LastTradeMessage = wireType(lastTradeSchema)
export type LastTradeWire = Static<typeof lastTradeSchema>

export const TickSizeMessage = wireType(
  Type.Object({
    asset_id: Text,
    old_tick_size: AmountText,
    new_tick_size: AmountText,
    timestamp: MillisText,
  }),
)
export const BestBidAskMessage = wireType(
  Type.Object({
    asset_id: Text,
    best_bid: maybe(PriceText),
    best_ask: maybe(PriceText),
    timestamp: MillisText,
  }),
)
export const NewMarketMessage = wireType(Type.Object({ slug: Text }))
export const ResolvedMessage = wireType(Type.Object({ market: Text, winning_asset_id: maybe(Text) }))
export const AnyMessage = wireType(Type.Object({ event_type: Type.Optional(Text) }))

/** Rows of the data interface, in version 2 and version 1. */
const tradeV2Schema = Type.Object({
  side: TradeSide,
  token_id: Text,
  condition_id: Text,
  size: Numeric,
  price: Numeric,
  timestamp: Seconds,
  outcome: maybe(Text),
  transaction_hash: Text,
  proxy_wallet: maybe(Text),
})
export const TradeV2 = wireType(tradeV2Schema)
export type TradeV2Wire = Static<typeof tradeV2Schema>
const tradeV1Schema = Type.Object({
  side: TradeSide,
  asset: Text,
  conditionId: Text,
  size: Numeric,
  price: Numeric,
  timestamp: Seconds,
  outcome: maybe(Text),
  transactionHash: Text,
  proxyWallet: maybe(Text),
})
export const TradeV1 = wireType(tradeV1Schema)
export type TradeV1Wire = Static<typeof tradeV1Schema>
export const RowsV1 = wireType(Type.Array(Type.Unknown()))
const rowsV2Schema = Type.Object({
  data: Type.Array(Type.Unknown()),
  pagination: maybe(Type.Object({ has_more: maybe(Type.Boolean()), next_cursor: maybe(Text) })),
})
export type RowsV2Wire = Static<typeof rowsV2Schema>
export const RowsV2 = wireType(rowsV2Schema)

export const MidV2 = wireType(
  Type.Object({ timestamp: Seconds, price: Numeric, resolution_seconds: maybe(Type.Number()) }),
)

const tick = {
  timestamp: Type.Integer({ minimum: 0 }),
  value: Type.Number(),
  full_accuracy_value: maybe(Text),
}
export const ReferenceMessage = wireType(
  Type.Object({
    topic: Text,
    type: Text,
    payload: Type.Union([
      Type.Object({ symbol: Text, ...tick }),
      Type.Object({ symbol: Text, data: Type.Array(Type.Object(tick)) }),
    ]),
  }),
)

/** The newer relay: its replies have an `op`, its data has a `channel`. */
export const BoltReply = wireType(Type.Object({ op: Text }))
const boltTick = { timestamp: Type.Integer({ minimum: 0 }), full_accuracy_value: AmountText }
const boltAbout = { symbol: Text, window_seconds: Type.Optional(Type.Integer()) }
export const BoltMessage = wireType(
  Type.Object({
    channel: Text,
    payload: Type.Union([
      Type.Object({ ...boltAbout, ...boltTick }),
      Type.Object({ ...boltAbout, data: Type.Array(Type.Object(boltTick)) }),
    ]),
  }),
)
