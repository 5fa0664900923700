/** One REST service of a venue: its handler behind the faults that concern requests. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { Fault, FaultSwitches, FaultVenue } from './faults.ts'
import { type HttpServer, readBody, startHttpServer, urlOf } from './http.ts'

export interface RestRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface RestReply {
  readonly status: number
  /** Text is sent as it is, everything else as JSON. */
  readonly body: unknown
  readonly headers?: Record<string, string>
}

export interface RestService {
  readonly venue: FaultVenue
  /** gamma, clob, data, rest: the channel of a fault that concerns this service only. */
  readonly name: string
  readonly provider?: number
  handle(request: RestRequest): Promise<RestReply> | RestReply
  /** The symbol that a request is about, for faults of one symbol. */
  symbolOf?(request: RestRequest): AssetSymbol | undefined
  /** How this venue words a refusal. */
  refuse(status: number, retryAfterS: number): RestReply
}

const DEFAULT_RETRY_AFTER_S = 5

export const ok = (body: unknown): RestReply => ({ status: 200, body })

export async function startService(options: {
  service: RestService
  port: number
  faults: FaultSwitches
  upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}): Promise<HttpServer> {
  const { service, faults } = options
  const { venue, name, provider } = service

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = urlOf(incoming)
    const request: RestRequest = {
      method: incoming.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: incoming.method === 'POST' ? await readBody(incoming) : '',
    }
    const target = {
      channel: 'rest',
      service: name,
      symbol: service.symbolOf?.(request),
      ...(provider === undefined ? {} : { provider }),
    }
    if (faults.hit('drop', venue, target)) return void incoming.socket.destroy()
    if (faults.hit('hang', venue, target)) return
    const fault =
      faults.hit('rate-limit', venue, target) ??
      faults.hit('ban', venue, target) ??
      faults.hit('http-error', venue, target)
    const reply =
      fault === undefined
        ? await service.handle(request)
        : service.refuse(statusOf(fault), fault.retryAfterS ?? DEFAULT_RETRY_AFTER_S)
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body)
    const isBroken = faults.hit('malformed', venue, target) !== undefined
    const isText = typeof reply.body === 'string' && !/^[[{]/.test(text)
    response.writeHead(reply.status, {
      'content-type': isText ? 'text/plain' : 'application/json',
      ...reply.headers,
    })
    response.end(isBroken ? text.slice(0, Math.ceil(text.length / 2)) : text)
  }

  const { port, upgrade } = options
  return startHttpServer({ port, handle, ...(upgrade === undefined ? {} : { upgrade }) })
}

const statusOf = (fault: Fault): number =>
  fault.kind === 'rate-limit' ? 429 : fault.kind === 'ban' ? 418 : (fault.status ?? 503)
