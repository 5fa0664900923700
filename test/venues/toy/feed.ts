/** The toy's sockets: one, with a word for each coin. */

import type { SymbolMap } from '../../../src/venues/adapter/symbol-map.ts'
import { type Channel, channelKey } from '../../../src/venues/channel.ts'
import { data, type FrameProtocol, ignored, parseObject, refused } from '../../../src/venues/live/frame.ts'
import type { SocketRoute } from '../../../src/venues/live/socket.ts'
import { mapTrade } from './mapper.ts'
import { Trade } from './wire.ts'

export const routesOf = (channels: readonly Channel[], host: string, symbols: SymbolMap): SocketRoute[] => [
  {
    name: 'toy',
    url: `${host}/feed`,
    channels,
    greeting: [...new Set(channels.map((each) => `listen ${symbols.toVenue(each.symbol)}`))],
  },
]

export const createReader = (symbols: SymbolMap): FrameProtocol => ({
  accepts: false,
  heartbeat: null,
  greetingPaceMs: 0,
  read(text, receivedMs) {
    const message = parseObject(text)
    if (message === undefined) return refused('malformed')
    if (!Trade.is(message)) return refused('wrong_shape')
    const symbol = symbols.fromVenue(message.coin)
    if (symbol === undefined) return ignored('not recorded')
    return data(channelKey({ topic: 'trades', symbol }), mapTrade(message, symbol, receivedMs))
  },
})
