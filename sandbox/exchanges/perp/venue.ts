/** The perpetual venue as one loopback server: `POST /info` and `/ws` on the same port. */
import { type AssetSymbol, parseSymbol } from '../../../src/core/symbol.ts'
import { parseObject } from '../../server/json.ts'
import { createWeightWindow } from '../../server/limits.ts'
import { type Misreading, otherSymbol, type RestReply } from '../../server/service.ts'
import type { Session, SocketRules, VenueSocket } from '../../server/sockets.ts'
import {
  type IsListed,
  type RestHandler,
  type SessionParts,
  startVenue,
  type VenueOptions,
  type VenueServer,
} from '../venue-server.ts'
import type { World } from '../world/world.ts'
import { openChannel, parseSubscription, replayFrame } from './channels.ts'
import { answerInfo } from './info.ts'

const SOCKET_RULES: SocketRules = {
  idleMs: 60_000,
  maxConnections: 10,
  newConnections: { max: 30, windowMs: 60_000 },
  messages: { max: 2_000, windowMs: 60_000 },
}
const MAX_STREAMS = 1_000
const WEIGHT_PER_MINUTE = 1_200
/** This venue delivers books and trades some time after their own timestamps. */
const LATENCY_MS = 300

/** Types of requests that can fail separately from the others. */
const SERVICES = new Map<unknown, string>([
  ['candleSnapshot', 'candle-history'],
  ['fundingHistory', 'funding-history'],
  ['recentTrades', 'recent-trades'],
])

export interface PerpLimits {
  readonly sockets?: Partial<SocketRules>
  readonly weightPerMinute?: number
}

export function startPerp(
  options: VenueOptions & { world: World; limits: PerpLimits },
): Promise<VenueServer> {
  const { world, limits } = options
  return startVenue({
    ...options,
    venue: 'perp',
    latencyMs: LATENCY_MS,
    rules: { ...SOCKET_RULES, ...limits.sockets },
    openStream: (stream) => openChannel(world, stream),
    openSession: (url, socket, parts) =>
      url.pathname === '/ws' ? openSession({ world, socket, ...parts }) : undefined,
    rest: (now, isListed) =>
      createRest({ world, weightPerMinute: limits.weightPerMinute ?? WEIGHT_PER_MINUTE, now, isListed }),
  })
}

/** Handles one socket: subscribe, unsubscribe, ping. */
function openSession(options: SessionParts & { world: World; socket: VenueSocket }): Session {
  const { world, socket, hub, isListed } = options
  const subscriber = hub.connect(socket, (frame) => frame.text)
  const { streams } = subscriber
  const send = (channel: string, data: unknown) => socket.reply(JSON.stringify({ channel, data }))

  function change(method: 'subscribe' | 'unsubscribe', value: unknown, text: string): void {
    const parsed = parseSubscription(world, value)
    if (parsed === 'malformed') return void refuse(text)
    // One unknown coin ends the whole socket, without an error message.
    if (parsed === 'unknown-coin' || (method === 'subscribe' && !isListed(parsed.symbol)))
      return void socket.cut()
    const { stream, echo } = parsed
    const isNew = !streams.has(stream)
    if (isNew !== (method === 'subscribe'))
      return void send('error', `Already ${method}d: ${JSON.stringify(echo)}`)
    if (isNew && streams.size >= MAX_STREAMS) return void send('error', 'Cannot track more subscriptions')
    if (!isNew) subscriber.unsubscribe(stream)
    send('subscriptionResponse', { method, subscription: echo })
    if (!isNew) return
    const replay = replayFrame(world, stream, options.now())
    if (replay !== undefined) subscriber.deliverAlone(replay)
    subscriber.subscribe(stream)
  }
  const refuse = (text: string) => send('error', `Error parsing JSON into valid websocket request: ${text}`)

  return {
    closed: () => subscriber.end(),
    isConcerned: (drop) => subscriber.isConcerned(drop),
    receive(text) {
      const { method, subscription } = parseObject(text) ?? {}
      if (method === 'ping') socket.sendData({ text: '{"channel":"pong"}' })
      else if (method === 'subscribe' || method === 'unsubscribe') change(method, subscription, text)
      else refuse(text)
    },
  }
}

const text = (status: number, body: string): RestReply => ({
  status,
  body,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
})
const TOO_MANY: RestReply = { status: 429, body: null }

/**
 * This venue has no limit headers and no Retry-After. The cost is known only with the answer, so it is counted
 * afterwards.
 */
function createRest(options: {
  world: World
  weightPerMinute: number
  now: () => number
  isListed: IsListed
}): RestHandler {
  const { world, weightPerMinute, now, isListed } = options
  const window = createWeightWindow({ limit: weightPerMinute, windowMs: 60_000, now })
  return {
    async handle(request, { lagMs }) {
      if (request.path !== '/info') return text(404, '404 Not Found')
      if (request.method !== 'POST') return text(405, '')
      if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
        return text(415, 'Expected request with `Content-Type: application/json`')
      const body = parseObject(request.body)
      if (body === undefined) return text(400, 'Failed to parse the request body as JSON')
      if (window.take(0).used >= weightPerMinute) return TOO_MANY
      const answer = await answerInfo({ world, isListed, nowMs: now(), lagMs }, body)
      if (window.take(answer.weight).refused !== undefined) return TOO_MANY
      return typeof answer.body === 'string'
        ? text(answer.status, answer.body)
        : { status: answer.status, body: answer.body }
    },
    nameOf: ({ body }) => SERVICES.get(parseObject(body)?.type),
    symbolOf: ({ body }) => coinOf(parseObject(body)),
    misread(request, as) {
      const body = parseObject(request.body)
      const other = body === undefined ? undefined : misreadBody(body, as)
      return other === undefined ? undefined : { ...request, body: JSON.stringify(other) }
    },
    refuse: (status) => (status === 429 ? TOO_MANY : text(status, 'null')),
  }
}

type Body = Record<string, unknown>

function coinOf(body: Body | undefined): AssetSymbol | undefined {
  const coin = body?.coin ?? (body?.req as Body | undefined)?.coin
  return typeof coin === 'string' ? parseSymbol(coin) : undefined
}

/** The parameters are in the body or in its `req`. */
function misreadBody(body: Body, as: Misreading): Body | undefined {
  if (typeof body.req === 'object' && body.req !== null) {
    const req = misreadBody(body.req as Body, as)
    return req === undefined ? undefined : { ...body, req }
  }
  if (as === 'other-symbol') {
    const symbol = coinOf(body)
    return symbol === undefined ? undefined : { ...body, coin: otherSymbol(symbol) }
  }
  const times = Object.entries(body).filter(([key]) => key === 'startTime' || key === 'endTime')
  if (times.length === 0) return undefined
  return {
    ...body,
    ...Object.fromEntries(
      times.map(([key, value]) => [
        key,
        typeof value === 'number' ? Math.max(0, value + as.offsetMs) : value,
      ]),
    ),
  }
}
