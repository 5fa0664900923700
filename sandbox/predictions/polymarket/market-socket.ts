/** The market stream: subscriptions to tokens, one feed per market for all sockets, and the venue-wide events. */
import { SYMBOLS } from '../../../src/core/symbol.ts'
import { createFrameFaults, type Deliver, type VenueFrame } from '../../server/frame-faults.ts'
import { parseObject } from '../../server/json.ts'
import { createSockets, type Session, type Sockets, type VenueSocket } from '../../server/sockets.ts'
import { startTicks, type Ticks } from '../../server/ticks.ts'
import type { PredictionVenue } from '../venue.ts'
import { TENORS, type UpDown } from '../world/up-down.ts'
import type { Leg } from './leg-book.ts'
import { createMarketFeed, type MarketFeed } from './market-feed.ts'
import { closedMsOf } from './view.ts'

/** Tokens beyond this number on one socket get no initial book. */
const MAX_DUMPED_ASSETS = 500
const MAX_ASSETS = 2_000
const LISTING_CHECK_MS = 5_000

interface Listener {
  readonly publish: Deliver<VenueFrame>
  /** market index → which legs. */
  readonly legs: Map<number, Set<Leg>>
  wantsExtraEvents: boolean
}

interface Live {
  readonly market: UpDown
  readonly feed: MarketFeed
  readonly listeners: Set<Listener>
  isResolvedSent: boolean
}

export function createMarketSocket(
  options: Ticks & { venue: PredictionVenue; maxConnections: number },
): Sockets & { tokens(): number } {
  const { venue, clock, signal } = options
  const { faults } = venue
  const { upDowns } = venue.world
  const live = new Map<number, Live>()
  const listeners = new Set<Listener>()
  let listedUntilMs = venue.now()

  function subscribe(listener: Listener, token: string, wantsDump: boolean): void {
    const found = upDowns.byToken(token)
    if (found === undefined || found.market.listedMs > venue.now()) return
    const { market, leg } = found
    const legs = listener.legs.get(market.index) ?? new Set<Leg>()
    if (legs.has(leg) || countOf(listener) >= MAX_ASSETS) return
    legs.add(leg)
    listener.legs.set(market.index, legs)
    const entry = live.get(market.index) ?? openMarket(market)
    entry.listeners.add(listener)
    const first = wantsDump && countOf(listener) <= MAX_DUMPED_ASSETS ? entry.feed.snapshot(leg) : undefined
    if (first !== undefined) listener.publish({ ...first, text: `[${first.text}]` })
  }

  function openMarket(market: UpDown): Live {
    const isResolvedSent = venue.now() >= closedMsOf(venue, market)
    const entry = {
      market,
      feed: createMarketFeed(venue, market),
      listeners: new Set<Listener>(),
      isResolvedSent,
    }
    live.set(market.index, entry)
    return entry
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

  function open(socket: VenueSocket): Session {
    const deliver = (frame: VenueFrame) => socket.sendData(frame)
    const publish = createFrameFaults({
      ...{ venue: 'polymarket', faults, clock, signal, deliver },
      unknownText: JSON.stringify({ event_type: 'market_novelty', market: '', timestamp: '0' }),
    })
    const listener: Listener = { publish, legs: new Map(), wantsExtraEvents: false }
    listeners.add(listener)
    return {
      receive(text) {
        if (text === 'PING') return socket.reply('PONG')
        const message = parseObject(text)
        if (message === undefined || (message.type !== 'market' && message.operation === undefined))
          return socket.reply('INVALID OPERATION')
        const { assets_ids: ids, operation, custom_feature_enabled: isCustom, initial_dump: dump } = message
        const tokens = Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
        if (operation === 'unsubscribe') {
          for (const token of tokens) {
            const found = upDowns.byToken(token)
            if (found !== undefined) unsubscribe(listener, found.market.index, found.leg)
          }
          return
        }
        if (isCustom === true) listener.wantsExtraEvents = true
        if (tokens.length === 0) return socket.reply('[]')
        for (const token of tokens) subscribe(listener, token, dump !== false)
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
          if (frame.isExtra === true && !listener.wantsExtraEvents) continue
          if (frame.leg === undefined || listener.legs.get(entry.market.index)?.has(frame.leg) === true)
            listener.publish(frame)
        }
      if (!entry.isResolvedSent && toMs >= closedMsOf(venue, entry.market)) {
        entry.isResolvedSent = true
        publishResolved(entry)
      }
    }
    if (toMs - listedUntilMs >= LISTING_CHECK_MS) publishListed(toMs)
  }

  function publishResolved({ market, listeners: concerned }: Live): void {
    const about = { symbol: market.symbol, channel: 'market_resolved' }
    // The message names a winner, so a split market has no such message.
    if (market.isSplit || faults.hit('lost-resolved', 'polymarket', about)) return
    const text = JSON.stringify(resolvedEvent(market, venue.world.isUp(market), closedMsOf(venue, market)))
    for (const listener of concerned) if (listener.wantsExtraEvents) listener.publish({ ...about, text })
  }

  /** New windows are sent to every socket that requested the extra events, regardless of its subscriptions. */
  function publishListed(toMs: number): void {
    const fromMs = listedUntilMs
    listedUntilMs = toMs
    const receivers = [...listeners].filter((listener) => listener.wantsExtraEvents)
    if (receivers.length === 0) return
    for (const symbol of SYMBOLS)
      for (const tenor of TENORS)
        for (const market of upDowns.listedBetween(symbol, tenor, fromMs, toMs)) {
          const frame = { channel: 'new_market', symbol, text: JSON.stringify(listedEvent(market)) }
          for (const listener of receivers) listener.publish(frame)
        }
  }

  const sockets = createSockets({
    ...{ venue: 'polymarket', clock, faults, signal, open },
    rules: { maxConnections: options.maxConnections },
    refusal: ({ url }) => (/^\/ws\/market\/?$/.test(url.pathname) ? undefined : '404 Not Found'),
  })
  startTicks(options, { now: venue.now, produce })
  return { ...sockets, tokens: () => [...listeners].reduce((sum, listener) => sum + countOf(listener), 0) }
}

const countOf = (listener: Listener): number => {
  let count = 0
  for (const legs of listener.legs.values()) count += legs.size
  return count
}

const resolvedEvent = (market: UpDown, isUp: boolean, closedMs: number) => ({
  event_type: 'market_resolved',
  id: market.gammaId,
  question: market.question,
  market: market.conditionId,
  slug: market.slug,
  assets_ids: market.tokens,
  outcomes: ['Up', 'Down'],
  winning_asset_id: market.tokens[isUp ? 0 : 1],
  winning_outcome: isUp ? 'Up' : 'Down',
  timestamp: String(closedMs),
  tags: ['crypto'],
})

const listedEvent = (market: UpDown) => ({
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
