/**
 * What is sent to the clients of the stream. A subscription (sid) is one channel with its markets; its numbered frames
 * share one counter over all of them. Each market of a subscription remembers the slot that was last sent, so a book
 * that was frozen catches up with the difference.
 */
import { createFrameFaults, type Deliver, type VenueFrame } from '../../server/frame-faults.ts'
import type { VenueSocket } from '../../server/sockets.ts'
import type { Ticks } from '../../server/ticks.ts'
import type { PredictionVenue } from '../venue.ts'
import { LEVELS, type Life } from '../world/life.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import {
  contracts,
  dollars,
  isoMicros,
  openInterestOf,
  slotAt,
  takerOf,
  topOf,
  tradeIdOf,
  volumeUntil,
} from './payloads.ts'

type KalshiChannel = 'orderbook_delta' | 'ticker' | 'trade'

export interface KalshiSubscription {
  readonly sid: number
  readonly channel: KalshiChannel
  readonly useYesPrice: boolean
  seq: number
  /** By ticker. */
  readonly markets: Map<string, SentMarket>
}

interface SentMarket {
  readonly market: StrikeMarket
  readonly life: Life
  /** The slot sent last. */
  slot: number | undefined
  /** Before this slot no size of the book changes, unless its top moves. */
  nextDraw: number
  /** Nothing happens in this market before. */
  quietUntilMs: number
}

export interface Client {
  readonly socket: VenueSocket
  readonly subscriptions: Map<number, KalshiSubscription>
  nextSid: number
  readonly publish: Deliver<VenueFrame>
}

export interface Publisher {
  connect(socket: VenueSocket): Client
  disconnect(client: Client): void
  subscribe(client: Client, channel: KalshiChannel, useYesPrice: boolean): KalshiSubscription
  /** Puts a market on a subscription, with its first frame. */
  add(client: Client, subscription: KalshiSubscription, market: StrikeMarket, wantsTicker: boolean): void
  /** The book as it was sent so far: the changes since then follow. */
  sendSnapshot(client: Client, subscription: KalshiSubscription, ticker: string): void
  /** Everything that happened up to a time. */
  publish(toMs: number): void
}

/** A book that was silent for so many slots catches up in one step. */
const FAR_SLOTS = 600
const CROSSING_SIZE = 7_700

export function createPublisher(options: Ticks & { venue: PredictionVenue }): Publisher {
  const { venue } = options
  const { faults } = venue
  const clients = new Set<Client>()

  function send(client: Client, channel: string, market: StrikeMarket, text: string): void {
    client.publish({ channel, symbol: market.event.series.symbol, text, isMarket: true })
  }
  /** Frames with a number: a lost one leaves a gap. */
  function sendNumbered(
    client: Client,
    subscription: KalshiSubscription,
    type: string,
    market: StrikeMarket,
    body: object,
  ): void {
    const seq = ++subscription.seq
    const symbol = market.event.series.symbol
    if (faults.hit('sequence-gap', 'kalshi', { channel: type, symbol })) return
    const isWrong =
      type === 'orderbook_delta' && faults.hit('wrong-shape', 'kalshi', { channel: type, symbol })
    const text = JSON.stringify({ type, sid: subscription.sid, seq, msg: body })
    send(client, type, market, isWrong ? text.replace('"price_dollars":', '"price":') : text)
  }

  const presentSlot = (market: StrikeMarket, life: Life): number | undefined => {
    const nowMs = venue.now()
    return nowMs < market.event.closeMs ? slotAt(life, nowMs) : undefined
  }

  function sendSnapshot(client: Client, subscription: KalshiSubscription, sent: SentMarket): void {
    const present = presentSlot(sent.market, sent.life)
    sent.slot = present === undefined ? undefined : (sent.slot ?? present)
    const body = snapshotOf(sent.market, sent.life, sent.slot, subscription.useYesPrice)
    sendNumbered(client, subscription, 'orderbook_snapshot', sent.market, body)
  }

  function sendBook(
    client: Client,
    subscription: KalshiSubscription,
    sent: SentMarket,
    target: number,
  ): void {
    const { market, life } = sent
    if (sent.slot === undefined) return void sendSnapshot(client, subscription, sent)
    const from = sent.slot
    sent.slot = target
    const isFar = target - from > FAR_SLOTS
    for (let slot = isFar ? target : from + 1; slot <= target; slot++) {
      const before = isFar ? from : slot - 1
      if (slot < sent.nextDraw && isSameTop(life, before, slot)) continue
      const changes = changesOf(market, life, before, slot, subscription.useYesPrice)
      sent.nextDraw = changes.nextDraw
      for (const body of changes.deltas) sendNumbered(client, subscription, 'orderbook_delta', market, body)
    }
    const about = { channel: 'orderbook_delta', symbol: market.event.series.symbol }
    if (target > from && faults.hit('crossed-book', 'kalshi', about)) {
      const price = Math.min(990, life.ask(target))
      const body = deltaOf(market, { price, change: CROSSING_SIZE, side: 'yes', timeMs: life.timeOf(target) })
      sendNumbered(client, subscription, 'orderbook_delta', market, body)
    }
  }

  function sendTrades(
    client: Client,
    subscription: KalshiSubscription,
    sent: SentMarket,
    target: number,
  ): void {
    const { market, life } = sent
    const from = sent.slot ?? target
    sent.slot = target
    for (const trade of life.trades(life.tradesUntil(from), life.tradesUntil(target))) {
      const msg = {
        trade_id: tradeIdOf(market, trade),
        market_ticker: market.ticker,
        yes_price_dollars: dollars(trade.price),
        no_price_dollars: dollars(1_000 - trade.price),
        count_fp: contracts(trade.size),
        ...takerOf(trade),
        is_block_trade: false,
        ts: Math.floor(trade.timeMs / 1_000),
        ts_ms: trade.timeMs,
      }
      send(client, 'trade', market, JSON.stringify({ type: 'trade', sid: subscription.sid, msg }))
    }
  }

  function sendTicker(
    client: Client,
    subscription: KalshiSubscription,
    sent: SentMarket,
    target: number,
  ): void {
    const { life } = sent
    const from = sent.slot
    sent.slot = target
    const isSame =
      from !== undefined &&
      isSameTop(life, from, target) &&
      life.tradesUntil(from) === life.tradesUntil(target)
    if (!isSame) send(client, 'ticker', sent.market, tickerText(subscription.sid, sent, target))
  }

  function publishMarket(
    client: Client,
    subscription: KalshiSubscription,
    sent: SentMarket,
    toMs: number,
  ): void {
    if (toMs < sent.quietUntilMs) return
    const { market, life } = sent
    const target = slotAt(life, Math.min(toMs, market.event.closeMs - 1))
    if (target === undefined || target === sent.slot) {
      sent.quietUntilMs = toMs < market.event.openMs ? market.event.openMs : life.timeOf((target ?? -1) + 1)
      return
    }
    const about = { channel: subscription.channel, symbol: market.event.series.symbol }
    if (faults.hit('frozen-book', 'kalshi', about)) return
    if (subscription.channel === 'orderbook_delta') sendBook(client, subscription, sent, target)
    else if (subscription.channel === 'trade') sendTrades(client, subscription, sent, target)
    else sendTicker(client, subscription, sent, target)
    sent.quietUntilMs = life.timeOf(target + 1)
  }

  return {
    connect(socket) {
      const deliver = (frame: VenueFrame) => socket.sendData(frame)
      const publish = createFrameFaults({ ...options, venue: 'kalshi', faults, deliver })
      const client: Client = { socket, subscriptions: new Map(), nextSid: 1, publish }
      clients.add(client)
      return client
    },
    disconnect: (client) => void clients.delete(client),
    subscribe(client, channel, useYesPrice) {
      const sid = client.nextSid++
      const subscription: KalshiSubscription = { sid, channel, useYesPrice, seq: 0, markets: new Map() }
      client.subscriptions.set(sid, subscription)
      return subscription
    },
    sendSnapshot(client, subscription, ticker) {
      const sent = subscription.markets.get(ticker)
      if (sent !== undefined) sendSnapshot(client, subscription, sent)
    },
    add(client, subscription, market, wantsTicker) {
      const life = venue.world.lifeOfStrike(market)
      const slot = presentSlot(market, life)
      const sent: SentMarket = { market, life, slot, nextDraw: Number.NEGATIVE_INFINITY, quietUntilMs: 0 }
      subscription.markets.set(market.ticker, sent)
      if (subscription.channel === 'orderbook_delta') sendSnapshot(client, subscription, sent)
      else if (subscription.channel === 'ticker' && wantsTicker && slot !== undefined)
        send(client, 'ticker', market, tickerText(subscription.sid, sent, slot))
    },
    publish(toMs) {
      for (const client of clients) {
        client.socket.hold()
        for (const subscription of client.subscriptions.values())
          for (const sent of subscription.markets.values()) publishMarket(client, subscription, sent, toMs)
        client.socket.release()
      }
    },
  }
}

const isSameTop = (life: Life, from: number, to: number): boolean =>
  life.bid(from) === life.bid(to) && life.ask(from) === life.ask(to)

function tickerText(sid: number, { market, life }: SentMarket, slot: number): string {
  const top = topOf(life, slot)
  const last = life.trade(life.tradesUntil(slot) - 1)
  const volume = volumeUntil(life, slot)
  const timeMs = life.timeOf(slot)
  return JSON.stringify({
    type: 'ticker',
    sid,
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

const [oldBids, oldAsks, bids, asks] = [0, 1, 2, 3].map(() => new Int32Array(LEVELS)) as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
]

/** Worst level first on each side's own scale. An empty side is left out. */
function snapshotOf(market: StrikeMarket, life: Life, slot: number | undefined, useYesPrice: boolean) {
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

interface LevelChange {
  readonly price: number
  readonly change: number
  readonly side: 'yes' | 'no'
  readonly timeMs: number
}

const deltaOf = (market: StrikeMarket, { price, change, side, timeMs }: LevelChange) => ({
  market_ticker: market.ticker,
  market_id: market.id,
  price_dollars: dollars(price),
  delta_fp: contracts(change),
  side,
  ts: isoMicros(timeMs),
  ts_ms: timeMs,
})

/** One message per level that differs between two slots, removals first. */
function changesOf(
  market: StrikeMarket,
  life: Life,
  from: number,
  to: number,
  useYesPrice: boolean,
): { deltas: object[]; nextDraw: number } {
  life.fill(from, oldBids, oldAsks)
  const nextDraw = life.fill(to, bids, asks)
  const timeMs = life.timeOf(to)
  const removed: object[] = []
  const rest: object[] = []
  for (let price = 1; price < 1_000; price++) {
    const [oldBid, bid] = [oldBids[price] as number, bids[price] as number]
    if (oldBid !== bid)
      (bid === 0 ? removed : rest).push(deltaOf(market, { price, change: bid - oldBid, side: 'yes', timeMs }))
    const [oldAsk, ask] = [oldAsks[price] as number, asks[price] as number]
    if (oldAsk !== ask)
      (ask === 0 ? removed : rest).push(
        deltaOf(market, {
          price: useYesPrice ? price : 1_000 - price,
          change: ask - oldAsk,
          side: 'no',
          timeMs,
        }),
      )
  }
  return { deltas: [...removed, ...rest], nextDraw }
}
