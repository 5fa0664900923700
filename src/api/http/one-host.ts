import type { IncomingMessage } from 'node:http'

/**
 * Why a request must be refused: HTTP demands exactly one Host. Node takes the first of several, a proxy before us may
 * have taken another. HTTP/1.0 may leave it out.
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
