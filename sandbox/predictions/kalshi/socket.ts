/** The venue's stream: signed connections, and the commands that a client may send. */
import { parseObject } from '../../server/json.ts'
import { createSockets, type Session, type Sockets } from '../../server/sockets.ts'
import { startTicks } from '../../server/ticks.ts'
import type { PredictionVenue } from '../venue.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import { type Client, type KalshiSubscription, Publisher, type PublisherOptions } from './publisher.ts'
import type { SignatureCheck } from './sign.ts'

export const SOCKET_PATH = '/trade-api/ws/v2'
const PING_MS = 10_000
const MAX_MARKETS_PER_SID = 1_000
const CHANNELS = ['orderbook_delta', 'ticker', 'trade'] as const

const ERRORS: Record<number, string> = {
  1: 'Unable to process message',
  2: 'Params required',
  3: 'Channels required',
  4: 'Subscription IDs required',
  5: 'Unknown command',
  7: 'Unknown subscription ID',
  8: 'Unknown channel name',
  12: 'Exactly one subscription ID is required',
  13: 'Unsupported action',
  14: 'Market ticker required',
  15: 'Action required',
  16: 'Market not found',
  26: 'Market limit exceeded',
}

export function createKalshiSocket(
  options: PublisherOptions & { maxConnections: number; check: SignatureCheck },
): Sockets {
  const { venue, clock, signal } = options
  const { faults } = venue
  const publisher = new Publisher(options)
  const sockets = createSockets({
    ...{ venue: 'kalshi', clock, faults, signal },
    rules: { pingEveryMs: PING_MS, pingBody: () => 'heartbeat', maxConnections: options.maxConnections },
    refusal({ url, headers }) {
      if (url.pathname !== SOCKET_PATH) return '404 Not Found'
      const isGood =
        options.check(headers, 'GET', SOCKET_PATH) === undefined &&
        faults.hit('rejected-key', 'kalshi', { channel: '' }) === undefined
      return isGood ? undefined : '401 Unauthorized'
    },
    open: (socket) => openSession(venue, publisher, publisher.connect(socket)),
  })
  startTicks(options, { now: venue.now, produce: (_fromMs, toMs) => publisher.publish(toMs) })
  return sockets
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

class CommandError extends Error {
  readonly code: number
  readonly details: object
  constructor(code: number, details: object = {}) {
    super(ERRORS[code])
    this.code = code
    this.details = details
  }
}

function openSession(venue: PredictionVenue, publisher: Publisher, client: Client): Session {
  const { socket } = client
  const reply = (value: unknown) => socket.reply(JSON.stringify(value))
  const fail = (id: unknown, { code, message, details }: CommandError) =>
    reply({ type: 'error', ...(id === undefined ? {} : { id }), msg: { code, msg: message, ...details } })

  function findMarkets(params: Params): StrikeMarket[] {
    const tickers = [
      params.market_ticker,
      ...(Array.isArray(params.market_tickers) ? params.market_tickers : []),
    ].filter((one) => typeof one === 'string')
    return tickers.map((ticker) => {
      const market = venue.world.strikes.market(ticker)
      if (market === undefined || market.event.createdMs > venue.now())
        throw new CommandError(16, { market_ticker: ticker })
      return market
    })
  }

  function subscribe(id: unknown, params: Params): void {
    if (!Array.isArray(params.channels) || params.channels.length === 0) throw new CommandError(3)
    for (const name of params.channels) {
      const channel = CHANNELS.find((known) => known === name)
      if (channel === undefined) {
        fail(id, new CommandError(8))
        continue
      }
      const markets = findMarkets(params)
      if (markets.length === 0 && channel === 'orderbook_delta') {
        fail(id, new CommandError(14))
        continue
      }
      if (markets.length > MAX_MARKETS_PER_SID) throw new CommandError(26)
      const useYesPrice = params.use_yes_price === true
      const subscription = publisher.subscribe(client, channel, useYesPrice)
      reply({ type: 'subscribed', id, msg: { channel, sid: subscription.sid } })
      add(subscription, markets, params)
    }
  }

  function add(subscription: KalshiSubscription, markets: readonly StrikeMarket[], params: Params): void {
    for (const market of markets)
      if (!subscription.markets.has(market.ticker))
        publisher.add(subscription, market, params.send_initial_snapshot === true)
  }

  function update(id: unknown, params: Params): void {
    const sids = Array.isArray(params.sids) ? params.sids : params.sid === undefined ? [] : [params.sid]
    if (sids.length !== 1) throw new CommandError(12)
    const subscription = client.subscriptions.get(Number(sids[0]))
    if (subscription === undefined) throw new CommandError(7)
    const { action } = params
    if (action === undefined) throw new CommandError(15)
    if (action !== 'add_markets' && action !== 'delete_markets' && action !== 'get_snapshot')
      throw new CommandError(13)
    const markets = findMarkets(params)
    if (markets.length === 0) throw new CommandError(14)
    if (subscription.markets.size + markets.length > MAX_MARKETS_PER_SID) throw new CommandError(26)
    if (action === 'get_snapshot') {
      for (const { ticker } of markets) publisher.sendSnapshot(subscription, ticker)
      return
    }
    if (action === 'add_markets') add(subscription, markets, params)
    else for (const { ticker } of markets) subscription.markets.delete(ticker)
    const msg = { market_tickers: subscription.markets.tickers() }
    reply({ type: 'ok', id, sid: subscription.sid, seq: ++subscription.seq, msg })
  }

  function unsubscribe(id: unknown, params: Params): void {
    if (!Array.isArray(params.sids) || params.sids.length === 0) throw new CommandError(4)
    for (const sid of params.sids) {
      const subscription = client.subscriptions.get(Number(sid))
      if (subscription === undefined) {
        fail(id, new CommandError(7))
        continue
      }
      client.subscriptions.delete(subscription.sid)
      reply({ type: 'unsubscribed', id, sid: subscription.sid, seq: ++subscription.seq })
    }
  }

  const commands: Record<string, (id: unknown, params: Params) => void> = {
    subscribe,
    unsubscribe,
    update_subscription: update,
  }
  return {
    receive(text) {
      const message = parseObject(text)
      if (message === undefined) return fail(undefined, new CommandError(1))
      const { id, cmd, params } = message
      try {
        const command = typeof cmd === 'string' && Object.hasOwn(commands, cmd) ? commands[cmd] : undefined
        if (command === undefined) throw new CommandError(5)
        if (typeof params !== 'object' || params === null) throw new CommandError(2)
        command(id, params)
      } catch (error) {
        if (!(error instanceof CommandError)) throw error
        fail(id, error)
      }
    },
    closed: () => publisher.disconnect(client),
  }
}
