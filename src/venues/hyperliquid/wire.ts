/** Hyperliquid's wire types. Extra keys are allowed, because they come and go. */
import Type, { type Static } from 'typebox'
import { DecimalText, Id, Millis, wireType } from '../adapter/wire-type.ts'

const LevelSchema = Type.Object({ px: DecimalText, sz: DecimalText, n: Type.Integer({ minimum: 0 }) })
export type LevelWire = Static<typeof LevelSchema>

/** `side` is the aggressor: B bought, A sold. `tid` is unique only together with coin and time. */
const TradeSchema = Type.Object({
  coin: Type.String(),
  side: Type.Union([Type.Literal('A'), Type.Literal('B')]),
  px: DecimalText,
  sz: DecimalText,
  time: Millis,
  tid: Id,
})
export type TradeWire = Static<typeof TradeSchema>
export const Trade = wireType(TradeSchema)
export const Trades = wireType(Type.Array(TradeSchema))

const BookSchema = Type.Object({
  coin: Type.String(),
  time: Millis,
  levels: Type.Tuple([Type.Array(LevelSchema), Type.Array(LevelSchema)]),
  fast: Type.Optional(Type.Boolean()),
})
export type BookWire = Static<typeof BookSchema>
export const BookMessage = wireType(BookSchema)

const CandleSchema = Type.Object({
  t: Millis,
  T: Millis,
  s: Type.String(),
  i: Type.String(),
  o: DecimalText,
  h: DecimalText,
  l: DecimalText,
  c: DecimalText,
  v: DecimalText,
  n: Type.Integer({ minimum: 0 }),
})
export type CandleWire = Static<typeof CandleSchema>
export const CandleMessage = wireType(CandleSchema)
export const CandleRows = wireType(Type.Array(CandleSchema))

const ContextSchema = Type.Object({
  coin: Type.String(),
  ctx: Type.Object({
    openInterest: DecimalText,
    markPx: DecimalText,
  }),
})
export type ContextWire = Static<typeof ContextSchema>
export const Context = wireType(ContextSchema)

const FundingRowSchema = Type.Object({
  coin: Type.String(),
  fundingRate: DecimalText,
  premium: DecimalText,
  time: Millis,
})
export type FundingRowWire = Static<typeof FundingRowSchema>
export const FundingRows = wireType(Type.Array(FundingRowSchema))

/** The venue adds its defaults to the subscription, so it is matched by the parts that we sent. */
const SubscriptionSchema = Type.Object({
  method: Type.Union([Type.Literal('subscribe'), Type.Literal('unsubscribe')]),
  subscription: Type.Object({
    type: Type.String(),
    coin: Type.Optional(Type.String()),
    interval: Type.Optional(Type.String()),
  }),
})
export type SubscriptionWire = Static<typeof SubscriptionSchema>
export const SubscriptionMessage = wireType(SubscriptionSchema)

export const Message = wireType(Type.Object({ channel: Type.String(), data: Type.Optional(Type.Unknown()) }))

export const ExchangeStatus = wireType(Type.Object({ time: Millis }))

export const Meta = wireType(
  Type.Object({
    universe: Type.Array(Type.Object({ name: Type.String(), isDelisted: Type.Optional(Type.Boolean()) })),
  }),
)
