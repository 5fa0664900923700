/** Snapshots and signed changes of a yes/no book as text. */
import type { Life } from '../world/life.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import { contracts, dollars, isoMicros } from './text.ts'

export interface BookText {
  snapshot(market: StrikeMarket, life: Life, slot: number | undefined, useYesPrice: boolean): string
  /** One message per level that differs between two slots. */
  deltas(market: StrikeMarket, life: Life, from: number, to: number, useYesPrice: boolean): string[]
  /** A yes bid on the best ask, which the venue's own book does not have. */
  crossing(market: StrikeMarket, life: Life, slot: number): string
}

const LEVELS = 1_001
const CROSSING_SIZE = 7_700

export function createBookText(): BookText {
  const [oldBids, oldAsks, bids, asks] = [0, 1, 2, 3].map(() => new Int32Array(LEVELS)) as [
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
  ]
  const head = (market: StrikeMarket) => `{"market_ticker":"${market.ticker}","market_id":"${market.id}"`
  const delta = (market: StrikeMarket, price: number, change: number, side: 'yes' | 'no', timeMs: number) =>
    `${head(market)},"price_dollars":"${dollars(price)}","delta_fp":"${contracts(change)}","side":"${side}"` +
    `,"ts":"${isoMicros(timeMs)}","ts_ms":${timeMs}}`

  return {
    snapshot(market, life, slot, useYesPrice) {
      if (slot === undefined) return `${head(market)}}`
      life.fill(slot, bids, asks)
      const yes: string[] = []
      const no: string[] = []
      for (let price = 1; price < 1_000; price++) {
        if (bids[price] !== 0) yes.push(`["${dollars(price)}","${contracts(bids[price] as number)}"]`)
        // Worst first on the side's own scale: from the highest yes price down.
        const size = asks[1_000 - price] as number
        if (size !== 0) no.push(`["${dollars(useYesPrice ? 1_000 - price : price)}","${contracts(size)}"]`)
      }
      return (
        head(market) +
        (yes.length === 0 ? '' : `,"yes_dollars_fp":[${yes.join(',')}]`) +
        (no.length === 0 ? '' : `,"no_dollars_fp":[${no.join(',')}]`) +
        '}'
      )
    },
    deltas(market, life, from, to, useYesPrice) {
      life.fill(from, oldBids, oldAsks)
      life.fill(to, bids, asks)
      const timeMs = life.timeOf(to)
      const removed: string[] = []
      const rest: string[] = []
      for (let price = 1; price < 1_000; price++) {
        const [oldBid, bid] = [oldBids[price] as number, bids[price] as number]
        if (oldBid !== bid)
          (bid === 0 ? removed : rest).push(delta(market, price, bid - oldBid, 'yes', timeMs))
        const [oldAsk, ask] = [oldAsks[price] as number, asks[price] as number]
        if (oldAsk !== ask)
          (ask === 0 ? removed : rest).push(
            delta(market, useYesPrice ? price : 1_000 - price, ask - oldAsk, 'no', timeMs),
          )
      }
      return [...removed, ...rest]
    },
    crossing: (market, life, slot) =>
      delta(market, Math.min(990, life.ask(slot)), CROSSING_SIZE, 'yes', life.timeOf(slot)),
  }
}
