/**
 * The ids of streamed trades. The venue gives none, so a trade is named by its transaction, its token and its place
 * among the fills of that transaction; the same fill sent again is recognised.
 */
import { Lru } from '../../kit/lru.ts'
import { namelessTradeId, tradeId } from './mapper.ts'
import type { LastTradeWire } from './wire.ts'

const TRADES_REMEMBERED = 65_536
/** Of trades without a transaction, which share one group. */
const MAX_NAMELESS_FILLS = 256

export type TradeIds = ReturnType<typeof createTradeIds>

export function createTradeIds() {
  const fillsOf = new Lru<string, string[]>({ maxEntries: TRADES_REMEMBERED })
  return {
    /** Undefined for a trade that was sent before. */
    newId(wire: LastTradeWire): string | undefined {
      const hash = wire.transaction_hash ?? ''
      const group = `${hash}:${wire.asset_id}`
      const fill = [wire.side, wire.price, wire.size, wire.timestamp].join()
      const known = fillsOf.get(group) ?? []
      if (known.includes(fill)) return undefined
      if (hash === '') {
        fillsOf.set(group, [...known.slice(-MAX_NAMELESS_FILLS), fill])
        return namelessTradeId(wire, 0)
      }
      fillsOf.set(group, [...known, fill])
      return tradeId(hash, wire.asset_id, known.length)
    },
    /** Whether a trade of this transaction and token was streamed. */
    has: (hash: string, tokenId: string) => fillsOf.get(`${hash}:${tokenId}`) !== undefined,
  }
}
