/** The spot or futures exchange as one loopback server: REST and combined streams on the same port. */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { Session, SocketRules, VenueSocket } from '../../server/sockets.ts'
import type { Hub } from '../hub.ts'
import { startVenue, type VenueOptions, type VenueServer } from '../venue-server.ts'
import type { World } from '../world/world.ts'
import { createRest, type Product, type RestLimits } from './rest.ts'
import { routesOf } from './routes.ts'
import { openStream } from './streams.ts'

const CONNECTIONS: SocketRules = {
  pingBody: String,
  lifetimeMs: 86_400_000,
  newConnections: { max: 300, windowMs: 300_000 },
}
const SOCKET_RULES: Record<Product, SocketRules> = {
  spot: {
    ...CONNECTIONS,
    pingEveryMs: 20_000,
    pongWithinMs: 60_000,
    messages: { max: 5, windowMs: 1_000 },
  },
  futures: {
    ...CONNECTIONS,
    pingEveryMs: 180_000,
    pongWithinMs: 600_000,
    messages: { max: 10, windowMs: 1_000 },
  },
}
const MAX_STREAMS = 1_024

const REST_LIMITS: Record<Product, RestLimits> = {
  spot: { weightPerMinute: 6_000, fundingPerFiveMinutes: 0, statisticsPerFiveMinutes: 0, bansAfter: 20 },
  futures: {
    weightPerMinute: 2_400,
    fundingPerFiveMinutes: 500,
    statisticsPerFiveMinutes: 1_000,
    bansAfter: 20,
  },
}

export interface BinanceLimits {
  readonly sockets?: Partial<SocketRules>
  readonly rest?: Partial<RestLimits>
}

export function startBinance(
  product: Product,
  options: VenueOptions & { world: World; limits: BinanceLimits },
): Promise<VenueServer> {
  const { world } = options
  const quietLagMs = (symbol: AssetSymbol) =>
    options.faults.hit('late-quiet', product, { channel: 'rest', symbol })?.delayMs ?? 0
  const limits = { ...REST_LIMITS[product], ...options.limits.rest }
  return startVenue({
    ...options,
    venue: product,
    latencyMs: 0,
    rules: { ...SOCKET_RULES[product], ...options.limits.sockets },
    openStream: (stream) => openStream(world, product, stream),
    rest: (now, isListed) =>
      createRest({
        product,
        limits,
        now,
        isListed,
        routes: routesOf(world, product, limits, isListed, quietLagMs),
      }),
    openSession: (url, socket, { hub, now }) => openSession(product, { url, socket, hub, now }),
  })
}

/** Futures streams of the class `/public`; all others belong to `/market`. */
const PUBLIC_STREAM = /@bookTicker$/

/** The streams are named in the URL. A futures stream with the wrong class or none connects but stays silent. */
function openSession(
  product: Product,
  options: { url: URL; socket: VenueSocket; hub: Hub; now: () => number },
): Session | undefined {
  const { url, socket, hub } = options
  const match = /^(?:\/(market|public))?\/stream$/.exec(url.pathname)
  const streamClass = match?.[1]
  if (match === null || (product === 'spot' && streamClass !== undefined)) return undefined
  const subscriber = hub.connect(socket, (frame) => `{"stream":"${frame.stream}","data":${frame.text}}`)
  const classOf = (stream: string) => (PUBLIC_STREAM.test(stream) ? 'public' : 'market')
  const streams = (url.searchParams.get('streams') ?? '').split('/').filter((stream) => stream !== '')
  for (const stream of streams.slice(0, MAX_STREAMS))
    if (product === 'spot' || classOf(stream) === streamClass) subscriber.subscribe(stream)
  return {
    // Clients have nothing to request on this socket, so messages are only counted.
    receive: () => undefined,
    closed: () => subscriber.end(),
    isConcerned: (drop) => subscriber.isConcerned(drop),
    ...(product === 'spot'
      ? {
          beforeEnd: () =>
            socket.sendData({
              text: `{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":${options.now()}}}`,
            }),
        }
      : {}),
  }
}
