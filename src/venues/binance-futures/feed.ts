/**
 * Which stream carries which channel. Streams are on one of two paths, by class. On the wrong path a stream is accepted
 * but never sends anything, so the path is derived from the stream alone.
 */

import type { SymbolMap } from '../adapter/symbol-map.ts'
import { type Channel, channelKey, type Topic } from '../channel.ts'
import type { SocketRoute } from '../live/socket.ts'

type StreamClass = 'market' | 'public'

interface StreamRule {
  readonly class: StreamClass
  readonly suffix: (channel: Channel) => string
}

const STREAMS: Partial<Record<Topic, StreamRule>> = {
  aggregate_trades: { class: 'market', suffix: () => 'aggTrade' },
  candles: { class: 'market', suffix: (channel) => `kline_${channel.interval}` },
  liquidations: { class: 'market', suffix: () => 'forceOrder' },
  best_bid_ask: { class: 'public', suffix: () => 'bookTicker' },
}

/** One combined socket per class. */
export function socketRoutesOf(
  channels: readonly Channel[],
  streamHost: string,
  symbols: SymbolMap,
): SocketRoute[] {
  const byClass = new Map<StreamClass, { streams: string[]; channels: Channel[] }>()
  for (const channel of channels) {
    const rule = STREAMS[channel.topic]
    if (rule === undefined) throw new RangeError(`no stream carries ${channelKey(channel)}`)
    const group = byClass.get(rule.class) ?? { streams: [], channels: [] }
    group.streams.push(`${symbols.toVenue(channel.symbol)?.toLowerCase()}@${rule.suffix(channel)}`)
    group.channels.push(channel)
    byClass.set(rule.class, group)
  }
  return [...byClass].map(([name, group]) => ({
    name,
    url: `${streamHost}/${name}/stream?streams=${group.streams.join('/')}`,
    channels: group.channels,
    greeting: [],
  }))
}
