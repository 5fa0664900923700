/** The channels of the perpetual venue: a subscription ↔ a stream name ↔ a producer. */

import type { Frame } from '../server/frame-faults.ts'
import type { Producer } from '../server/hub.ts'
import { BAR_INTERVALS, type BarInterval, barOpen, barStep } from '../world/bar-interval.ts'
import type { MarketWorld, World } from '../world/world.ts'
import { bboText, bookText, candleText, contextText, midText, traderNames, tradeText } from './text.ts'

/** Not offered by this venue: seconds and six hours. */
export const CANDLE_INTERVALS = BAR_INTERVALS.filter((interval) => interval !== '1s' && interval !== '6h')

const FAST_BOOK_MS = 540
const FULL_BOOK_MS = 5_400
const BBO_MS = 180
const CONTEXT_MS = 1_000
const CANDLE_MS = 800
const MIDS_MS = 1_000
const REPLAYED_TRADES = 30
const ALL_CONTEXTS_MS = 13_600

/** Still in the list of coins, with an empty book and no trades. */
export const DELISTED_COIN = 'MATIC'

export interface Subscription {
  /** As the venue echoes it, defaults filled in. */
  readonly echo: Record<string, unknown>
  readonly stream: string
}

export type Parsed = Subscription | 'malformed' | 'unknown-coin'

export function parseSubscription(world: World, value: unknown): Parsed {
  if (typeof value !== 'object' || value === null) return 'malformed'
  const { type, coin, interval, fast, nSigFigs, mantissa } = value as Record<string, unknown>
  if (type === 'allMids' || type === 'allDexsAssetCtxs') return { echo: { type }, stream: `@${type}` }
  if (typeof type !== 'string' || typeof coin !== 'string') return 'malformed'
  const isKnown = world.named('perp', coin) !== undefined
  if (type === 'candle') {
    if (!CANDLE_INTERVALS.some((known) => known === interval)) return 'malformed'
    return isKnown ? { echo: { type, coin, interval }, stream: `${coin}@candle_${interval}` } : 'unknown-coin'
  }
  if (type === 'l2Book') {
    const figures = nSigFigs ?? null
    // Bad rounding closes the socket like a bad coin does.
    if (
      (!isKnown && coin !== DELISTED_COIN) ||
      (figures !== null && figures !== 5) ||
      ((mantissa ?? null) !== null && figures !== 5)
    )
      return 'unknown-coin'
    const isFast = fast === true
    return {
      echo: { type, coin, nSigFigs: figures, mantissa: mantissa ?? null, fast: isFast },
      stream: `${coin}@l2Book${isFast ? '_fast' : ''}`,
    }
  }
  if (!['trades', 'bbo', 'activeAssetCtx'].includes(type)) return 'malformed'
  return isKnown ? { echo: { type, coin }, stream: `${coin}@${type}` } : 'unknown-coin'
}

export function openChannel(world: World, stream: string): Producer | undefined {
  if (stream === '@allMids')
    return everywhere(stream, 'allMids', MIDS_MS, (at) => `{"mids":${midsText(world, at)}}`)
  if (stream === '@allDexsAssetCtxs')
    return everywhere(
      stream,
      'allDexsAssetCtxs',
      ALL_CONTEXTS_MS,
      (at) => `{"ctxs":[["",[${contextsText(world, at)}]]]}`,
    )
  const [coin = '', kind = ''] = stream.split('@')
  if (coin === DELISTED_COIN)
    return everywhere(
      stream,
      'l2Book',
      FULL_BOOK_MS,
      (at) => `{"coin":"${coin}","time":${at},"levels":[[],[]]}`,
    )
  const entry = world.named('perp', coin)
  if (entry === undefined) return undefined
  if (kind === 'trades') return trades(world, entry, stream)
  if (kind === 'l2Book')
    return sampled(entry, stream, 'l2Book', FULL_BOOK_MS, (at) => bookText(entry, at, 20, false))
  if (kind === 'l2Book_fast')
    return sampled(entry, stream, 'l2Book', FAST_BOOK_MS, (at) => bookText(entry, at, 5, true))
  if (kind === 'activeAssetCtx')
    return sampled(
      entry,
      stream,
      'activeAssetCtx',
      CONTEXT_MS,
      (at) => `{"coin":"${coin}","ctx":${contextText(entry, at)}}`,
    )
  if (kind === 'bbo') return bbo(entry, stream)
  const interval = CANDLE_INTERVALS.find((known) => kind === `candle_${known}`)
  return interval === undefined ? undefined : candles(entry, stream, interval)
}

const wrap = (channel: string, data: string): string => `{"channel":"${channel}","data":${data}}`

/** One frame per block of the chain that had trades, oldest trade first. */
function trades(world: World, { market, tape }: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: market.symbol, channel: 'trades' }
  const names = traderNames(world.seed)
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      const rows = tape.between(fromMs + 1, toMs + 1, Number.POSITIVE_INFINITY)
      if (rows.length === 0) return
      publish({
        ...about,
        data: wrap('trades', `[${rows.map((row) => tradeText(world.seed, market, row, names)).join(',')}]`),
      })
    },
  }
}

/** What a new subscriber to trades gets first, without any mark: about thirty old ones. */
export function replayFrame(world: World, stream: string, nowMs: number): Frame | undefined {
  const [coin = '', kind] = stream.split('@')
  const entry = world.named('perp', coin)
  if (kind !== 'trades' || entry === undefined) return undefined
  const { market, tape } = entry
  const rows = tape.fromId(tape.firstIdAt(nowMs + 1) - REPLAYED_TRADES, nowMs + 1, REPLAYED_TRADES)
  const data = wrap('trades', `[${rows.map((row) => tradeText(world.seed, market, row)).join(',')}]`)
  return { stream, symbol: market.symbol, channel: 'trades', data }
}

/** A state told at fixed steps, changed or not. */
function sampled(
  { market }: MarketWorld,
  stream: string,
  channel: string,
  everyMs: number,
  text: (atMs: number) => string,
): Producer {
  const about = { stream, symbol: market.symbol, channel }
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      for (let at = (Math.floor(fromMs / everyMs) + 1) * everyMs; at <= toMs; at += everyMs)
        publish({ ...about, data: wrap(channel, text(at)) })
    },
  }
}

function bbo(entry: MarketWorld, stream: string): Producer {
  const about = { stream, symbol: entry.market.symbol, channel: 'bbo' }
  let lastTouch = ''
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      for (let at = (Math.floor(fromMs / BBO_MS) + 1) * BBO_MS; at <= toMs; at += BBO_MS) {
        const text = bboText(entry, at)
        const touch = text.slice(text.indexOf('"bbo"'))
        if (touch === lastTouch) continue
        lastTouch = touch
        publish({ ...about, data: wrap('bbo', text) })
      }
    },
  }
}

/** No closed flag: the last word on a candle is one more update after its end. */
function candles({ market, bars }: MarketWorld, stream: string, interval: BarInterval): Producer {
  const about = { stream, symbol: market.symbol, channel: 'candle' }
  return {
    ...about,
    produce(fromMs, toMs, publish) {
      for (
        let at = barOpen(fromMs, interval);
        barStep(at, interval, 1) <= toMs;
        at = barStep(at, interval, 1)
      ) {
        const bar = bars.at(at, interval, Number.POSITIVE_INFINITY)
        if (bar.trades > 0)
          publish({ ...about, isClose: true, data: wrap('candle', candleText(market, interval, bar)) })
      }
      if (Math.floor(toMs / CANDLE_MS) === Math.floor(fromMs / CANDLE_MS)) return
      const bar = bars.at(barOpen(toMs, interval), interval, toMs)
      if (bar.trades > 0) publish({ ...about, data: wrap('candle', candleText(market, interval, bar)) })
    },
  }
}

/** A channel that is about no coin of ours in particular. */
function everywhere(
  stream: string,
  channel: string,
  everyMs: number,
  text: (atMs: number) => string,
): Producer {
  return {
    channel,
    produce(fromMs, toMs, publish) {
      if (Math.floor(toMs / everyMs) === Math.floor(fromMs / everyMs)) return
      publish({ stream, channel, data: wrap(channel, text(toMs)) })
    },
  }
}

/** By position in the list of coins, the delisted one included. */
export function contextsText(world: World, nowMs: number): string {
  const listed = world.all('perp').map((entry) => contextText(entry, nowMs))
  const delisted =
    '{"funding":"0.0","openInterest":"0.0","prevDayPx":"0.37","dayNtlVlm":"0.0","premium":null,"oraclePx":"0.37","markPx":"0.37","midPx":null,"impactPxs":null,"dayBaseVlm":"0.0"}'
  return [...listed.slice(0, 2), delisted, ...listed.slice(2)].join(',')
}

export function midsText(world: World, nowMs: number): string {
  return `{${world
    .all('perp')
    .map((entry) => `"${entry.market.name}":"${midText(entry, nowMs)}"`)
    .join(',')}}`
}
