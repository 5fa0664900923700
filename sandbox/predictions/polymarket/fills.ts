/**
 * The fills of one transaction. The stream sends either each of them or one trade with their total size; the list
 * always has each of them. All have the time and the price of the trade.
 */
import { hash32 } from '../../exchanges/world/hash.ts'
import type { MarketTrade } from '../world/life.ts'
import type { UpDown } from '../world/up-down.ts'

interface SettledTrade {
  readonly fills: readonly MarketTrade[]
  readonly streamed: readonly MarketTrade[]
}

export function settle(
  { seed, filledShare }: { readonly seed: number; readonly filledShare: number },
  market: UpDown,
  trade: MarketTrade,
): SettledTrade {
  const whole = { fills: [trade], streamed: [trade] }
  if (filledShare === 0) return whole
  const drawn = hash32(seed, 76 + market.index, trade.slot)
  if (drawn / 4_294_967_296 >= filledShare) return whole
  const kind = hash32(seed, 77 + market.index, trade.slot)
  const sizes = splitSize(trade.size, kind)
  const fills = sizes.map((size) => ({ ...trade, size }))
  return { fills, streamed: (kind & 4) === 0 ? fills : [trade] }
}

/** In two or three parts. The first two may be equal. */
function splitSize(size: number, kind: number): number[] {
  const isEqual = (kind & 1) === 0
  const first = Math.max(1, Math.floor(size * (isEqual ? 0.4 : 0.25)))
  const second = isEqual ? first : Math.max(1, Math.floor(size * 0.35))
  const rest = size - first - second
  return (kind & 2) === 0 ? [first, second, rest] : [first, size - first]
}
