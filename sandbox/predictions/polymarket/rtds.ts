/**
 * Reference prices in real time: one tick a second per symbol and topic, some seconds missing, told somewhat
 * late. A client that stops sending the text PING gets no more data, while its socket stays open.
 */
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import { fixed } from '../../exchanges/world/fixed.ts'
import { hash32 } from '../../exchanges/world/hash.ts'
import { createSocketServer, type Session, type Socket, type SocketServer } from '../server/sockets.ts'
import { startTicker } from '../server/ticker.ts'
import type { Venue } from './view.ts'

export const TOPICS = [
  'crypto_prices_chainlink',
  'crypto_prices',
  'crypto_prices_twap_thirty',
  'crypto_prices_twap_sixty',
] as const
export type Topic = (typeof TOPICS)[number]

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
  readonly socket: Socket
  readonly connectionId: string
  subscriptions: Subscription[]
  lastPingMs: number
}

export function createRtds(options: {
  venue: Venue
  clock: Clock
  signal: AbortSignal
  tickMs: number
  maxConnections: number
}): SocketServer {
  const { venue } = options
  const { world } = venue
  const listeners = new Set<Listener>()
  let connections = 0

  const nameOf = (topic: Topic, symbol: AssetSymbol) =>
    topic === 'crypto_prices' ? `${symbol.toLowerCase()}usdt` : `${symbol.toLowerCase()}/usd`
  /** In units of 10^-8. */
  function valueE8(topic: Topic, symbol: AssetSymbol, timeMs: number): number {
    if (topic === 'crypto_prices_twap_sixty') return world.price.mean60E8(symbol, timeMs)
    if (topic === 'crypto_prices') return Math.round(world.price.priceE8(symbol, timeMs) / 1e6) * 1e6
    if (topic === 'crypto_prices_chainlink') return world.price.priceE8(symbol, timeMs)
    let sum = 0
    for (let second = 0; second < 30; second++) sum += world.price.priceE8(symbol, timeMs - second * 1_000)
    return Math.round(sum / 30)
  }
  const isMissing = (topic: Topic, symbol: AssetSymbol, second: number) =>
    (hash32(world.seed, 51 + TOPICS.indexOf(topic), second * 4 + SYMBOLS.indexOf(symbol)) & 255) <
    MISSING_PER_256
  const toldMs = (second: number) => second * 1_000 + LAG_MS + (hash32(world.seed, 57, second) % LAG_RANGE_MS)

  function tick(topic: Topic, symbol: AssetSymbol, second: number, connectionId: string): string {
    const value = valueE8(topic, symbol, second * 1_000)
    const isPlain = topic === 'crypto_prices'
    return JSON.stringify({
      topic,
      type: 'update',
      timestamp: toldMs(second),
      payload: {
        symbol: nameOf(topic, symbol),
        timestamp: second * 1_000,
        value: value / 1e8,
        full_accuracy_value: isPlain ? fixed(value, 8, 8) : `${value}0000000000`,
        ...(topic === 'crypto_prices_twap_sixty' ? { window_s: 60 } : {}),
        ...(topic === 'crypto_prices_twap_thirty' ? { window_s: 30 } : {}),
      },
      ...(isPlain ? {} : { connection_id: connectionId }),
    })
  }

  function produce(fromMs: number, toMs: number): void {
    // A second is told between LAG_MS and LAG_MS + LAG_RANGE_MS later.
    for (
      let second = Math.floor((fromMs - LAG_MS - LAG_RANGE_MS) / 1_000);
      second <= Math.floor((toMs - LAG_MS) / 1_000);
      second++
    ) {
      const atMs = toldMs(second)
      if (atMs <= fromMs || atMs > toMs) continue
      for (const listener of listeners) {
        if (toMs - listener.lastPingMs > FREEZE_AFTER_MS) continue
        for (const { topic, symbols } of listener.subscriptions)
          for (const symbol of symbols) {
            if (isMissing(topic, symbol, second)) continue
            listener.socket.publish({
              channel: topic,
              symbol,
              text: tick(topic, symbol, second, listener.connectionId),
            })
          }
      }
    }
  }

  function backlog(listener: Listener, { topic, symbols }: Subscription): void {
    const nowS = Math.floor((venue.now() - LAG_MS - LAG_RANGE_MS) / 1_000)
    for (const symbol of symbols) {
      const seconds = Array.from({ length: BACKLOG_S }, (_, i) => nowS - BACKLOG_S + 1 + i).filter(
        (second) => !isMissing(topic, symbol, second),
      )
      const data = seconds.map((second) => ({
        timestamp: second * 1_000,
        value: valueE8(topic, symbol, second * 1_000) / 1e8,
      }))
      listener.socket.publish({
        channel: topic,
        symbol,
        text: JSON.stringify({
          topic,
          type: 'subscribe',
          timestamp: venue.now(),
          payload: { symbol: nameOf(topic, symbol), data },
        }),
      })
    }
  }

  function open(socket: Socket): Session {
    const connectionId = Buffer.from(String(hash32(world.seed, 58, ++connections)).padStart(10, '0'))
      .toString('base64')
      .slice(0, 13)
    const listener: Listener = { socket, connectionId, subscriptions: [], lastPingMs: venue.now() }
    listeners.add(listener)
    return {
      receive(text) {
        if (text.toUpperCase() === 'PING') {
          listener.lastPingMs = venue.now()
          return socket.say('PONG')
        }
        const message = parse(text)
        if (message === undefined || !Array.isArray(message.subscriptions)) return
        const wanted = message.subscriptions.map(readSubscription)
        // One invalid topic silences all of the array.
        if (wanted.some((one) => one === undefined)) return
        for (const one of wanted) {
          if (one === undefined) continue
          listener.subscriptions = listener.subscriptions.filter(
            (known) => known.topic !== one.topic || known.symbols.join() !== one.symbols.join(),
          )
          if (message.action === 'unsubscribe') continue
          listener.subscriptions.push(one)
          if (one.symbols.length === 1) backlog(listener, one)
        }
      },
      closed: () => void listeners.delete(listener),
    }
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

  const server = createSocketServer({
    venue: 'polymarket',
    clock: options.clock,
    faults: venue.faults,
    signal: options.signal,
    paths: ['/', '/ws'],
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
  return server
}

function parse(text: string): { action?: unknown; subscriptions?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
