/** The channels of the perpetual venue: maps between subscriptions, stream names and producers. */
import { CANDLE_INTERVALS, type CandleInterval, candleStart } from '../../../src/core/interval.ts'
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { Producer, StreamFrame } from '../hub.ts'
import { candlesClosed } from '../world/candles.ts'
import type { MarketWorld, World } from '../world/world.ts'
import { bookRow, candleRow, contextRow, tradeRow } from './payloads.ts'

/** This venue has no one-second candles. */
export const PERP_INTERVALS = CANDLE_INTERVALS.filter((interval) => interval !== '1s')

const BOOK_MS = 5_400
const CONTEXT_MS = 1_000
const CANDLE_MS = 800
const REPLAYED_TRADES = 30

interface PerpSubscription {
  /** As the venue echoes it, with defaults filled in. */
  readonly echo: Record<string, unknown>
  readonly stream: string
  readonly symbol: AssetSymbol
}

export function parseSubscription(
  world: World,
  value: unknown,
): PerpSubscription | 'malformed' | 'unknown-coin' {
  if (typeof value !== 'object' || value === null) return 'malformed'
  const { type, coin, interval, nSigFigs = null } = value as Record<string, unknown>
  if (typeof type !== 'string' || typeof coin !== 'string') return 'malformed'
  const symbol = world.named('perp', coin)?.market.symbol
  if (type === 'candle') {
    if (!PERP_INTERVALS.some((known) => known === interval)) return 'malformed'
    return symbol === undefined
      ? 'unknown-coin'
      : { echo: { type, coin, interval }, stream: `${coin}@candle_${interval}`, symbol }
  }
  if (type === 'l2Book') {
    const echo = { type, coin, nSigFigs, mantissa: null, fast: false }
    return symbol === undefined ? 'unknown-coin' : { echo, stream: `${coin}@l2Book`, symbol }
  }
  if (!['trades', 'activeAssetCtx'].includes(type)) return 'malformed'
  return symbol === undefined ? 'unknown-coin' : { echo: { type, coin }, stream: `${coin}@${type}`, symbol }
}

export function openChannel(world: World, stream: string): Producer | undefined {
  const [coin = '', kind = ''] = stream.split('@')
  const entry = world.named('perp', coin)
  if (entry === undefined) return undefined
  if (kind === 'trades') return trades(world, entry, stream)
  if (kind === 'l2Book') return sampled(entry, stream, BOOK_MS, (at) => bookRow(entry, at, 20))
  if (kind === 'activeAssetCtx')
    return sampled(entry, stream, CONTEXT_MS, (at) => ({ coin, ctx: contextRow(entry, at) }))
  const interval = PERP_INTERVALS.find((known) => kind === `candle_${known}`)
  return interval === undefined ? undefined : candles(entry, stream, interval)
}

const textOf = (channel: string, data: unknown): string => JSON.stringify({ channel, data })

/** One frame per block of the chain that had trades, oldest trade first. */
function trades(world: World, { market, tape }: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: market.symbol, channel: 'trades' }
  return (fromMs, toMs, publish) => {
    const rows = tape.between(fromMs + 1, toMs + 1, Number.POSITIVE_INFINITY)
    if (rows.length === 0) return
    const data = rows.map((row) => tradeRow(world.seed, market, row))
    const zeroFill = () => textOf('trades', [{ ...data[0], sz: '0.0', tid: (data[0]?.tid ?? 0) + 1 }])
    publish({ ...about, text: textOf('trades', data), zeroFill })
  }
}

/** What a new subscriber to trades gets first, without any marker: about thirty old trades. */
export function replayFrame(world: World, stream: string, nowMs: number): StreamFrame | undefined {
  const [coin = '', kind] = stream.split('@')
  const entry = world.named('perp', coin)
  if (kind !== 'trades' || entry === undefined) return undefined
  const { market, tape } = entry
  const rows = tape.fromId(tape.firstIdAt(nowMs + 1) - REPLAYED_TRADES, nowMs + 1, REPLAYED_TRADES)
  const data = rows.map((row) => tradeRow(world.seed, market, row))
  return { stream, symbol: market.symbol, channel: 'trades', text: textOf('trades', data) }
}

/** A state that is sent at fixed intervals, whether or not it has changed. */
function sampled(
  { market }: MarketWorld,
  stream: string,
  everyMs: number,
  dataAt: (atMs: number) => unknown,
): Producer {
  const channel = stream.split('@')[1]?.split('_')[0] ?? ''
  const about = { stream, symbol: market.symbol, channel }
  return (fromMs, toMs, publish) => {
    for (let at = (Math.floor(fromMs / everyMs) + 1) * everyMs; at <= toMs; at += everyMs)
      publish({ ...about, text: textOf(channel, dataAt(at)) })
  }
}

/** There is no closed flag: the final state of a candle is one more update after its end. */
function candles({ market, candles: all }: MarketWorld, stream: string, interval: CandleInterval): Producer {
  const about = { stream, symbol: market.symbol, channel: 'candle' }
  return (fromMs, toMs, publish) => {
    for (const openMs of candlesClosed(interval, fromMs, toMs)) {
      const candle = all.at(openMs, interval, Number.POSITIVE_INFINITY)
      if (candle.trades > 0)
        publish({ ...about, isClose: true, text: textOf('candle', candleRow(market, interval, candle)) })
    }
    if (Math.floor(toMs / CANDLE_MS) === Math.floor(fromMs / CANDLE_MS)) return
    const candle = all.at(candleStart(toMs, interval), interval, toMs)
    if (candle.trades > 0) publish({ ...about, text: textOf('candle', candleRow(market, interval, candle)) })
  }
}
