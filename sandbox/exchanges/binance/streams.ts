/** The streams of the exchange: name → producer. A name that means nothing has no producer. */

import type { Producer } from '../server/hub.ts'
import { type BarInterval, barOpen, barStep, parseBarInterval } from '../world/bar-interval.ts'
import { SLOT_MS, slotOf, updateIdOf } from '../world/book.ts'
import type { MarketWorld, World } from '../world/world.ts'
import { allForceOrders, forceOrders, markPrices } from './derivative-streams.ts'
import { aggTradeEvent, klineObject, levelsText, touchText, tradeEvents } from './text.ts'

export type Product = 'spot' | 'futures'

export function openStream(world: World, product: Product, stream: string): Producer | undefined {
  if (product === 'futures' && stream === '!forceOrder@arr') return allForceOrders(world, stream)
  const [lowerName = '', kind = '', speed] = stream.split('@')
  const isContinuous = product === 'futures' && lowerName.endsWith('_perpetual')
  const name = isContinuous ? lowerName.slice(0, -'_perpetual'.length) : lowerName
  // Stream names are lower case; an upper-case symbol is acknowledged and silent.
  if (name !== name.toLowerCase()) return undefined
  const entry = world.named(product, name.toUpperCase())
  if (entry === undefined) return undefined
  if (isContinuous) return kind.startsWith('continuousKline_') ? klines(entry, stream, kind) : undefined
  if (kind === 'aggTrade') return aggTrades(entry, stream)
  if (kind === 'trade') return trades(entry, stream)
  if (kind.startsWith('kline_')) return klines(entry, stream, kind)
  if (kind === 'bookTicker') return bookTickers(entry, stream)
  if (kind.startsWith('depth')) return depths(entry, stream, kind, speed)
  if (product === 'futures' && kind === 'markPrice')
    return markPrices(entry, stream, speed === '1s' ? 1_000 : 3_000)
  if (product === 'futures' && kind === 'forceOrder') return forceOrders(entry, stream)
  return undefined
}

function aggTrades({ market, tape }: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: market.symbol, channel: 'aggTrade' }
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      for (const trade of tape.between(fromMs + 1, toMs + 1, Number.POSITIVE_INFINITY))
        publish({ ...about, data: aggTradeEvent(market, trade, toMs) })
    },
  }
}

function trades({ market, tape }: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: market.symbol, channel: 'trade' }
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      for (const trade of tape.between(fromMs + 1, toMs + 1, Number.POSITIVE_INFINITY))
        for (const data of tradeEvents(market, trade, toMs)) publish({ ...about, data })
    },
  }
}

/** Spot: every second for `1s`, every two seconds otherwise. Futures: every 250 ms if something changed. */
function klines({ market, bars }: MarketWorld, stream: string, kind: string): Producer | undefined {
  const isContinuous = kind.startsWith('continuousKline_')
  const interval = parseBarInterval(kind.slice(kind.indexOf('_') + 1))
  if (interval === undefined) return undefined
  if (interval === '1s' && market.venue === 'futures' && !isContinuous) return undefined
  const about = { stream, symbol: market.symbol, channel: isContinuous ? 'continuousKline' : 'kline' }
  const everyMs = market.venue === 'futures' ? 250 : interval === '1s' ? 1_000 : 2_000
  const head = isContinuous ? `"ps":"${market.name}","ct":"PERPETUAL","k":` : `"s":"${market.name}","k":`
  let lastSent = ''
  const event = (openMs: number, isClosed: boolean, eventMs: number) => {
    const bar = bars.at(openMs, interval, isClosed ? Number.POSITIVE_INFINITY : eventMs)
    const text = klineObject(market, interval, bar, isClosed, !isContinuous)
    return {
      bar,
      data: `{"e":"${isContinuous ? 'continuous_kline' : 'kline'}","E":${eventMs},${head}${text}}`,
    }
  }
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      for (const openMs of closedBetween(interval, fromMs, toMs))
        publish({ ...about, isClose: true, data: event(openMs, true, toMs).data })
      if (Math.floor(toMs / everyMs) === Math.floor(fromMs / everyMs) || interval === '1s') return
      const openMs = barOpen(toMs, interval)
      const { bar, data } = event(openMs, false, toMs)
      const state = `${openMs}:${bar.trades}`
      if (bar.trades === 0 || (market.venue === 'futures' && state === lastSent)) return
      lastSent = state
      publish({ ...about, data })
    },
  }
}

/** The opens of the bars whose close was passed in (from, to]. */
export function closedBetween(interval: BarInterval, fromMs: number, toMs: number): number[] {
  const opens: number[] = []
  for (let at = barOpen(fromMs, interval); barStep(at, interval, 1) <= toMs; at = barStep(at, interval, 1))
    opens.push(at)
  return opens
}

function bookTickers({ market, book }: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: market.symbol, channel: 'bookTicker' }
  let lastTouch = ''
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      for (let slot = slotOf(fromMs) + 1; slot <= slotOf(toMs); slot++) {
        const [bid, bidSize, ask, askSize] = touchText(market, book.top(slot, 1))
        const touch = `"b":"${bid}","B":"${bidSize}","a":"${ask}","A":"${askSize}"`
        if (touch === lastTouch) continue
        lastTouch = touch
        const timeMs = slot * SLOT_MS
        publish({
          ...about,
          data:
            market.venue === 'spot'
              ? `{"u":${updateIdOf(slot)},"s":"${market.name}",${touch}}`
              : `{"e":"bookTicker","u":${updateIdOf(slot)},"s":"${market.name}","ps":"${market.name}",${touch},"T":${timeMs},"E":${toMs},"st":1}`,
        })
      }
    },
  }
}

const DEPTH_SPEED_MS: Record<Product, Record<string, number>> = {
  spot: { default: 1_000, '100ms': 100, '1000ms': 1_000 },
  futures: { default: 300, '100ms': 100, '500ms': 500, '0ms': 100 },
}

/** `depth` sends differences, `depth5|10|20` the top of the book. */
function depths(
  { market, book }: MarketWorld,
  stream: string,
  kind: string,
  speed: string | undefined,
): Producer | undefined {
  const product = market.venue === 'spot' ? 'spot' : 'futures'
  const everyMs = DEPTH_SPEED_MS[product][speed ?? 'default']
  const top = kind === 'depth' ? 0 : Number(kind.slice('depth'.length))
  if (everyMs === undefined || ![0, 5, 10, 20].includes(top)) return undefined
  const step = everyMs / SLOT_MS
  const about = { stream, symbol: market.symbol, channel: 'depth' }

  function text(slot: number, eventMs: number): string {
    const lastId = updateIdOf(slot)
    const previousId = updateIdOf(slot - step)
    const sides = top === 0 ? book.changes(slot - step, slot) : book.top(slot, top)
    const bids = levelsText(market, sides.bids)
    const asks = levelsText(market, sides.asks)
    if (product === 'spot' && top > 0) return `{"lastUpdateId":${lastId},"bids":${bids},"asks":${asks}}`
    const ids = `"s":"${market.name}","U":${previousId + 1},"u":${lastId}`
    return product === 'spot'
      ? `{"e":"depthUpdate","E":${eventMs},${ids},"b":${bids},"a":${asks}}`
      : `{"e":"depthUpdate","E":${eventMs},"T":${slot * SLOT_MS},${ids},"pu":${previousId},"b":${bids},"a":${asks}}`
  }

  return {
    ...about,
    produce(fromMs, toMs, publish) {
      const last = Math.floor(slotOf(toMs) / step) * step
      let slot = (Math.floor(slotOf(fromMs) / step) + 1) * step
      for (; slot <= last; slot += step) publish({ ...about, data: text(slot, toMs) })
    },
  }
}
