/**
 * Parses the head of a request in the plain form that nearly every client sends. Parsing is strict: anything that is
 * not exactly of this form (`undefined`) is left to Node's HTTP parser.
 *
 *   GET or POST, a path, HTTP/1.1; one Host; no repeated header; nothing that changes the connection or how the body
 *   is sent; a body only with POST, as JSON, with its length
 */
export interface PlainHead {
  readonly method: 'GET' | 'POST'
  /** Path and query as they were sent. */
  readonly target: string
  /** Shared by all requests of a connection with the same headers. */
  readonly headers: Readonly<Record<string, string>>
  /** The number of bytes before the body. */
  readonly headBytes: number
  readonly bodyBytes: number
}

const MAX_HEAD = 8_192
const HEAD_END = '\r\n\r\n'
/** Cannot backtrack, because each part ends with a character that it cannot contain. */
const LINE = /^(GET|POST) (\/[!-~]*) HTTP\/1\.1$/
const HEADERS = /^(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~]*)+$/
const PLAIN_CONNECTION =
  /^(?:keep-alive|upgrade|http2-settings)(?:[ \t]*,[ \t]*(?:keep-alive|upgrade|http2-settings))*$/i
const LENGTH = /^(?:0|[1-9]\d{0,8})$/

interface Headers {
  readonly text: string
  readonly values: Record<string, string>
}

/**
 * Reads the request at the start of some bytes. Each connection has its own reader, which parses headers only if they
 * differ from those of the previous request.
 */
export function plainHeadReader(): (bytes: Buffer) => PlainHead | undefined {
  let last: Headers = { text: '', values: {} }
  return (bytes) => {
    const end = bytes.indexOf(HEAD_END, 0, 'latin1')
    if (end === -1 || end > MAX_HEAD) return undefined
    const text = bytes.toString('latin1', 0, end)
    const lineEnd = text.indexOf('\r\n')
    if (lineEnd === -1) return undefined
    const line = text.slice(0, lineEnd)
    if (!LINE.test(line)) return undefined
    const rest = text.slice(lineEnd)
    if (rest !== last.text) {
      const values = readHeaders(rest)
      if (values === undefined) return undefined
      last = { text: rest, values }
    }
    const headers = last.values
    const method = line.startsWith('GET') ? 'GET' : 'POST'
    const bodyBytes = bodyLength(method, headers)
    if (bodyBytes === undefined) return undefined
    const target = line.slice(method.length + 1, line.lastIndexOf(' '))
    return { method, target, headers, headBytes: end + HEAD_END.length, bodyBytes }
  }
}

function readHeaders(text: string): Record<string, string> | undefined {
  if (!HEADERS.test(text)) return undefined
  const headers: Record<string, string> = {}
  for (let at = 2; at < text.length; ) {
    const colon = text.indexOf(':', at)
    const found = text.indexOf('\r\n', colon)
    const end = found === -1 ? text.length : found
    const name = text.slice(at, colon).toLowerCase()
    if (headers[name] !== undefined) return undefined
    headers[name] = text.slice(colon + 1, end).trim()
    at = end + 2
  }
  return isOrdinary(headers) ? headers : undefined
}

function isOrdinary(headers: Readonly<Record<string, string>>): boolean {
  if (headers.host === undefined) return false
  if (headers['transfer-encoding'] !== undefined) return false
  // Other upgrades are ignored, as HTTP allows.
  if (headers.upgrade !== undefined && /websocket/i.test(headers.upgrade)) return false
  if (headers.expect !== undefined || headers.trailer !== undefined) return false
  const { connection } = headers
  return connection === undefined || PLAIN_CONNECTION.test(connection)
}

function bodyLength(method: PlainHead['method'], headers: PlainHead['headers']): number | undefined {
  const length = headers['content-length']
  if (method === 'GET') return length === undefined ? 0 : undefined
  if (length === undefined || !LENGTH.test(length)) return undefined
  return headers['content-type'] === 'application/json' ? Number(length) : undefined
}
