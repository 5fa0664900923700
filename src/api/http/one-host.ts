import type { IncomingMessage } from 'node:http'

/**
 * Why a request must be refused. HTTP requires exactly one Host header: Node uses the first of several, while a proxy
 * in front of us may have used another. HTTP/1.0 requests may omit it.
 */
export function hostFault({ rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts > 1) return 'The request has more than one Host header.'
  return hosts === 0 && httpVersion !== '1.0' ? 'The request has no Host header.' : undefined
}
