/** The market stream: subscriptions of tokens, one feed per market for all sockets, and the venue-wide events. */
import { SYMBOLS } from '../../../src/core/symbol.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import { createSocketServer, type Session, type Socket, type SocketServer } from '../server/sockets.ts'
import { startTicker } from '../server/ticker.ts'
import { TENORS, type UpDown } from '../world/up-down.ts'
import type { Leg } from './leg-book.ts'
import { createMarketFeed, type MarketFeed } from './market-feed.ts'
import { closedMsOf, type Venue } from './view.ts'

/** Tokens beyond this on one socket get no first book. */
const MAX_DUMPED_ASSETS = 500
const MAX_ASSETS = 2_000
const LISTING_CHECK_MS = 5_000
const DAY_MS = 86_400_000

interface Listener {
  readonly socket: Socket
  /** market index → which legs. */
  readonly legs: Map<number, Set<Leg>>
  isCustom: boolean
}

interface Live {
  readonly market: UpDown
  readonly feed: MarketFeed
  readonly listeners: Set<Listener>
  isResolvedTold: boolean
}

export function createMarketSocket(options: {
  venue: Venue
  clock: Clock
  signal: AbortSignal
  tickMs: number
  maxConnections: number
}): SocketServer & { tokens(): number } {
  const { venue } = options
  const live = new Map<number, Live>()
  const listeners = new Set<Listener>()
  let listedUntilMs = venue.now()

  function subscribe(listener: Listener, token: string, wantsDump: boolean): void {
    const found = venue.world.upDowns.byToken(token)
    if (found === undefined || found.market.listedMs > venue.now()) return
    const { market, leg } = found
    const legs = listener.legs.get(market.index) ?? new Set<Leg>()
    if (legs.has(leg) || countOf(listener) >= MAX_ASSETS) return
    legs.add(leg)
    listener.legs.set(market.index, legs)
    let entry = live.get(market.index)
    if (entry === undefined) {
      const isResolvedTold = venue.now() >= closedMsOf(venue, market)
      entry = { market, feed: createMarketFeed(venue, market), listeners: new Set(), isResolvedTold }
      live.set(market.index, entry)
    }
    entry.listeners.add(listener)
    const first = wantsDump && countOf(listener) <= MAX_DUMPED_ASSETS ? entry.feed.snapshot(leg) : undefined
    if (first !== undefined) listener.socket.publish({ ...first, text: `[${first.text}]` })
  }

  function unsubscribe(listener: Listener, index: number, leg: Leg): void {
    const legs = listener.legs.get(index)
    legs?.delete(leg)
    if (legs !== undefined && legs.size > 0) return
    listener.legs.delete(index)
    const entry = live.get(index)
    entry?.listeners.delete(listener)
    if (entry?.listeners.size === 0) live.delete(index)
  }

  function open(socket: Socket): Session {
    const listener: Listener = { socket, legs: new Map(), isCustom: false }
    listeners.add(listener)
    return {
      receive(text) {
        if (text === 'PING') return socket.say('PONG')
        const message = parse(text)
        const tokens = Array.isArray(message?.assets_ids)
          ? message.assets_ids.filter((id) => typeof id === 'string')
          : []
        if (message === undefined || (message.type !== 'market' && message.operation === undefined))
          return socket.say('INVALID OPERATION')
        if (message.operation === 'unsubscribe') {
          for (const token of tokens) {
            const found = venue.world.upDowns.byToken(token)
            if (found !== undefined) unsubscribe(listener, found.market.index, found.leg)
          }
          return
        }
        if (message.custom_feature_enabled === true) listener.isCustom = true
        if (tokens.length === 0) return socket.say('[]')
        for (const token of tokens) subscribe(listener, token, message.initial_dump !== false)
      },
      closed() {
        listeners.delete(listener)
        for (const [index, legs] of [...listener.legs])
          for (const leg of [...legs]) unsubscribe(listener, index, leg)
      },
    }
  }

  function produce(_fromMs: number, toMs: number): void {
    for (const entry of live.values()) {
      for (const frame of entry.feed.produce(toMs))
        for (const listener of entry.listeners) {
          if (frame.isCustom === true && !listener.isCustom) continue
          if (frame.leg !== undefined && listener.legs.get(entry.market.index)?.has(frame.leg) !== true)
            continue
          listener.socket.publish(frame)
        }
      if (!entry.isResolvedTold && toMs >= closedMsOf(venue, entry.market)) {
        entry.isResolvedTold = true
        tellResolved(entry)
      }
    }
    if (toMs - listedUntilMs >= LISTING_CHECK_MS) tellListed(toMs)
  }

  function tellResolved({ market, listeners: concerned }: Live): void {
    if (
      venue.faults.hit('lost-resolved', 'polymarket', { symbol: market.symbol, channel: 'market_resolved' })
    )
      return
    const isUp = venue.world.isUp(market)
    const text = JSON.stringify({
      event_type: 'market_resolved',
      id: market.gammaId,
      question: market.question,
      market: market.conditionId,
      slug: market.slug,
      assets_ids: market.tokens,
      outcomes: ['Up', 'Down'],
      winning_asset_id: market.tokens[isUp ? 0 : 1],
      winning_outcome: isUp ? 'Up' : 'Down',
      timestamp: String(closedMsOf(venue, market)),
      tags: ['crypto'],
    })
    for (const listener of concerned)
      if (listener.isCustom)
        listener.socket.publish({ channel: 'market_resolved', symbol: market.symbol, text })
  }

  /** New windows are told to every socket that asked for the extra events, whatever it listens to. */
  function tellListed(toMs: number): void {
    const fromMs = listedUntilMs
    listedUntilMs = toMs
    const custom = [...listeners].filter((listener) => listener.isCustom)
    if (custom.length === 0) return
    for (const symbol of SYMBOLS)
      for (const tenor of TENORS)
        for (const market of venue.world.upDowns.between(symbol, tenor, fromMs + DAY_MS / 2, toMs + DAY_MS)) {
          if (market.listedMs <= fromMs || market.listedMs > toMs) continue
          const text = newMarketText(market)
          for (const listener of custom) listener.socket.publish({ channel: 'new_market', symbol, text })
        }
  }

  const server = createSocketServer({
    venue: 'polymarket',
    clock: options.clock,
    faults: venue.faults,
    signal: options.signal,
    paths: ['/ws/market', '/ws/market/'],
    maxConnections: options.maxConnections,
    pingEveryMs: 0,
    pingBody: '',
    open,
  })
  startTicker({
    clock: options.clock,
    now: () => options.venue.now(),
    signal: options.signal,
    tickMs: options.tickMs,
    produce,
  })
  return { ...server, tokens: () => [...listeners].reduce((sum, listener) => sum + countOf(listener), 0) }
}

const countOf = (listener: Listener): number => {
  let count = 0
  for (const legs of listener.legs.values()) count += legs.size
  return count
}

function newMarketText(market: UpDown): string {
  return JSON.stringify({
    event_type: 'new_market',
    id: market.gammaId,
    question: market.question,
    market: market.conditionId,
    slug: market.slug,
    description: market.question,
    assets_ids: market.tokens,
    outcomes: ['Up', 'Down'],
    event_message: {
      id: market.eventId,
      ticker: market.slug,
      slug: market.slug,
      title: market.question,
      description: market.question,
    },
    timestamp: String(market.listedMs),
    tags: ['crypto'],
    condition_id: market.conditionId,
    active: true,
    clob_token_ids: market.tokens,
    sports_market_type: '',
    line: '',
    game_start_time: '',
    order_price_min_tick_size: '0.01',
    group_item_title: '',
    fees_enabled: true,
  })
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
