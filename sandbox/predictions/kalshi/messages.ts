/** The messages of the stream, as pure functions of market and slot. */
import type { LevelChange } from '../world/book-changes.ts'
import { LEVELS, type Life, type MarketTrade } from '../world/life.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import {
  contracts,
  dollars,
  isoMicros,
  openInterestOf,
  takerOf,
  topOf,
  tradeIdOf,
  volumeUntil,
} from './payloads.ts'

export const tradeMessage = (market: StrikeMarket, trade: MarketTrade) => ({
  trade_id: tradeIdOf(market, trade),
  market_ticker: market.ticker,
  yes_price_dollars: dollars(trade.price),
  no_price_dollars: dollars(1_000 - trade.price),
  count_fp: contracts(trade.size),
  ...takerOf(trade),
  is_block_trade: false,
  ts: Math.floor(trade.timeMs / 1_000),
  ts_ms: trade.timeMs,
})

export const isSameTop = (life: Life, from: number, to: number): boolean =>
  life.bid(from) === life.bid(to) && life.ask(from) === life.ask(to)

export function tickerMessage(market: StrikeMarket, life: Life, slot: number) {
  const top = topOf(life, slot)
  const last = life.trade(life.tradesUntil(slot) - 1)
  const volume = volumeUntil(life, slot)
  const timeMs = life.timeOf(slot)
  return {
    market_id: market.id,
    market_ticker: market.ticker,
    price_dollars: dollars(last?.price ?? 0),
    yes_bid_dollars: dollars(top.bid),
    yes_ask_dollars: dollars(top.ask),
    volume_fp: contracts(volume),
    open_interest_fp: contracts(openInterestOf(volume)),
    dollar_volume: Math.floor(volume / 200),
    dollar_open_interest: Math.floor(openInterestOf(volume) / 200),
    yes_bid_size_fp: contracts(top.bidSize),
    yes_ask_size_fp: contracts(top.askSize),
    last_trade_size_fp: contracts(last?.size ?? 0),
    ts: Math.floor(timeMs / 1_000),
    ts_ms: timeMs,
    time: new Date(timeMs).toISOString(),
  }
}

const bids = new Int32Array(LEVELS)
const asks = new Int32Array(LEVELS)

/** Worst level first, in each side's own prices. An empty side is omitted. */
export function snapshotMessage(
  market: StrikeMarket,
  life: Life,
  slot: number | undefined,
  useYesPrice: boolean,
) {
  const yes: [string, string][] = []
  const no: [string, string][] = []
  if (slot !== undefined) life.fill(slot, bids, asks)
  for (let price = 1; slot !== undefined && price < 1_000; price++) {
    if (bids[price] !== 0) yes.push([dollars(price), contracts(bids[price] as number)])
    const size = asks[1_000 - price] as number
    if (size !== 0) no.push([dollars(useYesPrice ? 1_000 - price : price), contracts(size)])
  }
  return {
    market_ticker: market.ticker,
    market_id: market.id,
    ...(yes.length === 0 ? {} : { yes_dollars_fp: yes }),
    ...(no.length === 0 ? {} : { no_dollars_fp: no }),
  }
}

interface Delta {
  readonly price: number
  readonly change: number
  readonly side: 'yes' | 'no'
}

/** A change of the yes book; its asks are bids for no. */
export const deltaOf = ({ isBid, price, before, size }: LevelChange, useYesPrice: boolean): Delta => ({
  price: isBid || useYesPrice ? price : 1_000 - price,
  change: size - before,
  side: isBid ? 'yes' : 'no',
})

/** The time of a change, in the form that messages use. */
interface Moment {
  readonly ts: string
  readonly ts_ms: number
}

export const momentOf = (timeMs: number): Moment => ({ ts: isoMicros(timeMs), ts_ms: timeMs })

/** As JSON text, because deltas are most of what is sent. */
export const deltaText = (
  { ticker, id }: StrikeMarket,
  { price, change, side }: Delta,
  moment: Moment,
): string =>
  `{"market_ticker":"${ticker}","market_id":"${id}","price_dollars":"${dollars(price)}"` +
  `,"delta_fp":"${contracts(change)}","side":"${side}","ts":"${moment.ts}","ts_ms":${moment.ts_ms}}`
