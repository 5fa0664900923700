/** Puts the parts of one venue together: its clock, its hub, its sockets and its HTTP server. */
import type { Clock } from '../../../src/kit/clock.ts'
import type { Venue } from '../world/markets.ts'
import type { Faults } from './faults.ts'
import { type RestHandler, startHttpServer } from './http-server.ts'
import { createHub, type Producer } from './hub.ts'
import { createSockets, type Session, type SocketRules, type VenueSocket } from './sockets.ts'

export interface VenueState {
  readonly connections: number
  readonly connectionsOpened: number
  readonly framesDelivered: number
  readonly streams: string[]
}

export interface VenueServer {
  readonly port: number
  state(): VenueState
  close(): Promise<void>
}

export async function startVenue(options: {
  venue: Venue
  clock: Clock
  faults: Faults
  port: number
  tickMs: number
  latencyMs: number
  rules: SocketRules
  openStream: (stream: string) => Producer | undefined
  openSession: (url: URL, socket: VenueSocket, now: () => number) => Session | undefined
  rest: (now: () => number) => RestHandler
}): Promise<VenueServer> {
  const { venue, clock, faults } = options
  const abort = new AbortController()
  const { signal } = abort
  const venueNow = () => Math.floor(clock.now() + faults.skewMs(venue))
  const { tickMs, latencyMs, openStream: open } = options
  const hub = createHub({ venue, clock, faults, signal, tickMs, latencyMs, venueNow, open })
  const sockets = createSockets({
    venue,
    clock,
    faults,
    hub,
    rules: options.rules,
    signal,
    openSession: (url, socket) => options.openSession(url, socket, venueNow),
  })
  const http = await startHttpServer({
    venue,
    port: options.port,
    faults,
    rest: options.rest(venueNow),
    now: venueNow,
    upgrade: sockets.upgrade,
  })
  hub.start()
  return {
    port: http.port,
    state: () => ({
      connections: sockets.count(),
      connectionsOpened: sockets.opened(),
      framesDelivered: hub.delivered(),
      streams: hub.streams(),
    }),
    async close() {
      abort.abort()
      await sockets.close()
      await http.close()
    },
  }
}
