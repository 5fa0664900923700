/** Wire types of the spot product only; most are shared with futures. */
import Type from 'typebox'
import { Millis, wireType } from '../adapter/wire-type.ts'

export const ExchangeInfoReply = wireType(
  Type.Object({
    serverTime: Millis,
    rateLimits: Type.Array(
      Type.Object({
        rateLimitType: Type.String(),
        interval: Type.String(),
        intervalNum: Type.Integer(),
        limit: Type.Integer(),
      }),
    ),
    symbols: Type.Array(Type.Object({ symbol: Type.String(), status: Type.String() })),
  }),
)
