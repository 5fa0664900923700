/**
 * Reference prices in real time: one tick per second, symbol and topic, with some seconds missing and a small delay. A
 * client that stops sending the text PING gets no more data, but its socket stays open.
 */
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import { fixed } from '../../exchanges/world/fixed.ts'
import { hash32 } from '../../exchanges/world/hash.ts'
import { createFrameFaults, type Deliver, type VenueFrame } from '../../server/frame-faults.ts'
import { parseObject } from '../../server/json.ts'
import { createSockets, type Session, type Sockets, type VenueSocket } from '../../server/sockets.ts'
import { startTicks, type Ticks } from '../../server/ticks.ts'
import type { PredictionVenue } from '../venue.ts'
import type { PredictionWorld } from '../world/venue-world.ts'

const TOPICS = [
  'crypto_prices_chainlink',
  'crypto_prices',
  'crypto_prices_twap_thirty',
  'crypto_prices_twap_sixty',
] as const
type Topic = (typeof TOPICS)[number]
/** Length of the averaging window, in seconds. */
const WINDOWS_S: Partial<Record<Topic, number>> = {
  crypto_prices_twap_thirty: 30,
  crypto_prices_twap_sixty: 60,
}

const LAG_MS = 1_160
const LAG_RANGE_MS = 400
const MISSING_PER_256 = 13
const FREEZE_AFTER_MS = 240_000
const BACKLOG_S = 60

interface Subscription {
  readonly topic: Topic
  readonly symbols: readonly AssetSymbol[]
}

interface Listener {
  readonly publish: Deliver<VenueFrame>
  readonly connectionId: string
  subscriptions: Subscription[]
  lastPingMs: number
}

export function createRtds(options: Ticks & { venue: PredictionVenue; maxConnections: number }): Sockets {
  const { venue, clock, signal } = options
  const { faults } = venue
  const { world } = venue
  const listeners = new Set<Listener>()
  let connections = 0

  function produce(fromMs: number, toMs: number): void {
    // A second is sent between LAG_MS and LAG_MS + LAG_RANGE_MS later.
    const last = Math.floor((toMs - LAG_MS) / 1_000)
    for (let second = Math.floor((fromMs - LAG_MS - LAG_RANGE_MS) / 1_000); second <= last; second++) {
      const atMs = sentMs(world, second)
      if (atMs <= fromMs || atMs > toMs) continue
      for (const listener of listeners)
        if (toMs - listener.lastPingMs <= FREEZE_AFTER_MS) publishSecond(listener, second)
    }
  }

  function publishSecond(listener: Listener, second: number): void {
    for (const { topic, symbols } of listener.subscriptions)
      for (const symbol of symbols) {
        if (isMissing(world, topic, symbol, second)) continue
        const update = updateOf(world, topic, symbol, second)
        // The plain price has no connection id.
        const { connectionId: connection_id } = listener
        const text = JSON.stringify(topic === 'crypto_prices' ? update : { ...update, connection_id })
        listener.publish({ channel: topic, symbol, text })
      }
  }

  function publishBacklog(listener: Listener, { topic, symbols }: Subscription): void {
    const lastS = Math.floor((venue.now() - LAG_MS - LAG_RANGE_MS) / 1_000)
    for (const symbol of symbols) {
      const data = Array.from({ length: BACKLOG_S }, (_, i) => lastS - BACKLOG_S + 1 + i)
        .filter((second) => !isMissing(world, topic, symbol, second))
        .map((second) => ({
          timestamp: second * 1_000,
          value: valueE8(world, topic, symbol, second * 1_000) / 1e8,
        }))
      const payload = { symbol: nameOf(topic, symbol), data }
      const text = JSON.stringify({ topic, type: 'subscribe', timestamp: venue.now(), payload })
      listener.publish({ channel: topic, symbol, text })
    }
  }

  function open(socket: VenueSocket): Session {
    const deliver = (frame: VenueFrame) => socket.sendData(frame)
    const publish = createFrameFaults({
      ...{ venue: 'polymarket', faults, clock, signal, deliver },
      unknownText: JSON.stringify({ topic: 'novelty', type: 'update', timestamp: 0, payload: {} }),
    })
    const number = String(hash32(world.seed, 58, ++connections)).padStart(10, '0')
    const connectionId = Buffer.from(number).toString('base64').slice(0, 13)
    const listener: Listener = { publish, connectionId, subscriptions: [], lastPingMs: venue.now() }
    listeners.add(listener)
    return {
      receive(text) {
        if (text.toUpperCase() === 'PING') {
          listener.lastPingMs = venue.now()
          return socket.reply('PONG')
        }
        const { action, subscriptions } = parseObject(text) ?? {}
        if (!Array.isArray(subscriptions)) return
        const wanted = subscriptions.map(readSubscription).filter((one) => one !== undefined)
        // One invalid topic invalidates the whole array.
        if (wanted.length < subscriptions.length) return
        for (const one of wanted) {
          listener.subscriptions = listener.subscriptions.filter(
            (known) => known.topic !== one.topic || known.symbols.join() !== one.symbols.join(),
          )
          if (action === 'unsubscribe') continue
          listener.subscriptions.push(one)
          if (one.symbols.length === 1) publishBacklog(listener, one)
        }
      },
      closed: () => void listeners.delete(listener),
    }
  }

  const sockets = createSockets({
    ...{ venue: 'polymarket', clock, faults, signal, open },
    rules: { maxConnections: options.maxConnections },
    refusal: ({ url }) => (url.pathname === '/' || url.pathname === '/ws' ? undefined : '404 Not Found'),
  })
  startTicks(options, { now: venue.now, produce })
  return sockets
}

function readSubscription(value: unknown): Subscription | undefined {
  const { topic, filters } = value as { topic?: unknown; filters?: unknown }
  const known = TOPICS.find((name) => name === topic)
  if (known === undefined) return undefined
  const text = typeof filters === 'string' ? filters : ''
  const named = SYMBOLS.filter((symbol) => text.toLowerCase().includes(nameOf(known, symbol)))
  if (text !== '' && named.length === 0) return undefined
  return { topic: known, symbols: named.length === 0 ? SYMBOLS : named }
}

const nameOf = (topic: Topic, symbol: AssetSymbol): string =>
  topic === 'crypto_prices' ? `${symbol.toLowerCase()}usdt` : `${symbol.toLowerCase()}/usd`

const sentMs = (world: PredictionWorld, second: number): number =>
  second * 1_000 + LAG_MS + (hash32(world.seed, 57, second) % LAG_RANGE_MS)

const isMissing = (world: PredictionWorld, topic: Topic, symbol: AssetSymbol, second: number): boolean =>
  (hash32(world.seed, 51 + TOPICS.indexOf(topic), second * 4 + SYMBOLS.indexOf(symbol)) & 255) <
  MISSING_PER_256

/** In units of 10^-8. */
function valueE8({ price }: PredictionWorld, topic: Topic, symbol: AssetSymbol, timeMs: number): number {
  if (topic === 'crypto_prices_twap_sixty') return price.mean60E8(symbol, timeMs)
  if (topic === 'crypto_prices') return Math.round(price.priceE8(symbol, timeMs) / 1e6) * 1e6
  if (topic === 'crypto_prices_chainlink') return price.priceE8(symbol, timeMs)
  let sum = 0
  for (let second = 0; second < 30; second++) sum += price.priceE8(symbol, timeMs - second * 1_000)
  return Math.round(sum / 30)
}

function updateOf(world: PredictionWorld, topic: Topic, symbol: AssetSymbol, second: number) {
  const value = valueE8(world, topic, symbol, second * 1_000)
  const windowS = WINDOWS_S[topic]
  return {
    topic,
    type: 'update',
    timestamp: sentMs(world, second),
    payload: {
      symbol: nameOf(topic, symbol),
      timestamp: second * 1_000,
      value: value / 1e8,
      full_accuracy_value: topic === 'crypto_prices' ? fixed(value, 8, 8) : `${value}0000000000`,
      ...(windowS === undefined ? {} : { window_s: windowS }),
    },
  }
}
