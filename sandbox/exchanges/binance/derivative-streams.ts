/** Streams that only the futures product has. */
import type { Producer } from '../server/hub.ts'
import type { MarketWorld, World } from '../world/world.ts'
import { forceOrderEvent } from './text.ts'

export function markPrices({ market, derivatives }: MarketWorld, stream: string, everyMs: number): Producer {
  const about = { stream, symbol: market.symbol, channel: 'markPrice' }
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      for (let at = (Math.floor(fromMs / everyMs) + 1) * everyMs; at <= toMs; at += everyMs) {
        const mark = derivatives.markPrice(at).toFixed(8)
        const average = derivatives.markPrice(at - 5_000).toFixed(8)
        const index = derivatives.indexPrice(at).toFixed(8)
        const nextMs = (Math.floor(at / derivatives.fundingEveryMs) + 1) * derivatives.fundingEveryMs
        publish({
          ...about,
          data:
            `{"e":"markPriceUpdate","E":${at},"s":"${market.name}","p":"${mark}","ap":"${average}","i":"${index}",` +
            `"P":"${index}","r":"${derivatives.runningRate(at).toFixed(8)}","T":${nextMs},"st":1}`,
        })
      }
    },
  }
}

export function forceOrders({ market, derivatives }: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: market.symbol, channel: 'forceOrder' }
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      for (const row of derivatives.liquidations(fromMs + 1, toMs + 1))
        publish({ ...about, data: forceOrderEvent(market, row, toMs) })
    },
  }
}

/** All symbols on one stream, and since the merger of the products also coin-margined contracts (`st` 2). */
export function allForceOrders(world: World, stream: string): Producer {
  return {
    channel: 'forceOrder',
    produce(fromMs, toMs, publish) {
      for (const { market, derivatives } of world.all('futures')) {
        for (const row of derivatives.liquidations(fromMs + 1, toMs + 1)) {
          const about = { stream, symbol: market.symbol, channel: 'forceOrder' }
          publish({ ...about, data: forceOrderEvent(market, row, toMs) })
          if (market.symbol !== 'BTC') continue
          const coinMargined = forceOrderEvent({ ...market, name: 'BTCUSD_PERP' }, row, toMs)
          publish({
            ...about,
            data: coinMargined.replace('"ps":"BTCUSD_PERP","st":1', '"ps":"BTCUSD","st":2'),
          })
        }
      }
    },
  }
}
