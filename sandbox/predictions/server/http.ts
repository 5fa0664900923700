/** A loopback HTTP server of one service: body limit, request budget, REST faults, hand-over of upgrades. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import { ignoreConnectionErrors } from '../../../src/kit/socket-errors.ts'
import { listen, readBody } from '../../exchanges/server/http-server.ts'
import type { Faults, Venue } from './faults.ts'

export interface Request {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Reply {
  readonly status: number
  /** Text is sent as it is, everything else as JSON. */
  readonly body: unknown
  readonly headers?: Record<string, string>
}

export interface Service {
  readonly venue: Venue
  /** gamma, clob, data, rest; the channel of a fault that concerns this service only. */
  readonly name: string
  readonly provider?: number
  handle(request: Request): Promise<Reply> | Reply
  /** Whom a request is about, for faults of one symbol. */
  symbolOf?(request: Request): AssetSymbol | undefined
  refuse(status: number, retryAfterS: number): Reply
}

export interface HttpServer {
  readonly port: number
  close(): Promise<void>
}

const DEFAULT_RETRY_AFTER_S = 5

export const ok = (body: unknown): Reply => ({ status: 200, body })

export async function startService(options: {
  service: Service
  port: number
  faults: Faults
  upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}): Promise<HttpServer> {
  const { service, faults } = options
  const { venue } = service
  /** Requests that a fault leaves without an answer; ended when the server closes. */
  const hanging = new Set<ServerResponse>()

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://loopback')
    const request: Request = {
      method: incoming.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: incoming.method === 'POST' ? await readBody(incoming) : '',
    }
    const target = {
      channel: 'rest',
      service: service.name,
      symbol: service.symbolOf?.(request),
      ...(service.provider === undefined ? {} : { provider: service.provider }),
    }
    if (faults.hit('drop', venue, target)) return void incoming.socket.destroy()
    if (faults.hit('hang', venue, target)) {
      hanging.add(response)
      response.on('close', () => hanging.delete(response))
      return
    }
    const fault = faults.hit('rate-limit', venue, target) ?? faults.hit('http-error', venue, target)
    const reply =
      fault === undefined
        ? await service.handle(request)
        : service.refuse(
            fault.kind === 'rate-limit' ? 429 : (fault.status ?? 503),
            fault.retryAfterS ?? DEFAULT_RETRY_AFTER_S,
          )
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body)
    const isBroken = faults.hit('malformed', venue, target) !== undefined
    response.writeHead(reply.status, {
      'content-type':
        typeof reply.body === 'string' && !/^[[{]/.test(text) ? 'text/plain' : 'application/json',
      ...reply.headers,
    })
    response.end(isBroken ? text.slice(0, Math.ceil(text.length / 2)) : text)
  }

  const server = createServer((incoming, response) => {
    respond(incoming, response).catch(() => incoming.socket.destroy())
  })
  ignoreConnectionErrors(server)
  server.on('upgrade', options.upgrade ?? ((_request, socket) => socket.destroy()))
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
