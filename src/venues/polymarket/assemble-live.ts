/** The sockets and tasks of a live session: one feed of order books and trades per symbol, and the reference relay. */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import type { LiveSessionOptions } from '../live/live-session.ts'
import type { SocketRoute } from '../live/socket.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import type { PolymarketCatalogue } from './catalogue.ts'
import { POLYMARKET_STREAM_PATH, POLYMARKET_TIMES, type PolymarketHosts } from './describe.ts'
import { TokenFeed } from './feed.ts'
import { followWindows } from './follow-windows.ts'
import type { PolymarketRest } from './history.ts'
import type { ReferenceRelay } from './reference-relay.ts'
import { routeName } from './repair-books.ts'
import { createRepairs } from './repairs.ts'

export function assembleLive(
  channels: readonly Channel[],
  options: {
    readonly hosts: PolymarketHosts
    readonly catalogue: PolymarketCatalogue
    readonly rest: PolymarketRest
    readonly clock: Clock
    readonly random: () => number
    readonly reference: ReferenceRelay
  },
): Pick<LiveSessionOptions, 'routes' | 'polls' | 'protocol' | 'protocolOf' | 'tasks'> {
  const { hosts, catalogue, rest, clock, random, reference } = options
  const isReference = (channel: Channel) => channel.topic === 'reference_price'
  const streamed = channels.filter((each) => each.topic === 'book' || each.topic === 'trades')
  const symbols = [...new Set(channels.filter((each) => !isReference(each)).map((each) => each.symbol))]
  const announced = new Set<AssetSymbol>()
  let io: SessionIo | undefined

  const feeds = symbols.map((symbol) => {
    const repairs = createRepairs()
    const feed = new TokenFeed(symbol, {
      send: (frame) => void io?.send(routeName(symbol), frame),
      repair(tokenId, reason) {
        const waitMs = reason === 'tick_size' ? POLYMARKET_TIMES.bookExpectedMs : 0
        repairs.want(tokenId, clock.now() + waitMs)
      },
      announced: () => void announced.add(symbol),
      resolved: (marketId) => catalogue.resolveNow(marketId),
    })
    return { feed, repairs }
  })
  const marketRoutes = feeds
    .filter(({ feed }) => streamed.some((channel) => channel.symbol === feed.symbol))
    .map(
      ({ feed }): SocketRoute => ({
        name: routeName(feed.symbol),
        url: hosts.stream + POLYMARKET_STREAM_PATH,
        channels: streamed.filter((channel) => channel.symbol === feed.symbol),
        expectsData: () => feed.tokens.size > 0,
        get greeting() {
          return feed.greeting(clock.now())
        },
      }),
    )
  const tasks = followWindows({
    feeds,
    catalogue,
    rest,
    clock,
    random,
    announced,
    channels: channels.filter((channel) => channel.topic === 'markets'),
    onStart: (session) => {
      io = session
    },
  })
  return {
    routes: [...marketRoutes, ...reference.routes(channels.filter(isReference))],
    polls: [],
    protocol: reference.openReader(),
    protocolOf(route) {
      const found = feeds.find(({ feed }) => routeName(feed.symbol) === route.name)
      return found?.feed.openReader() ?? reference.openReader()
    },
    tasks,
  }
}
