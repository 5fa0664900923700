/** What a client may ask for, and the venue's words for what it may not. */
import type { Session } from '../server/sockets.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import { CHANNELS, type Client, type Subscription, type Teller } from './teller.ts'
import type { Venue } from './view.ts'

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

export function openSession(options: {
  venue: Venue
  client: Client
  teller: Teller
  closed: () => void
}): Session {
  const { venue, client, teller, closed } = options
  const { socket } = client
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
    for (const market of markets)
      if (!subscription.markets.has(market.ticker)) teller.add(client, subscription, market, wantsTicker)
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
        if (told !== undefined) teller.sendSnapshot(client, subscription, told)
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
    closed,
  }
}

function parse(text: string): { id?: unknown; cmd?: unknown; params?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
