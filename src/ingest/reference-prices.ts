/** The prices that Up/Down markets settle on, as ticks: what a market began with, what it ended with, what it is now. */
import type { MarketType } from '../core/rows/market.ts'
import type { ReferencePriceObservation } from '../venues/observation.ts'

const KEPT_MS = 20 * 60_000
const FRESH_MS = 10_000
/** Hours and days are settled on a spot price, the others on its mean over a minute. */
const ON_SPOT: readonly (MarketType | null | undefined)[] = ['1h', '24h']

export interface ReferencePrices {
  heard(observation: ReferencePriceObservation): void
  /** The newest tick at or before an instant, while it is fresh. */
  before(type: MarketType | null | undefined, timeMs: number): string | null
  /** The tick of that very second: the relay leaves some out, and another second's price is another price. */
  at(type: MarketType | null | undefined, timeMs: number): string | null
}

interface Tick {
  readonly timeMs: number
  readonly price: string
}

export function keepReferencePrices(): ReferencePrices {
  const kept: Record<'spot' | 'mean', Tick[]> = { spot: [], mean: [] }
  const ticksOf = (type: MarketType | null | undefined) => (ON_SPOT.includes(type) ? kept.spot : kept.mean)
  return {
    heard({ windowSeconds, venueTimeMs: timeMs, price }) {
      const ticks = windowSeconds === null ? kept.spot : kept.mean
      ticks.push({ timeMs, price })
      if (ticks.length > 64 && (ticks[32]?.timeMs ?? 0) < timeMs - KEPT_MS) ticks.splice(0, 32)
    },
    before(type, timeMs) {
      const last = ticksOf(type).findLast((tick) => tick.timeMs <= timeMs)
      return last === undefined || timeMs - last.timeMs > FRESH_MS ? null : last.price
    },
    at(type, timeMs) {
      const second = Math.floor(timeMs / 1_000)
      return ticksOf(type).find((tick) => Math.floor(tick.timeMs / 1_000) === second)?.price ?? null
    },
  }
}
