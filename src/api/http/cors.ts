import type { IncomingHttpHeaders } from 'node:http'
import { EXPOSED_HEADERS } from '../../gate/reply.ts'
import type { HeaderList } from '../../gate/request.ts'
import { VARY } from './vary.ts'

const REQUEST_HEADERS = [
  'X-API-Key',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'Accept',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
]
const PREFLIGHT_SECONDS = 86_400
const EXPOSED = EXPOSED_HEADERS.join(', ')

export type Cors = ReturnType<typeof createCors>

/** Browsers may send the key header from any origin, unless a setting restricts it. */
export function createCors(origins: readonly string[]) {
  const any = origins.includes('*')
  const allowed = (origin: string | undefined) =>
    any ? '*' : origin !== undefined && origins.includes(origin) ? origin : undefined
  const pushHeaders = (headers: HeaderList, request: IncomingHttpHeaders): void => {
    const origin = allowed(request.origin)
    if (origin !== undefined) headers.push('Access-Control-Allow-Origin', origin)
    // Only browsers send an origin, and only they need the list.
    if (request.origin !== undefined) headers.push('Access-Control-Expose-Headers', EXPOSED)
  }
  return {
    pushHeaders,
    preflight(request: IncomingHttpHeaders, methods: readonly string[]): HeaderList {
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
