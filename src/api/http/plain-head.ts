/**
 * The head of a request in its plain form: what nearly every client sends. It is read strictly; whatever is
 * not exactly of this form (`undefined`) is left to the full parser of the platform, which knows all others.
 *
 *   GET or POST, a path, HTTP/1.1; one Host; no header twice; nothing that changes the connection or how the
 *   body is sent; a body only with POST, as JSON, with its length
 */
export interface PlainHead {
  readonly method: 'GET' | 'POST'
  /** Path and query as they were sent. */
  readonly target: string
  readonly headers: Record<string, string>
  /** Up to the first byte of the body. */
  readonly headBytes: number
  readonly bodyBytes: number
}

const LONGEST_HEAD = 8_192
const HEAD_END = '\r\n\r\n'
/** Each part of it is ended by a character that the part cannot contain: it is matched in one pass. */
const FORM = /^(GET|POST) (\/[!-~]*) HTTP\/1\.1\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~]*\r\n)+$/
const LENGTH = /^(?:0|[1-9]\d{0,8})$/

/** @param from where in the bytes the request begins. */
export function readPlainHead(bytes: Buffer, from: number): PlainHead | undefined {
  const end = bytes.indexOf(HEAD_END, from, 'latin1')
  if (end === -1 || end - from > LONGEST_HEAD) return undefined
  const text = bytes.toString('latin1', from, end + 2)
  if (!FORM.test(text)) return undefined
  const method = text.startsWith('GET') ? 'GET' : 'POST'
  const targetAt = method.length + 1
  const target = text.slice(targetAt, text.indexOf(' ', targetAt))
  const headers = readHeaders(text)
  if (headers === undefined) return undefined
  const bodyBytes = bodyLength(method, headers)
  if (bodyBytes === undefined) return undefined
  return { method, target, headers, headBytes: end + HEAD_END.length - from, bodyBytes }
}

function readHeaders(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  let at = text.indexOf('\r\n') + 2
  while (at < text.length) {
    const colon = text.indexOf(':', at)
    const end = text.indexOf('\r\n', colon)
    const name = text.slice(at, colon).toLowerCase()
    if (headers[name] !== undefined) return undefined
    headers[name] = text.slice(colon + 1, end).trim()
    at = end + 2
  }
  return isOrdinary(headers) ? headers : undefined
}

function isOrdinary(headers: Record<string, string>): boolean {
  if (headers.host === undefined) return false
  if (headers['transfer-encoding'] !== undefined || headers.upgrade !== undefined) return false
  if (headers.expect !== undefined || headers.trailer !== undefined) return false
  const { connection } = headers
  return connection === undefined || connection.toLowerCase() === 'keep-alive'
}

function bodyLength(method: PlainHead['method'], headers: Record<string, string>): number | undefined {
  const length = headers['content-length']
  if (method === 'GET') return length === undefined ? 0 : undefined
  if (length === undefined || !LENGTH.test(length)) return undefined
  return headers['content-type'] === 'application/json' ? Number(length) : undefined
}
