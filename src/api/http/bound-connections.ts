/**
 * Each connection is an open file. Callers who take all that the process may open would leave none for databases,
 * threads and the sockets to venues and nodes, so connections above a part of them are closed when they arrive. One
 * address gets a quarter of that part: enough for a whole company behind it, and the rest stays for others. A proxy
 * speaks for many addresses and has no such bound.
 */
import type { Server, Socket } from 'node:net'
import { ActiveCounts } from '../../kit/active-counts.ts'
import { addressGroup } from '../../kit/ip-range.ts'
import type { Logger } from '../../kit/log.ts'
import { openFileLimit } from '../../kit/open-file-limit.ts'

/** What the service itself opens, several times over. */
const OWN_FILES = 1_024
const MAX_CONNECTIONS = 50_000
const SHARE_OF_ADDRESS = 4
const SAY_EVERY_MS = 60_000

/** Half of what may be opened where that is little. */
export function connectionsWithin(openFiles: number): number {
  return Math.min(MAX_CONNECTIONS, Math.max(Math.floor(openFiles / 2), openFiles - OWN_FILES))
}

/** To be called when all listeners for connections are there. */
export function boundConnections(
  server: Server,
  options: {
    readonly log: Logger
    /** A proxy that is known as one, or a process of this machine. */
    readonly isProxy: (address: string) => boolean
    readonly max?: number
  },
): void {
  const { log, isProxy, max = connectionsWithin(openFileLimit() ?? MAX_CONNECTIONS) } = options
  const maxOfAddress = Math.ceil(max / SHARE_OF_ADDRESS)
  const dropped = nowAndThen((count) =>
    log.warn({ max, dropped: count }, 'connections were refused: too many are open'),
  )
  const droppedOfAddress = nowAndThen((count, address) =>
    log.warn(
      { max: maxOfAddress, dropped: count, address },
      'connections were refused: too many of one address are open',
    ),
  )
  const open = new ActiveCounts<string>()
  const listeners = server.listeners('connection')
  server.maxConnections = max
  server.on('drop', () => dropped(''))
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

/** Says at once that something happened, and then at most once a minute how often. */
function nowAndThen(say: (count: number, last: string) => void): (what: string) => void {
  let count = 0
  let last = ''
  let saying: NodeJS.Timeout | undefined
  const sayNow = () => {
    saying = undefined
    if (count === 0) return
    say(count, last)
    count = 0
    saying = setTimeout(sayNow, SAY_EVERY_MS).unref()
  }
  return (what) => {
    count++
    last = what
    if (saying === undefined) sayNow()
  }
}
