/**
 * The ids of streamed trades. The venue sends none, so a trade is identified by its transaction, its token and its
 * position among the fills of that transaction. A fill that is sent again is recognised.
 */
import { Lru } from '../../kit/lru.ts'
import { tradeId } from './mapper.ts'
import type { LastTradeWire } from './wire.ts'

const TRADES_REMEMBERED = 65_536
/** Fills remembered per transaction and token. */
const MAX_FILLS = 256

interface Fills {
  /** The newest fills. */
  readonly known: readonly string[]
  readonly count: number
}

export type TradeIds = ReturnType<typeof createTradeIds>

export function createTradeIds() {
  const fillsOf = new Lru<string, Fills>({ maxEntries: TRADES_REMEMBERED })
  return {
    /** Undefined for a trade that was sent before. */
    newId(wire: LastTradeWire, hash: string): string | undefined {
      const group = `${hash}:${wire.asset_id}`
      const fill = [wire.side, wire.price, wire.size, wire.timestamp].join()
      const { known, count } = fillsOf.get(group) ?? { known: [], count: 0 }
      if (known.includes(fill)) return undefined
      fillsOf.set(group, { known: [...known.slice(-MAX_FILLS), fill], count: count + 1 })
      return tradeId(hash, wire.asset_id, count)
    },
    /** Whether a trade of this transaction and token was streamed. */
    has: (hash: string, tokenId: string) => fillsOf.get(`${hash}:${tokenId}`) !== undefined,
  }
}
