/**
 * Sends the stream to its clients. A subscription (sid) is one channel with its markets; its numbered frames share one
 * counter. Each market of a subscription remembers the last slot sent, so that a frozen book catches up with the
 * difference.
 */
import { createFrameFaults, type Deliver, type VenueFrame } from '../../server/frame-faults.ts'
import type { VenueSocket } from '../../server/sockets.ts'
import type { Ticks } from '../../server/ticks.ts'
import type { PredictionVenue } from '../venue.ts'
import { BookChanges } from '../world/book-changes.ts'
import { LEVELS, type Life } from '../world/life.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import {
  deltaOf,
  deltaText,
  isSameTop,
  momentOf,
  snapshotMessage,
  tickerMessage,
  tradeMessage,
} from './messages.ts'
import { contracts, slotAt } from './payloads.ts'
import { type SentMarket, SentMarkets } from './sent-markets.ts'

type KalshiChannel = 'orderbook_delta' | 'ticker' | 'trade'

export interface KalshiSubscription {
  readonly sid: number
  readonly channel: KalshiChannel
  readonly useYesPrice: boolean
  readonly publish: Deliver<VenueFrame>
  seq: number
  readonly markets: SentMarkets
}

export interface Client {
  readonly socket: VenueSocket
  readonly subscriptions: Map<number, KalshiSubscription>
  nextSid: number
  readonly publish: Deliver<VenueFrame>
}

/** A book that was silent for this many slots catches up in one step. */
const FAR_SLOTS = 600
const CROSSING_SIZE = 7_700

export type PublisherOptions = Ticks & {
  readonly venue: PredictionVenue
  /** Whether trade frames carry numbers. */
  readonly areTradesNumbered: boolean
}

export class Publisher {
  readonly #options: PublisherOptions
  readonly #clients = new Set<Client>()

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  get #faults() {
    return this.#options.venue.faults
  }

  connect(socket: VenueSocket): Client {
    const deliver = (frame: VenueFrame) => socket.sendData(frame)
    const publish = createFrameFaults({
      ...{ ...this.#options, venue: 'kalshi', faults: this.#faults, deliver },
      unknownText: JSON.stringify({ type: 'market_novelty', sid: 1, msg: {} }),
    })
    const client: Client = { socket, subscriptions: new Map(), nextSid: 1, publish }
    this.#clients.add(client)
    return client
  }

  disconnect(client: Client): void {
    this.#clients.delete(client)
  }

  subscribe(client: Client, channel: KalshiChannel, useYesPrice: boolean): KalshiSubscription {
    const sid = client.nextSid++
    const { publish } = client
    const subscription: KalshiSubscription = {
      sid,
      channel,
      useYesPrice,
      publish,
      seq: 0,
      markets: new SentMarkets(),
    }
    client.subscriptions.set(sid, subscription)
    return subscription
  }

  /** Adds a market to a subscription and sends its first frame. */
  add(subscription: KalshiSubscription, market: StrikeMarket, wantsTicker: boolean): void {
    const life = this.#options.venue.world.lifeOfStrike(market)
    const slot = this.#presentSlot(market, life)
    const sent: SentMarket = { market, life, slot }
    subscription.markets.add(sent)
    if (subscription.channel === 'orderbook_delta') this.#sendSnapshot(subscription, sent)
    else if (subscription.channel === 'ticker' && wantsTicker && slot !== undefined)
      send(subscription, 'ticker', market, tickerMessage(market, life, slot))
  }

  /** Sends the book as sent so far; later changes follow. */
  sendSnapshot(subscription: KalshiSubscription, ticker: string): void {
    const sent = subscription.markets.get(ticker)
    if (sent !== undefined) this.#sendSnapshot(subscription, sent)
  }

  /** Publishes everything up to a time. */
  publish(toMs: number): void {
    for (const client of this.#clients)
      for (const subscription of client.subscriptions.values())
        subscription.markets.serveDue(toMs, (sent) => this.#publishMarket(subscription, sent, toMs))
  }

  #presentSlot(market: StrikeMarket, life: Life): number | undefined {
    const nowMs = this.#options.venue.now()
    return nowMs < market.event.closeMs ? slotAt(life, nowMs) : undefined
  }

  /** Returns the time until which nothing happens in the market. */
  #publishMarket(subscription: KalshiSubscription, sent: SentMarket, toMs: number): number {
    const { market, life } = sent
    const target = slotAt(life, Math.min(toMs, market.event.closeMs - 1))
    if (target === undefined || target === sent.slot)
      return toMs < market.event.openMs ? market.event.openMs : life.timeOf((target ?? -1) + 1)
    const about = { channel: subscription.channel, symbol: market.event.series.symbol }
    if (this.#faults.hit('frozen-book', 'kalshi', about)) return toMs
    if (subscription.channel === 'orderbook_delta')
      return life.timeOf(this.#sendBook(subscription, sent, target))
    if (subscription.channel === 'trade') this.#sendTrades(subscription, sent, target)
    else sendTicker(subscription, sent, target)
    const nextTrade = life.nextTrade(target)
    return life.timeOf(
      subscription.channel === 'trade' ? nextTrade : Math.min(nextTrade, life.nextMove(target)),
    )
  }

  #sendSnapshot(subscription: KalshiSubscription, sent: SentMarket): void {
    const present = this.#presentSlot(sent.market, sent.life)
    sent.slot = present === undefined ? undefined : (sent.slot ?? present)
    const body = snapshotMessage(sent.market, sent.life, sent.slot, subscription.useYesPrice)
    this.#sendNumbered(subscription, 'orderbook_snapshot', sent.market, JSON.stringify(body))
  }

  /** Returns the next slot at which the book may change. */
  #sendBook(subscription: KalshiSubscription, sent: SentMarket, target: number): number {
    const { market, life, slot: from } = sent
    if (from === undefined) {
      this.#sendSnapshot(subscription, sent)
      return target + 1
    }
    sent.slot = target
    sent.changes ??= changesFrom(life, from)
    const { changes } = sent
    const isFar = target - from > FAR_SLOTS
    for (let slot = isFar ? target : changes.nextSlot; slot <= target; slot = changes.nextSlot) {
      const deltas = changes.moveTo(slot)
      const moment = momentOf(life.timeOf(slot))
      for (const change of deltas) {
        const body = deltaText(market, deltaOf(change, subscription.useYesPrice), moment)
        this.#sendNumbered(subscription, 'orderbook_delta', market, body)
      }
    }
    const about = { channel: 'orderbook_delta', symbol: market.event.series.symbol }
    // A bid cannot cross if there is no ask.
    const price = life.ask(target)
    if (target > from && price <= 990 && this.#faults.hit('crossed-book', 'kalshi', about)) {
      const change = { price, change: CROSSING_SIZE, side: 'yes' } as const
      const body = deltaText(market, change, momentOf(life.timeOf(target)))
      this.#sendNumbered(subscription, 'orderbook_delta', market, body)
    }
    return changes.nextSlot
  }

  #sendTrades(subscription: KalshiSubscription, sent: SentMarket, target: number): void {
    const { market, life } = sent
    const from = sent.slot ?? target
    sent.slot = target
    for (const trade of life.trades(life.tradesUntil(from), life.tradesUntil(target))) {
      const msg = tradeMessage(market, trade)
      const zeroFill = () =>
        textOf(subscription, 'trade', { ...msg, trade_id: reversed(msg.trade_id), count_fp: contracts(0) })
      if (this.#options.areTradesNumbered)
        this.#sendNumbered(subscription, 'trade', market, JSON.stringify(msg), { zeroFill })
      else sendText(subscription, 'trade', market, textOf(subscription, 'trade', msg), { zeroFill })
    }
  }

  /** Sends a numbered frame; losing one leaves a gap. */
  #sendNumbered(
    subscription: KalshiSubscription,
    type: string,
    market: StrikeMarket,
    msg: string,
    more: Partial<VenueFrame> = {},
  ): void {
    const seq = ++subscription.seq
    const about = { channel: type, symbol: market.event.series.symbol }
    if (this.#faults.hit('sequence-gap', 'kalshi', about)) return
    const isWrong = type === 'orderbook_delta' && this.#faults.hit('wrong-shape', 'kalshi', about)
    const text = `{"type":"${type}","sid":${subscription.sid},"seq":${seq},"msg":${msg}}`
    sendText(subscription, type, market, isWrong ? text.replace('"price_dollars":', '"price":') : text, more)
  }
}

function changesFrom(life: Life, slot: number): BookChanges {
  const changes = new BookChanges(life)
  changes.start(slot, new Int32Array(LEVELS), new Int32Array(LEVELS))
  return changes
}

function sendText(
  subscription: KalshiSubscription,
  channel: string,
  market: StrikeMarket,
  text: string,
  more: Partial<VenueFrame> = {},
): void {
  subscription.publish({ channel, symbol: market.event.series.symbol, text, isMarket: true, ...more })
}

const textOf = ({ sid }: KalshiSubscription, type: string, msg: object): string =>
  JSON.stringify({ type, sid, msg })

function send(subscription: KalshiSubscription, type: string, market: StrikeMarket, msg: object): void {
  sendText(subscription, type, market, textOf(subscription, type, msg))
}

/** Another id of the same form. */
const reversed = (id: string): string => id.replace(/^[0-9a-f]+/, (head) => [...head].reverse().join(''))

function sendTicker(subscription: KalshiSubscription, sent: SentMarket, target: number): void {
  const { market, life, slot: from } = sent
  sent.slot = target
  const isSame =
    from !== undefined && isSameTop(life, from, target) && life.tradesUntil(from) === life.tradesUntil(target)
  if (!isSame) send(subscription, 'ticker', market, tickerMessage(market, life, target))
}
