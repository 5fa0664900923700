/** Ticks of the prices that Up/Down markets settle on: at a market's start, at its end, and at present. */
import type { MarketInput } from '../../core/rows/market.ts'
import type { SettlementPrice } from '../../core/settlement.ts'
import type { ReferencePriceObservation } from '../../venues/observation.ts'
import type { PredictionPlan } from '../../venues/plan.ts'

const KEPT_MS = 20 * 60_000
const FRESH_MS = 10_000

/** The fields that decide which price a market settles on. */
type Settled = Pick<MarketInput, 'marketType' | 'settlement'>

export type ReferencePrices = ReturnType<typeof createReferencePrices>

interface Tick {
  readonly timeMs: number
  readonly price: string
}

interface KeptPrice {
  readonly ticks: Tick[]
  /** The first tick of each second, because many markets look for theirs every second until it has arrived. */
  readonly bySecond: Map<number, string>
}

const secondOf = (timeMs: number) => Math.floor(timeMs / 1_000)
const nameOf = ({ of, windowSeconds }: SettlementPrice) => `${of} ${windowSeconds ?? 'spot'}`

export function createReferencePrices(usual: PredictionPlan['usualSettlement']) {
  /** By name of the price; there are no more prices than topics. */
  const kept = new Map<string, KeptPrice>()
  const keptOf = ({ settlement, marketType }: Settled): KeptPrice | undefined => {
    const price = settlement ?? usual?.[marketType ?? '5m']
    return price === undefined ? undefined : kept.get(nameOf(price))
  }
  const keep = (name: string): KeptPrice => {
    const none: KeptPrice = { ticks: [], bySecond: new Map() }
    kept.set(name, none)
    return none
  }
  return {
    receive({ settlement, venueTimeMs: timeMs, price }: ReferencePriceObservation) {
      const name = nameOf(settlement)
      const { ticks, bySecond } = kept.get(name) ?? keep(name)
      ticks.push({ timeMs, price })
      const second = secondOf(timeMs)
      if (!bySecond.has(second)) bySecond.set(second, price)
      if (ticks.length > 64 && (ticks[32]?.timeMs ?? 0) < timeMs - KEPT_MS)
        for (const gone of ticks.splice(0, 32)) bySecond.delete(secondOf(gone.timeMs))
    },
    /** The newest tick at or before an instant, if it is fresh. */
    before(market: Settled, timeMs: number): string | null {
      const last = keptOf(market)?.ticks.findLast((tick) => tick.timeMs <= timeMs)
      return last === undefined || timeMs - last.timeMs > FRESH_MS ? null : last.price
    },
    /** The tick of exactly that second, because the relay skips some and the price of another second would be wrong. */
    at(market: Settled, timeMs: number): string | null {
      return keptOf(market)?.bySecond.get(secondOf(timeMs)) ?? null
    },
  }
}
