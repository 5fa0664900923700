/**
 * Each connection is an open file. If callers took all files that the process may open, none would be left for
 * databases, threads and the sockets to venues and nodes, so new connections above a share of them are closed. One
 * address gets a quarter of that share, which is enough for a whole company behind it and leaves the rest to others. A
 * proxy represents many addresses and has no such limit.
 */
import type { Server, Socket } from 'node:net'
import { ActiveCounts } from '../../kit/active-counts.ts'
import { addressGroup } from '../../kit/ip-range.ts'
import type { Logger } from '../../kit/log.ts'
import { openFileLimit } from '../../kit/open-file-limit.ts'
import { nowAndThen } from './now-and-then.ts'

/** Several times what the service itself opens. */
const OWN_FILES = 1_024
const MAX_CONNECTIONS = 50_000
const SHARE_OF_ADDRESS = 4

/** Half of the files that may be opened, if they are few. */
export function connectionsWithin(openFiles: number): number {
  return Math.min(MAX_CONNECTIONS, Math.max(Math.floor(openFiles / 2), openFiles - OWN_FILES))
}

/** To be called after all listeners for connections have been added. */
export function boundConnections(
  server: Server,
  options: {
    readonly log: Logger
    /** A known proxy, or a process on this machine. */
    readonly isProxy: (address: string) => boolean
    readonly max?: number
  },
): void {
  const { log, isProxy, max = connectionsWithin(openFileLimit() ?? MAX_CONNECTIONS) } = options
  const maxOfAddress = Math.ceil(max / SHARE_OF_ADDRESS)
  const dropped = nowAndThen<void>((count) =>
    log.warn({ max, dropped: count }, 'connections were refused: too many are open'),
  )
  const droppedOfAddress = nowAndThen((count, address: string) =>
    log.warn(
      { max: maxOfAddress, dropped: count, address },
      'connections were refused: too many of one address are open',
    ),
  )
  const open = new ActiveCounts<string>()
  const listeners = server.listeners('connection')
  server.maxConnections = max
  server.on('drop', () => dropped())
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    if (!isProxy(address)) {
      const group = addressGroup(address)
      if (open.of(group) >= maxOfAddress) {
        socket.destroy()
        droppedOfAddress(group)
        return
      }
      socket.once('close', open.add(group))
    }
    for (const listener of listeners) listener.call(server, socket)
  })
}
