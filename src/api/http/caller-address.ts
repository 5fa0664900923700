import type { IncomingHttpHeaders } from 'node:http'
import { plainAddress } from '../../kit/ip-range.ts'

/** The nearest address that is not a trusted proxy, or the first one if all of them are. */
export function callerAddress(
  headers: IncomingHttpHeaders,
  socket: { readonly remoteAddress?: string | undefined },
  isTrustedProxy: (address: string) => boolean,
): string {
  const peer = socket.remoteAddress ?? ''
  const forwarded = headers['x-forwarded-for']
  if (forwarded === undefined || !isTrustedProxy(peer)) return plainAddress(peer)
  const chain = [...String(forwarded).split(','), peer]
    .map((part) => part.trim())
    .filter((part) => part !== '')
  return plainAddress(chain.findLast((address) => !isTrustedProxy(address)) ?? chain[0] ?? peer)
}

/** The same as determined by the framework, which has no address for a disconnected client, whatever its type says. */
export function requestAddress(request: { readonly ip: string | undefined }): string {
  return plainAddress(request.ip ?? '')
}
