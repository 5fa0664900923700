/**
 * The venue's stream. A subscription (sid) is one channel with its markets; its numbered frames share one
 * counter over all of them. Each market of a subscription remembers the slot that was last told, so a book that
 * was frozen catches up with the difference.
 */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../kit/clock.ts'
import { createSocketServer, type Session, type Socket, type SocketServer } from '../server/sockets.ts'
import { startTicker } from '../server/ticker.ts'
import type { Life } from '../world/life.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import { createBookText } from './book-text.ts'
import { createLifecycle } from './lifecycle.ts'
import type { createSignatureCheck } from './sign.ts'
import { contracts, dollars } from './text.ts'
import { openInterestOf, slotAt, takerOf, topOf, tradeIdOf, type Venue, volumeUntil } from './view.ts'

export const SOCKET_PATH = '/trade-api/ws/v2'
const CHANNELS = ['orderbook_delta', 'ticker', 'trade', 'market_lifecycle_v2'] as const
type Channel = (typeof CHANNELS)[number]
const PING_MS = 10_000
const MAX_MARKETS_PER_SID = 1_000

const ERRORS: Record<number, string> = {
  1: 'Unable to process message',
  2: 'Params required',
  3: 'Channels required',
  4: 'Subscription IDs required',
  5: 'Unknown command',
  6: 'Already subscribed',
  7: 'Unknown subscription ID',
  8: 'Unknown channel name',
  12: 'Exactly one subscription ID is required',
  13: 'Unsupported action',
  14: 'Market ticker required',
  15: 'Action required',
  16: 'Market not found',
  26: 'Market limit exceeded',
}

interface Subscription {
  readonly sid: number
  readonly channel: Channel
  readonly useYesPrice: boolean
  seq: number
  /** ticker → what was told last. */
  readonly markets: Map<string, Told>
}

interface Told {
  readonly market: StrikeMarket
  readonly life: Life
  slot: number | undefined
  /** Nothing happens in this market before. */
  quietUntilMs: number
}

interface Client {
  readonly socket: Socket
  readonly subscriptions: Map<number, Subscription>
  nextSid: number
}

interface Params {
  channels?: unknown
  market_ticker?: unknown
  market_tickers?: unknown
  sids?: unknown
  sid?: unknown
  action?: unknown
  use_yes_price?: unknown
  send_initial_snapshot?: unknown
}

export function createKalshiSocket(options: {
  venue: Venue
  clock: Clock
  signal: AbortSignal
  tickMs: number
  maxConnections: number
  check: ReturnType<typeof createSignatureCheck>
}): SocketServer {
  const { venue } = options
  const { faults } = venue
  const clients = new Set<Client>()
  const lifecycle = createLifecycle(venue)
  const books = createBookText()

  function publish(
    client: Client,
    channel: string,
    market: StrikeMarket,
    text: string,
    isMarket = true,
  ): void {
    client.socket.publish({ channel, symbol: market.event.series.symbol, text, isMarket })
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
    publish(client, type, market, `{"type":"${type}","sid":${subscription.sid},"seq":${seq},"msg":${body}}`)
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
    // A book that was silent for long catches up in one step.
    const isFar = target - from > 600
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

  function produce(_fromMs: number, toMs: number): void {
    const hears = [...clients].some((client) =>
      [...client.subscriptions.values()].some((one) => one.channel === 'market_lifecycle_v2'),
    )
    const wide = lifecycle.until(toMs, hears)
    for (const client of clients)
      for (const subscription of client.subscriptions.values()) {
        if (subscription.channel === 'market_lifecycle_v2') {
          for (const { market, msg } of wide)
            publish(
              client,
              'market_lifecycle_v2',
              market,
              JSON.stringify({ type: 'market_lifecycle_v2', sid: subscription.sid, msg }),
              false,
            )
          continue
        }
        for (const told of subscription.markets.values()) tell(client, subscription, told, toMs)
      }
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

  function open(socket: Socket): Session {
    const client: Client = { socket, subscriptions: new Map(), nextSid: 1 }
    clients.add(client)
    const say = (value: unknown) => socket.say(JSON.stringify(value))
    const fail = (id: unknown, code: number, more: object = {}) =>
      say({ type: 'error', ...(id === undefined ? {} : { id }), msg: { code, msg: ERRORS[code], ...more } })

    const tickersOf = (params: Params): string[] =>
      [params.market_ticker, ...(Array.isArray(params.market_tickers) ? params.market_tickers : [])].filter(
        (one) => typeof one === 'string',
      )

    /** The named markets, or undefined after an error was told. */
    function findMarkets(id: unknown, params: Params): StrikeMarket[] | undefined {
      const found: StrikeMarket[] = []
      for (const ticker of tickersOf(params)) {
        const market = venue.world.strikes.market(ticker)
        if (market === undefined || market.event.createdMs > venue.now()) {
          fail(id, 16, { market_ticker: ticker })
          return undefined
        }
        found.push(market)
      }
      return found
    }

    function subscribe(id: unknown, params: Params): void {
      if (!Array.isArray(params.channels) || params.channels.length === 0) return void fail(id, 3)
      for (const name of params.channels) {
        const channel = CHANNELS.find((known) => known === name)
        if (channel === undefined) {
          fail(id, 8)
          continue
        }
        if (
          [...client.subscriptions.values()].some(
            (known) => known.channel === channel && channel === 'market_lifecycle_v2',
          )
        ) {
          fail(id, 6)
          continue
        }
        const markets = findMarkets(id, params)
        if (markets === undefined) return
        if (markets.length === 0 && channel === 'orderbook_delta') {
          fail(id, 14)
          continue
        }
        if (markets.length > MAX_MARKETS_PER_SID) return void fail(id, 26)
        const subscription: Subscription = {
          sid: client.nextSid++,
          channel,
          useYesPrice: params.use_yes_price === true,
          seq: 0,
          markets: new Map(),
        }
        client.subscriptions.set(subscription.sid, subscription)
        say({ type: 'subscribed', id, msg: { channel, sid: subscription.sid } })
        add(subscription, markets, params.send_initial_snapshot === true)
      }
    }

    function add(subscription: Subscription, markets: readonly StrikeMarket[], wantsTicker: boolean): void {
      for (const market of markets) {
        if (subscription.markets.has(market.ticker)) continue
        const life = venue.world.lifeOfStrike(market)
        const told: Told = { market, life, slot: presentSlot(market, life), quietUntilMs: 0 }
        subscription.markets.set(market.ticker, told)
        if (subscription.channel === 'orderbook_delta') sendSnapshot(client, subscription, told)
        else if (subscription.channel === 'ticker' && wantsTicker && told.slot !== undefined)
          publish(client, 'ticker', market, tickerText(subscription, told, told.slot))
      }
    }

    function update(id: unknown, params: Params): void {
      const sids = Array.isArray(params.sids) ? params.sids : params.sid === undefined ? [] : [params.sid]
      if (sids.length !== 1) return void fail(id, 12)
      const subscription = client.subscriptions.get(Number(sids[0]))
      if (subscription === undefined) return void fail(id, 7)
      if (params.action === undefined) return void fail(id, 15)
      if (!['add_markets', 'delete_markets', 'get_snapshot'].includes(String(params.action)))
        return void fail(id, 13)
      const markets = findMarkets(id, params)
      if (markets === undefined) return
      if (markets.length === 0) return void fail(id, 14)
      if (subscription.markets.size + markets.length > MAX_MARKETS_PER_SID) return void fail(id, 26)
      if (params.action === 'delete_markets')
        for (const market of markets) subscription.markets.delete(market.ticker)
      if (params.action === 'get_snapshot') {
        for (const market of markets) {
          const told = subscription.markets.get(market.ticker)
          if (told !== undefined) sendSnapshot(client, subscription, told)
        }
        return
      }
      if (params.action === 'add_markets') add(subscription, markets, params.send_initial_snapshot === true)
      say({
        type: 'ok',
        id,
        sid: subscription.sid,
        seq: ++subscription.seq,
        msg: { market_tickers: [...subscription.markets.keys()] },
      })
    }

    function unsubscribe(id: unknown, params: Params): void {
      if (!Array.isArray(params.sids) || params.sids.length === 0) return void fail(id, 4)
      for (const sid of params.sids) {
        const subscription = client.subscriptions.get(Number(sid))
        if (subscription === undefined) {
          fail(id, 7)
          continue
        }
        client.subscriptions.delete(subscription.sid)
        say({ type: 'unsubscribed', id, sid: subscription.sid, seq: ++subscription.seq })
      }
    }

    return {
      receive(text) {
        const message = parse(text)
        if (message === undefined) return fail(undefined, 1)
        const { id, cmd } = message
        if (cmd === 'list_subscriptions')
          return say({
            type: 'ok',
            id,
            msg: [...client.subscriptions.values()].map(({ channel, sid }) => ({ channel, sid })),
          })
        if (cmd !== 'subscribe' && cmd !== 'unsubscribe' && cmd !== 'update_subscription') return fail(id, 5)
        const params = message.params as Params | undefined
        if (typeof params !== 'object' || params === null) return fail(id, 2)
        if (cmd === 'subscribe') subscribe(id, params)
        else if (cmd === 'unsubscribe') unsubscribe(id, params)
        else update(id, params)
      },
      closed: () => void clients.delete(client),
    }
  }

  const server = createSocketServer({
    venue: 'kalshi',
    clock: options.clock,
    faults,
    signal: options.signal,
    paths: [SOCKET_PATH],
    maxConnections: options.maxConnections,
    pingEveryMs: PING_MS,
    pingBody: 'heartbeat',
    authorize: (request: IncomingMessage) =>
      options.check(request.headers, 'GET', SOCKET_PATH) === undefined ? undefined : '401 Unauthorized',
    open,
  })
  startTicker({ clock: options.clock, signal: options.signal, tickMs: options.tickMs, produce })
  return server
}

function parse(text: string): { id?: unknown; cmd?: unknown; params?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
