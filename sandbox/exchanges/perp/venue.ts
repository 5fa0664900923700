/** The perpetual venue as one loopback server: `POST /info` and `/ws` on the same port. */
import { parseSymbol } from '../../../src/core/symbol.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import type { Faults } from '../server/faults.ts'
import type { Reply, Request, RestHandler } from '../server/http-server.ts'
import type { SocketRules } from '../server/sockets.ts'
import { startVenue, type VenueServer } from '../server/venue-server.ts'
import { createWeightWindow } from '../server/weight-window.ts'
import type { World } from '../world/world.ts'
import { openChannel } from './channels.ts'
import { answerInfo } from './info.ts'
import { openSession } from './session.ts'

const SOCKET_RULES: SocketRules = {
  pingEveryMs: 0,
  pongWithinMs: 0,
  idleMs: 60_000,
  lifetimeMs: Number.POSITIVE_INFINITY,
  maxConnections: 10,
  maxNewConnections: 30,
  newConnectionsWindowMs: 60_000,
  maxStreams: 1_000,
  maxMessages: 2_000,
  messagesWindowMs: 60_000,
}

const WEIGHT_PER_MINUTE = 1_200
/** Books and trades of this venue arrive some time after their own time. */
const LATENCY_MS = 300

export interface PerpLimits {
  readonly sockets?: Partial<SocketRules>
  readonly weightPerMinute?: number
}

export function startPerp(options: {
  world: World
  clock: Clock
  faults: Faults
  port: number
  tickMs: number
  limits: PerpLimits
}): Promise<VenueServer> {
  const { world, limits } = options
  const rules = { ...SOCKET_RULES, ...limits.sockets }
  return startVenue({
    ...options,
    venue: 'perp',
    latencyMs: LATENCY_MS,
    rules,
    openStream: (stream) => openChannel(world, stream),
    openSession(url, socket, now) {
      if (url.pathname !== '/ws') return undefined
      const info = async (body: unknown) => {
        const answer = await answerInfo(world, body, now())
        return answer.isText === true ? null : (JSON.parse(answer.body) as unknown)
      }
      return openSession({ world, socket, maxStreams: rules.maxStreams, now, info })
    },
    rest: (now) => createRest(world, limits.weightPerMinute ?? WEIGHT_PER_MINUTE, now),
  })
}

const text = (status: number, body: string): Reply => ({
  status,
  body,
  contentType: 'text/plain; charset=utf-8',
})

/** This venue has no limit headers and no Retry-After. The cost is known only with the answer, so it is booked after. */
function createRest(world: World, weightPerMinute: number, now: () => number): RestHandler {
  const window = createWeightWindow({
    limit: weightPerMinute,
    windowMs: 60_000,
    now,
    bansAfter: Number.POSITIVE_INFINITY,
  })
  return {
    async handle(request) {
      if (request.path !== '/info') return text(404, '404 Not Found')
      if (request.method !== 'POST') return text(405, '')
      if (!request.contentType.startsWith('application/json'))
        return text(415, 'Expected request with `Content-Type: application/json`')
      const body = parseBody(request)
      if (body === undefined) return text(400, 'Failed to parse the request body as JSON')
      if (window.take(0).used >= weightPerMinute) return tooMany()
      const answer = await answerInfo(world, body, now())
      if (window.take(answer.weight).refused !== undefined) return tooMany()
      return answer.isText === true
        ? text(answer.status, answer.body)
        : { status: answer.status, body: answer.body }
    },
    symbolOf(request) {
      const body = parseBody(request) as { coin?: unknown; req?: { coin?: unknown } } | undefined
      const coin = body?.coin ?? body?.req?.coin
      return typeof coin === 'string' ? parseSymbol(coin) : undefined
    },
    refuse: (status) => (status === 429 ? tooMany() : text(status, 'null')),
  }
}

const tooMany = (): Reply => ({ status: 429, body: 'null' })

function parseBody(request: Request): unknown {
  try {
    return JSON.parse(request.body)
  } catch {
    return undefined
  }
}
