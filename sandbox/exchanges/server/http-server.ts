/** A loopback HTTP server for one venue: body limit, REST faults, and a hand-over of WebSocket upgrades. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import { ignoreConnectionErrors } from '../../../src/kit/socket-errors.ts'
import type { Venue } from '../world/markets.ts'
import type { Faults } from './faults.ts'

export interface Request {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly contentType: string
  readonly body: string
}

export interface Reply {
  readonly status: number
  readonly body: string
  /** application/json unless said otherwise. */
  readonly contentType?: string
  readonly headers?: Record<string, string>
}

export interface RestHandler {
  handle(request: Request): Promise<Reply> | Reply
  symbolOf(request: Request): AssetSymbol | undefined
  /** How this venue words a refusal. */
  refuse(status: number, retryAfterS: number): Reply
}

const MAX_BODY_BYTES = 65_536
const DEFAULT_RETRY_AFTER_S = 5

export interface HttpServer {
  readonly port: number
  close(): Promise<void>
}

export async function startHttpServer(options: {
  venue: Venue
  port: number
  faults: Faults
  rest: RestHandler
  /** The venue's clock: the Date header follows it. */
  now: () => number
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}): Promise<HttpServer> {
  const { venue, faults, rest } = options
  /** Requests that a fault leaves without an answer; ended when the server closes. */
  const hanging = new Set<ServerResponse>()

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://loopback')
    const request: Request = {
      method: incoming.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      contentType: incoming.headers['content-type'] ?? '',
      body: incoming.method === 'POST' ? await readBody(incoming) : '',
    }
    const target = { channel: 'rest', symbol: rest.symbolOf(request) }
    if (faults.hit('drop', venue, target)) return void incoming.socket.destroy()
    if (faults.hit('hang', venue, target)) {
      hanging.add(response)
      response.on('close', () => hanging.delete(response))
      return
    }
    const fault =
      faults.hit('rate-limit', venue, target) ??
      faults.hit('ban', venue, target) ??
      faults.hit('http-error', venue, target)
    const reply =
      fault === undefined
        ? await rest.handle(request)
        : rest.refuse(
            fault.kind === 'rate-limit' ? 429 : fault.kind === 'ban' ? 418 : (fault.status ?? 503),
            fault.retryAfterS ?? DEFAULT_RETRY_AFTER_S,
          )
    const isBroken = faults.hit('malformed', venue, target) !== undefined
    const body = isBroken ? reply.body.slice(0, Math.ceil(reply.body.length / 2)) : reply.body
    response.writeHead(reply.status, {
      date: new Date(options.now()).toUTCString(),
      'content-type': reply.contentType ?? 'application/json;charset=UTF-8',
      ...reply.headers,
    })
    response.end(body)
  }

  const server = createServer((incoming, response) => {
    respond(incoming, response).catch(() => incoming.socket.destroy())
  })
  ignoreConnectionErrors(server)
  server.on('upgrade', options.upgrade)
  await listen(server, options.port)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        for (const response of hanging) response.destroy()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
}

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
