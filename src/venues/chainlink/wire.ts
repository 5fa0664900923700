/** JSON-RPC messages of Ethereum nodes. */
import Type from 'typebox'
import { wireType } from '../adapter/wire-type.ts'

const replySchema = Type.Object({
  id: Type.Optional(Type.Unknown()),
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(
    Type.Object({ code: Type.Number(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
  ),
})
export const RpcReply = wireType(replySchema)

/** A number small enough to be exact and to be counted to in a loop over blocks. */
const Quantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,12}$' })

export const Hex = wireType(Type.String({ pattern: '^0x[0-9a-fA-F]*$' }))
export const Logs = wireType(
  Type.Array(
    Type.Object({
      address: Type.String(),
      blockNumber: Quantity,
      topics: Type.Array(Type.String()),
      data: Type.String(),
    }),
  ),
)
export const Block = wireType(Type.Object({ number: Quantity, timestamp: Quantity }))
