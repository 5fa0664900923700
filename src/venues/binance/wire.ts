/** Wire types shared by the exchange's spot and futures products. Extra keys are allowed, because they come and go. */
import Type, { type Static } from 'typebox'
import { DecimalText, Id, Millis, rowOf, wireType } from '../adapter/wire-type.ts'

/** An aggregate trade of size 0 may have no fills; its first and last are then -1. */
const FillId = Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER })

/** Combined streams name their stream; raw streams send the payload alone. */
export const Envelope = wireType(Type.Object({ stream: Type.String(), data: Type.Object({}) }))

const KlineEventSchema = Type.Object({
  e: Type.Literal('kline'),
  E: Millis,
  s: Type.String(),
  k: Type.Object({
    t: Millis,
    T: Millis,
    i: Type.String(),
    o: DecimalText,
    h: DecimalText,
    l: DecimalText,
    c: DecimalText,
    v: DecimalText,
    n: Type.Integer({ minimum: 0 }),
    x: Type.Boolean(),
    q: DecimalText,
    V: DecimalText,
    Q: DecimalText,
  }),
})
export type KlineEventWire = Static<typeof KlineEventSchema>
export const KlineEvent = wireType(KlineEventSchema)

const KlineRowSchema = rowOf([
  Millis,
  DecimalText,
  DecimalText,
  DecimalText,
  DecimalText,
  DecimalText,
  Millis,
  DecimalText,
  Type.Integer({ minimum: 0 }),
  DecimalText,
  DecimalText,
  Type.String(),
])
export type KlineRowWire = Static<typeof KlineRowSchema>
export const KlineRows = wireType(Type.Array(KlineRowSchema))

const AggregateTradeEventSchema = Type.Object({
  e: Type.Literal('aggTrade'),
  E: Millis,
  s: Type.String(),
  a: Id,
  p: DecimalText,
  q: DecimalText,
  f: FillId,
  l: FillId,
  T: Millis,
  m: Type.Boolean(),
})
export const AggregateTradeEvent = wireType(AggregateTradeEventSchema)

const AggregateTradeRowSchema = Type.Object({
  a: Id,
  p: DecimalText,
  q: DecimalText,
  f: FillId,
  l: FillId,
  T: Millis,
  m: Type.Boolean(),
})
export type AggregateTradeRowWire = Static<typeof AggregateTradeRowSchema>
export const AggregateTradeRows = wireType(Type.Array(AggregateTradeRowSchema))

/** On spot it has neither an event type nor a time. */
const BookTickerEventSchema = Type.Object({
  u: Id,
  s: Type.String(),
  b: DecimalText,
  B: DecimalText,
  a: DecimalText,
  A: DecimalText,
  T: Type.Optional(Millis),
  E: Type.Optional(Millis),
})
export type BookTickerEventWire = Static<typeof BookTickerEventSchema>
export const BookTickerEvent = wireType(BookTickerEventSchema)

/** Read only for the update number and its time. */
export const DepthReply = wireType(Type.Object({ lastUpdateId: Id, T: Type.Optional(Millis) }))

export const ServerTimeReply = wireType(Type.Object({ serverTime: Millis }))

export const ShutdownEvent = wireType(Type.Object({ e: Type.Literal('serverShutdown') }))

/** The reply to a control message: accepted, or refused in one of the two documented ways. */
export const ControlReply = wireType(
  Type.Union([
    Type.Object({ result: Type.Null(), id: Type.Unknown() }),
    Type.Object({ code: Type.Integer(), msg: Type.String() }),
    Type.Object({ error: Type.Object({ code: Type.Integer(), msg: Type.String() }) }),
  ]),
)
