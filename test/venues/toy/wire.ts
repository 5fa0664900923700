/** The toy's messages. */
import Type, { type Static } from 'typebox'
import { DecimalText, Millis, wireType } from '../../../src/venues/adapter/wire-type.ts'

const TradeSchema = Type.Object({ n: Type.Integer(), coin: Type.String(), px: DecimalText, t: Millis })
export type TradeWire = Static<typeof TradeSchema>
export const Trade = wireType(TradeSchema)
export const Candles = wireType(Type.Array(Type.Object({ t: Millis, px: DecimalText })))
export const Time = wireType(Type.Object({ now: Millis }))
