/** A loopback HTTP server, and reading bodies with a size limit. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { ignoreConnectionErrors, ignoreSocketErrors } from '../../src/kit/socket-errors.ts'

const MAX_BODY_BYTES = 65_536
/**
 * Far longer than a client leaves a connection unused, because closing one while a request is on its way looks like a
 * reset.
 */
const KEEP_ALIVE_MS = 60_000

export interface HttpServer {
  readonly port: number
  /** Cuts every connection. */
  close(): Promise<void>
}

export async function startHttpServer(options: {
  port: number
  /** If the handler throws, the connection is cut. */
  handle: (incoming: IncomingMessage, response: ServerResponse) => Promise<void> | void
  /** If omitted, upgrades are cut. */
  upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}): Promise<HttpServer> {
  const server = createServer(async (incoming, response) => {
    try {
      await options.handle(incoming, response)
    } catch {
      incoming.socket.destroy()
    }
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  ignoreConnectionErrors(server)
  server.on('upgrade', options.upgrade ?? ((_request, socket) => socket.destroy()))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', () => {
      server.off('error', reject)
      // From now on, errors concern connections that could not be accepted.
      ignoreSocketErrors(server)
      resolve()
    })
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const urlOf = (incoming: IncomingMessage): URL => new URL(incoming.url ?? '/', 'http://loopback')

export async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming) {
    size += (chunk as Buffer).length
    if (size > MAX_BODY_BYTES) throw new RangeError('body too large')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}
