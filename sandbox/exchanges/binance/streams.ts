/** The exchange's streams: maps a name to a producer. An unknown name has no producer. */
import { CANDLE_INTERVALS, candleStart } from '../../../src/core/interval.ts'
import type { Producer } from '../hub.ts'
import { SLOT_MS, slotOf, updateIdOf } from '../world/book.ts'
import { candlesClosed } from '../world/candles.ts'
import type { MarketWorld, World } from '../world/world.ts'
import { aggTradeEvent, forceOrderEvent, klineEvent, priceText, sizeText } from './payloads.ts'
import type { Product } from './rest.ts'

export function openStream(world: World, product: Product, stream: string): Producer | undefined {
  const at = stream.indexOf('@')
  const name = stream.slice(0, at)
  const kind = stream.slice(at + 1)
  // Stream names are lower case. An upper-case symbol is acknowledged but stays silent.
  const entry = name === name.toLowerCase() ? world.named(product, name.toUpperCase()) : undefined
  if (entry === undefined) return undefined
  if (kind === 'aggTrade') return aggTrades(entry, stream)
  if (kind.startsWith('kline_')) return klines(entry, stream, kind.slice('kline_'.length))
  if (kind === 'bookTicker') return bookTickers(entry, stream)
  if (product === 'futures' && kind === 'forceOrder') return forceOrders(entry, stream)
  return undefined
}

function aggTrades({ market, tape }: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: market.symbol, channel: 'aggTrade' }
  return (fromMs, toMs, publish) => {
    for (const trade of tape.between(fromMs + 1, toMs + 1, Number.POSITIVE_INFINITY))
      publish({ ...about, text: JSON.stringify(aggTradeEvent(market, trade, toMs)) })
  }
}

/** Spot: every second for `1s`, every two seconds otherwise. Futures: every 250 ms if something changed. */
function klines({ market, candles }: MarketWorld, stream: string, name: string): Producer | undefined {
  const interval = CANDLE_INTERVALS.find((known) => known === name)
  const isFutures = market.venue === 'futures'
  if (interval === undefined || (interval === '1s' && isFutures)) return undefined
  const about = { stream, symbol: market.symbol, channel: 'kline' }
  const everyMs = isFutures ? 250 : 2_000
  let lastSent = ''
  return (fromMs, toMs, publish) => {
    for (const openMs of candlesClosed(interval, fromMs, toMs)) {
      const candle = candles.at(openMs, interval, Number.POSITIVE_INFINITY)
      const event = klineEvent(market, interval, candle, { isClosed: true, eventMs: toMs })
      const isQuiet = candle.trades === 0 && interval !== '1s'
      publish({ ...about, isClose: true, isQuiet, text: JSON.stringify(event) })
    }
    if (Math.floor(toMs / everyMs) === Math.floor(fromMs / everyMs) || interval === '1s') return
    const candle = candles.at(candleStart(toMs, interval), interval, toMs)
    const state = `${candle.openMs}:${candle.trades}`
    if (candle.trades === 0 || (isFutures && state === lastSent)) return
    lastSent = state
    const event = klineEvent(market, interval, candle, { isClosed: false, eventMs: toMs })
    publish({ ...about, text: JSON.stringify(event) })
  }
}

function bookTickers({ market, book }: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: market.symbol, channel: 'bookTicker' }
  const { name, venue } = market
  let last = [0, 0, 0, 0]
  return (fromMs, toMs, publish) => {
    for (let slot = slotOf(fromMs) + 1; slot <= slotOf(toMs); slot++) {
      const top = book.top(slot, 1)
      const touch = [...(top.bids[0] ?? [0, 0]), ...(top.asks[0] ?? [0, 0])] as [
        number,
        number,
        number,
        number,
      ]
      if (touch.every((value, i) => value === last[i])) continue
      last = touch
      const [bid, bidLots, ask, askLots] = touch
      const prices = {
        b: priceText(market, bid),
        B: sizeText(market, bidLots),
        a: priceText(market, ask),
        A: sizeText(market, askLots),
      }
      const u = updateIdOf(slot)
      const event =
        venue === 'spot'
          ? { u, s: name, ...prices }
          : { e: 'bookTicker', u, s: name, ps: name, ...prices, T: slot * SLOT_MS, E: toMs, st: 1 }
      publish({ ...about, text: JSON.stringify(event) })
    }
  }
}

function forceOrders({ market, derivatives }: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: market.symbol, channel: 'forceOrder' }
  return (fromMs, toMs, publish) => {
    for (const row of derivatives.liquidations(fromMs + 1, toMs + 1))
      publish({ ...about, text: JSON.stringify(forceOrderEvent(market, row, toMs)) })
  }
}
