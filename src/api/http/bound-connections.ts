/**
 * Each connection is an open file. Callers who take all that the process may open would leave none for databases,
 * threads and the sockets to venues and nodes, so connections above a part of them are closed when they arrive.
 */
import type { Server } from 'node:net'
import type { Logger } from '../../kit/log.ts'
import { openFileLimit } from '../../kit/open-file-limit.ts'

/** What the service itself opens, several times over. */
const OWN_FILES = 1_024
const MAX_CONNECTIONS = 50_000
const SAY_EVERY_MS = 60_000

/** Half of what may be opened where that is little. */
export function connectionsWithin(openFiles: number): number {
  return Math.min(MAX_CONNECTIONS, Math.max(Math.floor(openFiles / 2), openFiles - OWN_FILES))
}

export function boundConnections(
  server: Server,
  log: Logger,
  max = connectionsWithin(openFileLimit() ?? MAX_CONNECTIONS),
): void {
  let dropped = 0
  let saying: NodeJS.Timeout | undefined
  const say = () => {
    saying = undefined
    if (dropped === 0) return
    log.warn({ max, dropped }, 'connections were refused: too many are open')
    dropped = 0
    saying = setTimeout(say, SAY_EVERY_MS).unref()
  }
  server.maxConnections = max
  server.on('drop', () => {
    dropped++
    if (saying === undefined) say()
  })
}
