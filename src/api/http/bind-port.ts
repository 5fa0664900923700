/**
 * Binds the port before anything else, so that a second service on the same port fails here. Until the service is up,
 * clients get a 503 (with TLS no answer); then the HTTP server takes over the listening socket.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { ApiError } from '../../core/errors.ts'
import { errorReply } from '../../gate/error-reply.ts'
import type { Logger } from '../../kit/log.ts'
import { logAcceptErrors } from './accept-errors.ts'
import { lastAnswer } from './last-answer.ts'
import { requestIds } from './request-ids.ts'

export interface BoundPort {
  readonly url: string
  /** `server` accepts connections from now on, and closes the port when it closes. */
  handOver(server: Server): Promise<void>
  /** For a port that was not handed over. */
  close(): Promise<void>
}

const STARTING = new ApiError(
  'environment_unavailable',
  'The service is starting. Try again in a moment.',
  {},
  [['Retry-After', '1']],
)

export interface BindOptions {
  readonly host: string
  readonly port: number
  /** The server that takes over uses TLS. */
  readonly isSecure?: boolean
  readonly log: Logger
}

const IDLE_MS = 5_000
const MAX_CONNECTIONS = 1_000

export async function bindPort(options: BindOptions): Promise<BoundPort> {
  const early = new Set<Socket>()
  const nextId = requestIds()
  const holder = createServer((socket) => {
    early.add(socket)
    socket.on('close', () => early.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    socket.once('data', () => {
      if (options.isSecure === true) socket.destroy()
      else {
        const id = nextId()
        socket.end(lastAnswer(errorReply(STARTING, id, undefined), id), () => socket.destroySoon())
      }
    })
  })
  holder.maxConnections = MAX_CONNECTIONS
  await listening(holder, options.log, (done) => {
    holder.listen({ host: options.host, port: options.port }, done)
  })
  return {
    url: urlOf(holder, options.isSecure === true ? 'https' : 'http'),
    handOver: (server) =>
      listening(server, options.log, (done) => {
        server.listen(holder, done)
      }),
    close: () =>
      new Promise((resolve) => {
        holder.close(() => resolve())
        for (const socket of early) socket.destroy()
      }),
  }
}

/** Errors before the server listens are thrown to the caller; later ones concern single connections. */
function listening(server: Server, log: Logger, listen: (done: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    listen(() => {
      server.removeListener('error', reject)
      logAcceptErrors(server, log)
      resolve()
    })
  })
}

/** A URL that can be reached, which the wildcard address is not. */
function urlOf(server: Server, scheme: string): string {
  const bound = server.address()
  if (typeof bound !== 'object' || bound === null) throw new Error('the port is not bound')
  const { address, port } = bound
  if (address === '0.0.0.0' || address === '::') return `${scheme}://127.0.0.1:${port}`
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`
}
