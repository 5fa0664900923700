/** The venue's stream: signed connections, the clock that moves them, and the announcements for all. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../src/kit/clock.ts'
import { createSocketServer, type SocketServer } from '../server/sockets.ts'
import { startTicker } from '../server/ticker.ts'
import { openSession } from './commands.ts'
import { createLifecycle } from './lifecycle.ts'
import type { createSignatureCheck } from './sign.ts'
import { type Client, createTeller } from './teller.ts'
import type { Venue } from './view.ts'

export const SOCKET_PATH = '/trade-api/ws/v2'
const PING_MS = 10_000

export function createKalshiSocket(options: {
  venue: Venue
  clock: Clock
  signal: AbortSignal
  tickMs: number
  maxConnections: number
  check: ReturnType<typeof createSignatureCheck>
}): SocketServer {
  const { venue } = options
  const { faults } = venue
  const clients = new Set<Client>()
  const lifecycle = createLifecycle(venue)
  const teller = createTeller(venue)

  function produce(_fromMs: number, toMs: number): void {
    const hears = [...clients].some((client) =>
      [...client.subscriptions.values()].some((one) => one.channel === 'market_lifecycle_v2'),
    )
    const wide = lifecycle.until(toMs, hears)
    for (const client of clients)
      for (const subscription of client.subscriptions.values()) {
        if (subscription.channel === 'market_lifecycle_v2') {
          for (const { market, msg } of wide)
            client.socket.publish({
              channel: 'market_lifecycle_v2',
              symbol: market.event.series.symbol,
              text: JSON.stringify({ type: 'market_lifecycle_v2', sid: subscription.sid, msg }),
            })
          continue
        }
        for (const told of subscription.markets.values()) teller.tell(client, subscription, told, toMs)
      }
  }

  const server = createSocketServer({
    venue: 'kalshi',
    clock: options.clock,
    faults,
    signal: options.signal,
    paths: [SOCKET_PATH],
    maxConnections: options.maxConnections,
    pingEveryMs: PING_MS,
    pingBody: 'heartbeat',
    authorize: (request: IncomingMessage) =>
      options.check(request.headers, 'GET', SOCKET_PATH) === undefined &&
      faults.hit('rejected-key', 'kalshi', { channel: '' }) === undefined
        ? undefined
        : '401 Unauthorized',
    open(socket) {
      const client: Client = { socket, subscriptions: new Map(), nextSid: 1 }
      clients.add(client)
      return openSession({ venue, client, teller, closed: () => void clients.delete(client) })
    },
  })
  startTicker({
    clock: options.clock,
    now: () => options.venue.now(),
    signal: options.signal,
    tickMs: options.tickMs,
    produce,
  })
  return server
}
