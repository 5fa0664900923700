/** Ticks of the prices that Up/Down markets settle on: at a market's start, at its end, and now. */
import type { MarketInput } from '../../core/rows/market.ts'
import type { SettlementPrice } from '../../core/settlement.ts'
import type { ReferencePriceObservation } from '../../venues/observation.ts'
import type { PredictionPlan } from '../../venues/plan.ts'

const KEPT_MS = 20 * 60_000
const FRESH_MS = 10_000

/** What decides which price a market settles on. */
type Settled = Pick<MarketInput, 'marketType' | 'settlement'>

export type ReferencePrices = ReturnType<typeof createReferencePrices>

interface Tick {
  readonly timeMs: number
  readonly price: string
}

const nameOf = ({ of, windowSeconds }: SettlementPrice) => `${of} ${windowSeconds ?? 'spot'}`

export function createReferencePrices(usual: PredictionPlan['usualSettlement']) {
  /** By name of the price; as many as there are topics. */
  const kept = new Map<string, Tick[]>()
  const ticksOf = ({ settlement, marketType }: Settled): readonly Tick[] => {
    const price = settlement ?? usual?.[marketType ?? '5m']
    return price === undefined ? [] : (kept.get(nameOf(price)) ?? [])
  }
  return {
    receive({ settlement, venueTimeMs: timeMs, price }: ReferencePriceObservation) {
      const name = nameOf(settlement)
      const ticks = kept.get(name) ?? []
      kept.set(name, ticks)
      ticks.push({ timeMs, price })
      if (ticks.length > 64 && (ticks[32]?.timeMs ?? 0) < timeMs - KEPT_MS) ticks.splice(0, 32)
    },
    /** The newest tick at or before an instant, while it is fresh. */
    before(market: Settled, timeMs: number): string | null {
      const last = ticksOf(market).findLast((tick) => tick.timeMs <= timeMs)
      return last === undefined || timeMs - last.timeMs > FRESH_MS ? null : last.price
    },
    /** The tick of exactly that second: the relay skips some, and the price of another second would be wrong. */
    at(market: Settled, timeMs: number): string | null {
      const second = Math.floor(timeMs / 1_000)
      return ticksOf(market).find((tick) => Math.floor(tick.timeMs / 1_000) === second)?.price ?? null
    },
  }
}
