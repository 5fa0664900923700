/**
 * What a client is told. A subscription (sid) is one channel with its markets; its numbered frames share one
 * counter over all of them. Each market of a subscription remembers the slot that was last told, so a book that
 * was frozen catches up with the difference.
 */
import type { Socket } from '../server/sockets.ts'
import type { Life } from '../world/life.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import { createBookText } from './book-text.ts'
import { contracts, dollars } from './text.ts'
import { openInterestOf, slotAt, takerOf, topOf, tradeIdOf, type Venue, volumeUntil } from './view.ts'

export const CHANNELS = ['orderbook_delta', 'ticker', 'trade', 'market_lifecycle_v2'] as const
export type Channel = (typeof CHANNELS)[number]

export interface Subscription {
  readonly sid: number
  readonly channel: Channel
  readonly useYesPrice: boolean
  seq: number
  /** ticker → what was told last. */
  readonly markets: Map<string, Told>
}

export interface Told {
  readonly market: StrikeMarket
  readonly life: Life
  slot: number | undefined
  /** Nothing happens in this market before. */
  quietUntilMs: number
}

export interface Client {
  readonly socket: Socket
  readonly subscriptions: Map<number, Subscription>
  nextSid: number
}

export interface Teller {
  /** Puts a market on a subscription, with its first frame. */
  add(client: Client, subscription: Subscription, market: StrikeMarket, wantsTicker: boolean): void
  sendSnapshot(client: Client, subscription: Subscription, told: Told): void
  /** Everything that happened in a market up to a time. */
  tell(client: Client, subscription: Subscription, told: Told, toMs: number): void
}

/** A book that was silent for so many slots catches up in one step. */
const FAR_SLOTS = 600

export function createTeller(venue: Venue): Teller {
  const { faults } = venue
  const books = createBookText()

  function publish(client: Client, channel: string, market: StrikeMarket, text: string): void {
    client.socket.publish({ channel, symbol: market.event.series.symbol, text, isMarket: true })
  }
  /** Frames with a number: a lost one leaves a hole. */
  function numbered(
    client: Client,
    subscription: Subscription,
    type: string,
    market: StrikeMarket,
    body: string,
  ): void {
    const seq = ++subscription.seq
    const symbol = market.event.series.symbol
    if (faults.hit('sequence-gap', 'kalshi', { channel: type, symbol })) return
    const isWrong =
      type === 'orderbook_delta' && faults.hit('wrong-shape', 'kalshi', { channel: type, symbol })
    const msg = isWrong ? body.replace('"price_dollars":', '"price":') : body
    publish(client, type, market, `{"type":"${type}","sid":${subscription.sid},"seq":${seq},"msg":${msg}}`)
  }

  const presentSlot = (market: StrikeMarket, life: Life): number | undefined => {
    const nowMs = venue.now()
    return nowMs < market.event.closeMs ? slotAt(life, nowMs) : undefined
  }

  /** The book as it was told so far: the changes since then follow. */
  function sendSnapshot(client: Client, subscription: Subscription, told: Told): void {
    const present = presentSlot(told.market, told.life)
    told.slot = present === undefined ? undefined : (told.slot ?? present)
    const body = books.snapshot(told.market, told.life, told.slot, subscription.useYesPrice)
    numbered(client, subscription, 'orderbook_snapshot', told.market, body)
  }

  function tickerText(subscription: Subscription, { market, life }: Told, slot: number): string {
    const top = topOf(life, slot)
    const last = life.prints[life.printsUntil(slot) - 1]
    const volume = volumeUntil(life, slot)
    const timeMs = life.timeOf(slot)
    return JSON.stringify({
      type: 'ticker',
      sid: subscription.sid,
      msg: {
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
      },
    })
  }

  function tellBook(client: Client, subscription: Subscription, told: Told, target: number): void {
    const { market, life } = told
    if (told.slot === undefined) return void sendSnapshot(client, subscription, told)
    const from = told.slot
    told.slot = target
    const isFar = target - from > FAR_SLOTS
    for (let slot = isFar ? target : from + 1; slot <= target; slot++)
      for (const body of books.deltas(market, life, isFar ? from : slot - 1, slot, subscription.useYesPrice))
        numbered(client, subscription, 'orderbook_delta', market, body)
    if (
      target > from &&
      faults.hit('crossed-book', 'kalshi', { channel: 'orderbook_delta', symbol: market.event.series.symbol })
    )
      numbered(client, subscription, 'orderbook_delta', market, books.crossing(market, life, target))
  }

  function tellTrades(client: Client, subscription: Subscription, told: Told, target: number): void {
    const { market, life } = told
    const from = told.slot ?? target
    told.slot = target
    for (const print of life.prints.slice(life.printsUntil(from), life.printsUntil(target)))
      publish(
        client,
        'trade',
        market,
        JSON.stringify({
          type: 'trade',
          sid: subscription.sid,
          msg: {
            trade_id: tradeIdOf(market, print),
            market_ticker: market.ticker,
            yes_price_dollars: dollars(print.price),
            no_price_dollars: dollars(1_000 - print.price),
            count_fp: contracts(print.size),
            ...takerOf(print),
            is_block_trade: false,
            ts: Math.floor(print.timeMs / 1_000),
            ts_ms: print.timeMs,
          },
        }),
      )
  }

  function tellTicker(client: Client, subscription: Subscription, told: Told, target: number): void {
    const { life } = told
    const from = told.slot
    told.slot = target
    if (from !== undefined) {
      const isSame =
        life.bid(from) === life.bid(target) &&
        life.ask(from) === life.ask(target) &&
        life.printsUntil(from) === life.printsUntil(target)
      if (isSame) return
    }
    publish(client, 'ticker', told.market, tickerText(subscription, told, target))
  }

  function tell(client: Client, subscription: Subscription, told: Told, toMs: number): void {
    if (toMs < told.quietUntilMs) return
    const { market, life } = told
    const target = slotAt(life, Math.min(toMs, market.event.closeMs - 1))
    if (target === undefined || target === told.slot) {
      told.quietUntilMs = toMs < market.event.openMs ? market.event.openMs : life.timeOf((target ?? -1) + 1)
      return
    }
    const about = { channel: subscription.channel, symbol: market.event.series.symbol }
    if (faults.hit('frozen-book', 'kalshi', about)) return
    if (subscription.channel === 'orderbook_delta') tellBook(client, subscription, told, target)
    else if (subscription.channel === 'trade') tellTrades(client, subscription, told, target)
    else tellTicker(client, subscription, told, target)
    told.quietUntilMs = life.timeOf(target + 1)
  }

  return {
    sendSnapshot,
    tell,
    add(client, subscription, market, wantsTicker) {
      const life = venue.world.lifeOfStrike(market)
      const told: Told = { market, life, slot: presentSlot(market, life), quietUntilMs: 0 }
      subscription.markets.set(market.ticker, told)
      if (subscription.channel === 'orderbook_delta') sendSnapshot(client, subscription, told)
      else if (subscription.channel === 'ticker' && wantsTicker && told.slot !== undefined)
        publish(client, 'ticker', market, tickerText(subscription, told, told.slot))
    },
  }
}
