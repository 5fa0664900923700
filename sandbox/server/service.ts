/** One REST service of a venue: its handler behind the faults that concern requests. */
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { Fault, FaultSwitches, FaultVenue } from './faults.ts'
import type { Endpoint, RestRequest } from './transport.ts'

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

/** The `answer` of an endpoint. */
export function answersOf(options: {
  service: RestService
  faults: FaultSwitches
  /** The venue's own clock, which the `Date` header follows. */
  now: () => number
}): Endpoint['answer'] {
  const { service, faults, now } = options
  const { venue, name, provider } = service
  return async (request) => {
    const target = {
      channel: 'rest',
      service: name,
      symbol: service.symbolOf?.(request),
      ...(provider === undefined ? {} : { provider }),
    }
    if (faults.hit('drop', venue, target)) return 'cut'
    if (faults.hit('hang', venue, target)) return 'hang'
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
    return {
      status: reply.status,
      headers: {
        date: new Date(now()).toUTCString(),
        'content-type': isText ? 'text/plain' : 'application/json',
        ...reply.headers,
      },
      body: isBroken ? text.slice(0, Math.ceil(text.length / 2)) : text,
    }
  }
}

const statusOf = (fault: Fault): number =>
  fault.kind === 'rate-limit' ? 429 : fault.kind === 'ban' ? 418 : (fault.status ?? 503)
