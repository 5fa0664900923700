/**
 * If the system cannot accept a connection (its file table is full, it is out of memory, a firewall objects), the
 * server emits an error and continues to listen. Without a listener such an error would end the process, so every
 * listening server has this one as long as it lives.
 */
import type { Server } from 'node:net'
import type { Logger } from '../../kit/log.ts'
import { nowAndThen } from './now-and-then.ts'

export function logAcceptErrors(server: Server, log: Logger): void {
  const say = nowAndThen((count, err: Error) => log.warn({ err, count }, 'connections could not be accepted'))
  server.on('error', say)
}
