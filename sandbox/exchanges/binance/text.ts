/** JSON text of the exchange's payloads, written straight from integers. Field order follows the recordings. */

import type { BarInterval } from '../world/bar-interval.ts'
import type { Bar } from '../world/bars.ts'
import type { BookState, Level } from '../world/book.ts'
import type { Liquidation } from '../world/derivatives.ts'
import { fixed, fixedBig } from '../world/fixed.ts'
import type { Market } from '../world/markets.ts'
import { fillsOf } from '../world/raw-fills.ts'
import type { Trade } from '../world/trade.ts'

export const priceText = (market: Market, ticks: number): string =>
  fixed(ticks, market.priceDecimals, market.shownPrice)

export const sizeText = (market: Market, lots: number): string =>
  fixed(lots, market.sizeDecimals, market.shownSize)

const quoteText = (market: Market, units: bigint): string =>
  fixedBig(units, market.priceDecimals + market.sizeDecimals, market.shownQuote)

export function klineRow(market: Market, bar: Bar): string {
  const price = (ticks: number) => priceText(market, ticks)
  return (
    `[${bar.openMs},"${price(bar.open)}","${price(bar.high)}","${price(bar.low)}","${price(bar.close)}",` +
    `"${sizeText(market, bar.lots)}",${bar.closeMs},"${quoteText(market, bar.quote)}",${bar.fills},` +
    `"${sizeText(market, bar.buyLots)}","${quoteText(market, bar.buyQuote)}","0"]`
  )
}

/** The `k` object of a kline event; `hasSymbol` is false in continuous klines. */
export function klineObject(
  market: Market,
  interval: BarInterval,
  bar: Bar,
  isClosed: boolean,
  hasSymbol = true,
): string {
  const price = (ticks: number) => priceText(market, ticks)
  const lastFill = bar.fills === 0 ? -1 : bar.firstFill + bar.fills - 1
  return (
    `{"t":${bar.openMs},"T":${bar.closeMs},${hasSymbol ? `"s":"${market.name}",` : ''}"i":"${interval}",` +
    `"f":${bar.firstFill},"L":${lastFill},"o":"${price(bar.open)}","c":"${price(bar.close)}",` +
    `"h":"${price(bar.high)}","l":"${price(bar.low)}","v":"${sizeText(market, bar.lots)}","n":${bar.fills},` +
    `"x":${isClosed},"q":"${quoteText(market, bar.quote)}","V":"${sizeText(market, bar.buyLots)}",` +
    `"Q":"${quoteText(market, bar.buyQuote)}","B":"0"}`
  )
}

export function aggTradeRow(market: Market, trade: Trade): string {
  const quantity = sizeText(market, trade.lots)
  const head = `{"a":${trade.id},"p":"${priceText(market, trade.price)}","q":"${quantity}",`
  const tail = `"f":${trade.firstFill},"l":${trade.lastFill},"T":${trade.timeMs},"m":${!trade.takerBuys}`
  return market.venue === 'spot' ? `${head}${tail},"M":true}` : `${head}"nq":"${quantity}",${tail}}`
}

export function aggTradeEvent(market: Market, trade: Trade, eventMs: number): string {
  const price = priceText(market, trade.price)
  const quantity = sizeText(market, trade.lots)
  const tail = `"f":${trade.firstFill},"l":${trade.lastFill},"T":${trade.timeMs},"m":${!trade.takerBuys}`
  return market.venue === 'spot'
    ? `{"e":"aggTrade","E":${eventMs},"s":"${market.name}","a":${trade.id},"p":"${price}","q":"${quantity}",${tail},"M":true}`
    : `{"e":"aggTrade","E":${eventMs},"a":${trade.id},"s":"${market.name}","p":"${price}","q":"${quantity}","nq":"${quantity}",${tail},"st":1}`
}

export function tradeEvents(market: Market, trade: Trade, eventMs: number): string[] {
  const price = priceText(market, trade.price)
  return fillsOf(trade).map((fill) => {
    const quantity = sizeText(market, fill.lots)
    return market.venue === 'spot'
      ? `{"e":"trade","E":${eventMs},"s":"${market.name}","t":${fill.id},"p":"${price}","q":"${quantity}","T":${trade.timeMs},"m":${!trade.takerBuys},"M":true}`
      : `{"e":"trade","E":${eventMs},"T":${trade.timeMs},"s":"${market.name}","t":${fill.id},"p":"${price}","q":"${quantity}","X":"MARKET","m":${!trade.takerBuys}}`
  })
}

export function tradeRows(market: Market, trade: Trade): string[] {
  const price = priceText(market, trade.price)
  return fillsOf(trade).map((fill) => {
    const quote = quoteText(market, BigInt(trade.price) * BigInt(fill.lots))
    const row = `{"id":${fill.id},"price":"${price}","qty":"${sizeText(market, fill.lots)}","quoteQty":"${quote}","time":${trade.timeMs},"isBuyerMaker":${!trade.takerBuys}`
    return market.venue === 'spot' ? `${row},"isBestMatch":true}` : `${row}}`
  })
}

export function levelsText(market: Market, levels: readonly Level[]): string {
  return `[${levels.map(([price, lots]) => `["${priceText(market, price)}","${sizeText(market, lots)}"]`).join(',')}]`
}

/** Best bid and ask of a book as text: [bid, bid size, ask, ask size]. */
export function touchText(market: Market, state: BookState): [string, string, string, string] {
  const [bid, bidLots] = state.bids[0] ?? [0, 0]
  const [ask, askLots] = state.asks[0] ?? [0, 0]
  return [
    priceText(market, bid),
    sizeText(market, bidLots),
    priceText(market, ask),
    sizeText(market, askLots),
  ]
}

export function forceOrderEvent(market: Market, row: Liquidation, eventMs: number): string {
  return (
    `{"e":"forceOrder","E":${eventMs},"o":{"s":"${market.name}","S":"${row.side}","o":"LIMIT","f":"IOC",` +
    `"q":"${sizeText(market, row.lots)}","p":"${priceText(market, row.price)}","ap":"${priceText(market, row.averagePrice)}",` +
    `"X":"FILLED","l":"${sizeText(market, row.lastLots)}","z":"${sizeText(market, row.lots)}","T":${row.timeMs},` +
    `"ps":"${market.name}","st":1}}`
  )
}
