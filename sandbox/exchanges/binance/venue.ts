/** Spot or futures exchange as one loopback server: REST and streams on the same port. */
import type { Clock } from '../../../src/kit/clock.ts'
import type { Faults } from '../server/faults.ts'
import type { SocketRules } from '../server/sockets.ts'
import { startVenue, type VenueServer } from '../server/venue-server.ts'
import type { World } from '../world/world.ts'
import { futuresRoutes } from './futures-routes.ts'
import { FUTURES_RULES, marketRoutes, SPOT_RULES } from './market-routes.ts'
import { createRest, type RestLimits } from './rest.ts'
import { openSession, parsePath } from './session.ts'
import { spotRoutes } from './spot-routes.ts'
import { openStream, type Product } from './streams.ts'

const DAY_MS = 86_400_000

const SOCKET_RULES: Record<Product, SocketRules> = {
  spot: {
    pingEveryMs: 20_000,
    pongWithinMs: 60_000,
    idleMs: 0,
    lifetimeMs: DAY_MS,
    maxConnections: Number.POSITIVE_INFINITY,
    maxNewConnections: 300,
    newConnectionsWindowMs: 300_000,
    maxStreams: 1_024,
    maxMessages: 5,
    messagesWindowMs: 1_000,
  },
  futures: {
    pingEveryMs: 180_000,
    pongWithinMs: 600_000,
    idleMs: 0,
    lifetimeMs: DAY_MS,
    maxConnections: Number.POSITIVE_INFINITY,
    maxNewConnections: 300,
    newConnectionsWindowMs: 300_000,
    maxStreams: 1_024,
    maxMessages: 10,
    messagesWindowMs: 1_000,
  },
}

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

export function startBinance(options: {
  product: Product
  world: World
  clock: Clock
  faults: Faults
  port: number
  tickMs: number
  limits: BinanceLimits
}): Promise<VenueServer> {
  const { product, world } = options
  const rules = { ...SOCKET_RULES[product], ...options.limits.sockets }
  const limits = { ...REST_LIMITS[product], ...options.limits.rest }
  return startVenue({
    ...options,
    venue: product,
    latencyMs: 0,
    rules,
    openStream: (stream) => openStream(world, product, stream),
    rest: (now) =>
      createRest({
        product,
        limits,
        now,
        routes:
          product === 'spot'
            ? { ...marketRoutes(world, SPOT_RULES), ...spotRoutes(world, limits) }
            : { ...marketRoutes(world, FUTURES_RULES), ...futuresRoutes(world, limits) },
      }),
    openSession(url, socket, now) {
      const path = parsePath(product, url)
      return path === undefined
        ? undefined
        : openSession({ product, path, socket, maxStreams: rules.maxStreams, now })
    },
  })
}
