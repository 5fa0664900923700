/** Which stream carries which channel. Stream names are lower case; the symbols in messages are upper case. */

import type { SymbolMap } from '../adapter/symbol-map.ts'
import { type Channel, channelKey } from '../channel.ts'
import type { SocketRoute } from '../live/socket.ts'

function streamName(channel: Channel, symbols: SymbolMap): string {
  const name = symbols.toVenue(channel.symbol)?.toLowerCase()
  switch (channel.topic) {
    case 'aggregate_trades':
      return `${name}@aggTrade`
    case 'candles':
      return `${name}@kline_${channel.interval}`
    case 'best_bid_ask':
      return `${name}@bookTicker`
    default:
      throw new RangeError(`no stream carries ${channelKey(channel)}`)
  }
}

/** One combined socket: each event names its stream, and the subscription is part of the URL. */
export function socketRoutesOf(
  channels: readonly Channel[],
  streamHost: string,
  symbols: SymbolMap,
): SocketRoute[] {
  if (channels.length === 0) return []
  const streams = channels.map((channel) => streamName(channel, symbols))
  return [{ name: 'spot', url: `${streamHost}/stream?streams=${streams.join('/')}`, channels, greeting: [] }]
}
