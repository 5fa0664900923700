/**
 * Binds the port before anything else: a second service on the same port fails here. Until the service is up, clients
 * get a 503 (with TLS: no answer); then the HTTP server takes over the listening socket.
 */
import { createServer, type Server, type Socket } from 'node:net'

export interface BoundPort {
  readonly url: string
  /** `server` accepts connections from now on, and closes the port when it closes. */
  handOver(server: Server): Promise<void>
  /** Where it was not handed over. */
  close(): Promise<void>
}

const BODY = JSON.stringify({
  error: 'environment_unavailable',
  message: 'The service is starting. Try again in a moment.',
})
const STARTING = [
  'HTTP/1.1 503 Service Unavailable',
  'Content-Type: application/json; charset=utf-8',
  `Content-Length: ${Buffer.byteLength(BODY)}`,
  'Retry-After: 1',
  'Cache-Control: no-store',
  'Connection: close',
  '',
  BODY,
].join('\r\n')
export interface BindOptions {
  readonly host: string
  readonly port: number
  /** The server that takes over speaks TLS. */
  readonly isSecure?: boolean
}

const IDLE_MS = 5_000
const MAX_CONNECTIONS = 1_000

export async function bindPort(options: BindOptions): Promise<BoundPort> {
  const early = new Set<Socket>()
  const holder = createServer((socket) => {
    early.add(socket)
    socket.on('close', () => early.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    socket.once('data', () => {
      if (options.isSecure === true) socket.destroy()
      else socket.end(STARTING, () => socket.destroySoon())
    })
  })
  holder.maxConnections = MAX_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    holder.once('error', reject)
    holder.listen({ host: options.host, port: options.port }, resolve)
  })
  holder.removeAllListeners('error')
  return {
    url: urlOf(holder, options.isSecure === true ? 'https' : 'http'),
    handOver: (server) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(holder, () => {
          server.removeListener('error', reject)
          resolve()
        })
      }),
    close: () =>
      new Promise((resolve) => {
        holder.close(() => resolve())
        for (const socket of early) socket.destroy()
      }),
  }
}

/** A reachable URL: the wildcard address is not one. */
function urlOf(server: Server, scheme: string): string {
  const bound = server.address()
  if (typeof bound !== 'object' || bound === null) throw new Error('the port is not bound')
  const { address, port } = bound
  if (address === '0.0.0.0' || address === '::') return `${scheme}://127.0.0.1:${port}`
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`
}
