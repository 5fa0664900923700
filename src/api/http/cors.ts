import type { IncomingHttpHeaders } from 'node:http'
import { EXPOSED_HEADERS } from '../../gate/reply.ts'
import type { HeaderList } from '../../gate/request.ts'
import { VARY } from './vary.ts'

/** Browsers may call with the key header from any origin, unless a setting restricts it. */
export interface Cors {
  pushHeaders(headers: HeaderList, request: IncomingHttpHeaders): void
  preflight(request: IncomingHttpHeaders, methods: readonly string[]): HeaderList
}

const REQUEST_HEADERS = [
  'X-API-Key',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'Accept',
]
const PREFLIGHT_SECONDS = 86_400
const EXPOSED = EXPOSED_HEADERS.join(', ')

export function createCors(origins: readonly string[]): Cors {
  const any = origins.includes('*')
  const allowed = (origin: string | undefined) =>
    any ? '*' : origin !== undefined && origins.includes(origin) ? origin : undefined
  const pushHeaders: Cors['pushHeaders'] = (headers, request) => {
    const origin = allowed(request.origin)
    if (origin !== undefined) headers.push('Access-Control-Allow-Origin', origin)
    // Only browsers send an origin and need the list.
    if (request.origin !== undefined) headers.push('Access-Control-Expose-Headers', EXPOSED)
  }
  return {
    pushHeaders,
    preflight(request, methods) {
      const headers: HeaderList = ['Allow', methods.join(', ')]
      pushHeaders(headers, request)
      headers.push(
        'Vary',
        VARY.open,
        'Access-Control-Allow-Methods',
        methods.join(', '),
        'Access-Control-Allow-Headers',
        REQUEST_HEADERS.join(', '),
        'Access-Control-Max-Age',
        String(PREFLIGHT_SECONDS),
      )
      return headers
    },
  }
}
