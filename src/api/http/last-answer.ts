import { STATUS_CODES } from 'node:http'
import type { GateReply } from '../../gate/request.ts'

/** An answer as bytes, for a connection that has no response object and is closed after it. */
export function lastAnswer(
  { status, headers, body }: Pick<GateReply, 'status' | 'headers'> & { readonly body: string },
  requestId: string,
): string {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`]
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  lines.push(`Content-Length: ${Buffer.byteLength(body)}`, `X-Request-Id: ${requestId}`, 'Connection: close')
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
