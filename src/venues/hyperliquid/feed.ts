/** Subscriptions of Hyperliquid's socket, and the reader of its frames. */
import { CANDLE_INTERVALS } from '../../core/interval.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { SymbolMap } from '../adapter/symbol-map.ts'
import { type Channel, channelKey } from '../channel.ts'
import { data, type FrameOutcome, type FrameProtocol, ignored, parseObject, refused } from '../live/frame.ts'
import type { SocketRoute } from '../live/socket.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import { type About, mapBook, mapCandle, mapOpenInterest, mapTrade } from './mapper.ts'
import {
  BookMessage,
  CandleMessage,
  Context,
  Message,
  SubscriptionMessage,
  type SubscriptionWire,
  Trade,
} from './wire.ts'

function subscriptionOf(channel: Channel, coin: string): Record<string, unknown> {
  switch (channel.topic) {
    case 'trades':
      return { type: 'trades', coin }
    case 'candles':
      return { type: 'candle', coin, interval: channel.interval }
    case 'book':
      return { type: 'l2Book', coin }
    case 'open_interest':
      return { type: 'activeAssetCtx', coin }
    default:
      throw new RangeError(`no subscription carries ${channelKey(channel)}`)
  }
}

const ROUTE = 'main'

/** The channels are read anew for every socket, because coins may be delisted. */
export function socketRoutesOf(
  channels: () => readonly Channel[],
  streamHost: string,
  symbols: SymbolMap,
): SocketRoute[] {
  if (channels().length === 0) return []
  return [
    {
      name: ROUTE,
      url: `${streamHost}/ws`,
      get channels() {
        return channels()
      },
      get greeting() {
        return greetingOf(channels(), symbols)
      },
    },
  ]
}

export function sendSubscriptions(channels: readonly Channel[], symbols: SymbolMap, io: SessionIo): void {
  for (const frame of greetingOf(channels, symbols)) io.send(ROUTE, frame)
}

function greetingOf(channels: readonly Channel[], symbols: SymbolMap): string[] {
  return channels.map((channel) => {
    const coin = symbols.toVenue(channel.symbol)
    if (coin === undefined) throw new RangeError(`no coin for ${channelKey(channel)}`)
    return JSON.stringify({ method: 'subscribe', subscription: subscriptionOf(channel, coin) })
  })
}

/** Known kinds that were not requested. */
const NOT_RECORDED_CHANNELS = new Set([
  'activeSpotAssetCtx',
  'allDexsAssetCtxs',
  'allMids',
  'assetCtxs',
  'bbo',
  'fastAssetCtxs',
  'post',
])
const GREETING = 'Websocket connection established.'

export function createHyperliquidReader(symbols: Pick<SymbolMap, 'fromVenue'>): FrameProtocol {
  function aboutOf(coin: string, receivedMs: number): About | undefined {
    const symbol = symbols.fromVenue(coin)
    return symbol === undefined ? undefined : { source: 'perpdex', symbol, instrument: coin, receivedMs }
  }

  function read(text: string, receivedMs: number): FrameOutcome {
    const message = parseObject(text)
    if (message === undefined) return text === GREETING ? ignored('greeting') : refused('malformed')
    if (!Message.is(message)) return refused('unknown_kind')
    switch (message.channel) {
      case 'trades':
        return readTrades(message.data, receivedMs)
      case 'l2Book':
        return readBook(message.data, receivedMs)
      case 'candle':
        return readCandle(message.data, receivedMs)
      case 'activeAssetCtx':
        return readContext(message.data, receivedMs)
      case 'subscriptionResponse':
        if (!SubscriptionMessage.is(message.data)) return refused('wrong_shape')
        return message.data.method === 'subscribe' ? accepted(message.data, symbols) : ignored('unsubscribed')
      case 'pong':
        return { kind: 'pong' }
      case 'error':
        return typeof message.data === 'string' && message.data.startsWith('Already subscribed')
          ? ignored('already subscribed')
          : refused('venue_error')
    }
    return NOT_RECORDED_CHANNELS.has(message.channel)
      ? ignored('channel not recorded')
      : refused('unknown_kind')
  }

  /** One bad trade does not invalidate the others of its frame. */
  function readTrades(value: unknown, receivedMs: number): FrameOutcome {
    if (!Array.isArray(value)) return refused('wrong_shape')
    const good = value.filter((trade) => Trade.is(trade))
    const items = good.flatMap((trade) => {
      const about = aboutOf(trade.coin, receivedMs)
      return about === undefined
        ? []
        : [{ channel: `trades:${about.symbol}`, observation: mapTrade(trade, about) }]
    })
    if (good.length < value.length) return { kind: 'data', items, refused: 'wrong_shape' }
    return items.length === 0 ? ignored('coin not recorded') : { kind: 'data', items }
  }

  function readBook(value: unknown, receivedMs: number): FrameOutcome {
    if (!BookMessage.is(value)) return refused('wrong_shape')
    const about = aboutOf(value.coin, receivedMs)
    if (about === undefined) return ignored('coin not recorded')
    if (value.fast === true) return ignored('channel not recorded')
    return data(`book:${about.symbol}`, mapBook(value, about))
  }

  function readCandle(value: unknown, receivedMs: number): FrameOutcome {
    if (!CandleMessage.is(value)) return refused('wrong_shape')
    const about = aboutOf(value.s, receivedMs)
    if (about === undefined) return ignored('coin not recorded')
    const interval = CANDLE_INTERVALS.find((each) => each === value.i)
    if (interval === undefined) return ignored('interval not recorded')
    return data(`candles:${about.symbol}:${interval}`, mapCandle(value, interval, null, about))
  }

  function readContext(value: unknown, receivedMs: number): FrameOutcome {
    if (!Context.is(value)) return refused('wrong_shape')
    const about = aboutOf(value.coin, receivedMs)
    if (about === undefined) return ignored('coin not recorded')
    return data(`open_interest:${about.symbol}`, mapOpenInterest(value, about))
  }

  return {
    read,
    accepts: true,
    // The venue closes a socket on which it has sent nothing for a minute.
    heartbeat: { everyMs: 30_000, frame: '{"method":"ping"}', answerWithinMs: 10_000 },
    greetingPaceMs: 0,
  }
}

function accepted(wire: SubscriptionWire, symbols: Pick<SymbolMap, 'fromVenue'>): FrameOutcome {
  const { type, coin, interval } = wire.subscription
  const symbol: AssetSymbol | undefined = coin === undefined ? undefined : symbols.fromVenue(coin)
  if (symbol === undefined) return ignored('coin not recorded')
  switch (type) {
    case 'trades':
      return { kind: 'accepted', channels: [`trades:${symbol}`] }
    case 'candle':
      return { kind: 'accepted', channels: [`candles:${symbol}:${interval}`] }
    case 'l2Book':
      return { kind: 'accepted', channels: [`book:${symbol}`] }
    case 'activeAssetCtx':
      return { kind: 'accepted', channels: [`open_interest:${symbol}`] }
    default:
      return ignored('subscription not asked for')
  }
}
