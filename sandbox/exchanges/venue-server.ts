/** Assembles the parts of one venue: its clock, its streams, its sockets and its REST service. */
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { FaultSwitches } from '../server/faults.ts'
import { answersOf, type RestReply, type RestService } from '../server/service.ts'
import {
  createSockets,
  type Session,
  type SocketRules,
  type SocketsState,
  type VenueSocket,
} from '../server/sockets.ts'
import { startTicks, type Ticks } from '../server/ticks.ts'
import type { Listen } from '../server/transport.ts'
import { createHub, type Hub, type Producer } from './hub.ts'
import type { ExchangeVenue } from './world/markets.ts'

export interface VenueState extends SocketsState {
  readonly streams: string[]
}

export interface VenueServer {
  readonly port: number
  state(): VenueState
  close(): Promise<void>
}

export type RestHandler = Pick<RestService, 'handle' | 'nameOf' | 'symbolOf' | 'refuse' | 'misread'>

/** Whether a symbol is currently listed, as far as faults decide it. */
export type IsListed = (symbol: AssetSymbol) => boolean

export interface SessionParts {
  readonly hub: Hub
  readonly now: () => number
  readonly isListed: IsListed
}

export interface VenueOptions extends Omit<Ticks, 'signal'> {
  readonly faults: FaultSwitches
  readonly listen: Listen
  readonly port: number
}

export async function startVenue(
  options: VenueOptions & {
    venue: ExchangeVenue
    /** How old an event is when the venue sends it. */
    latencyMs: number
    rules: SocketRules
    openStream: (stream: string) => Producer | undefined
    openSession: (url: URL, socket: VenueSocket, about: SessionParts) => Session | undefined
    rest: (now: () => number, isListed: IsListed) => RestHandler
  },
): Promise<VenueServer> {
  const { venue, clock, faults, tickMs, rules } = options
  const abort = new AbortController()
  const { signal } = abort
  const now = () => Math.floor(clock.now() + faults.skewMs(venue))
  const isListed: IsListed = (symbol) => faults.find('delisted', venue, { channel: '', symbol }) === undefined
  const hub = createHub({ venue, clock, faults, signal, open: options.openStream })
  const sockets = createSockets({
    ...{ venue, clock, faults, rules, signal },
    open: (socket, url) => options.openSession(url, socket, { hub, now, isListed }),
  })
  const rest = options.rest(now, isListed)
  const typed = (reply: RestReply): RestReply => ({
    ...reply,
    headers: { 'content-type': 'application/json;charset=UTF-8', ...reply.headers },
  })
  const service: RestService = {
    ...rest,
    venue,
    name: 'rest',
    handle: async (request, flaws) => typed(await rest.handle(request, flaws)),
    refuse: (status, retryAfterS) => typed(rest.refuse(status, retryAfterS)),
  }
  const endpoint = { answer: answersOf({ service, faults, now }), upgrade: sockets.upgrade }
  const listener = await options.listen(endpoint, options.port)
  startTicks(
    { clock, tickMs, signal },
    { now: () => now() - options.latencyMs, produce: (fromMs, toMs) => hub.produce(fromMs, toMs) },
  )
  return {
    port: listener.port,
    state: () => ({ ...sockets.state(), streams: hub.streams() }),
    async close() {
      abort.abort()
      await sockets.close()
      await listener.close()
    },
  }
}
