/** Wire types of the futures product only; the others are shared with spot. */
import Type, { type Static } from 'typebox'
import { DecimalText, Millis, wireType } from '../adapter/wire-type.ts'

/** `st` is the product (1 = USD-M). Live frames carry it inside the order; the documentation shows it outside. */
const ForceOrderEventSchema = Type.Object({
  e: Type.Literal('forceOrder'),
  E: Millis,
  st: Type.Optional(Type.Integer()),
  o: Type.Object({
    s: Type.String(),
    S: Type.Union([Type.Literal('BUY'), Type.Literal('SELL')]),
    q: DecimalText,
    p: DecimalText,
    ap: DecimalText,
    z: DecimalText,
    T: Millis,
    st: Type.Optional(Type.Integer()),
  }),
})
export type ForceOrderEventWire = Static<typeof ForceOrderEventSchema>
export const ForceOrderEvent = wireType(ForceOrderEventSchema)

const PremiumIndexSchema = Type.Object({
  symbol: Type.String(),
  markPrice: DecimalText,
  indexPrice: DecimalText,
  lastFundingRate: Type.Union([DecimalText, Type.Literal('')]),
  nextFundingTime: Millis,
  time: Millis,
})
export const PremiumIndexReply = wireType(PremiumIndexSchema)

/** Old rows have no mark price, or an empty one. `rateType` `Special` is dividend funding of stock contracts. */
const FundingRowSchema = Type.Object({
  symbol: Type.String(),
  fundingTime: Millis,
  fundingRate: DecimalText,
  markPrice: Type.Optional(Type.Union([DecimalText, Type.Literal('')])),
  rateType: Type.Optional(Type.String()),
})
export type FundingRowWire = Static<typeof FundingRowSchema>
export const FundingRows = wireType(Type.Array(FundingRowSchema))

/** The time is a number; the documentation showed it as text for a long time. */
const OpenInterestRowSchema = Type.Object({
  symbol: Type.String(),
  sumOpenInterest: DecimalText,
  sumOpenInterestValue: DecimalText,
  timestamp: Type.Union([Millis, Type.String({ pattern: '^[0-9]{13}$' })]),
})
export type OpenInterestRowWire = Static<typeof OpenInterestRowSchema>
export const OpenInterestRows = wireType(Type.Array(OpenInterestRowSchema))
