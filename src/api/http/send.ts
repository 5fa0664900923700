import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GateReply, HeaderList } from '../../gate/request.ts'
import { chooseEncoding, compress } from './compress.ts'
import type { Cors } from './cors.ts'

/** Bodies above this are written in parts, so that a slow reader holds no large buffer in the socket. */
const PART_BYTES = 65_536

/** Writes an answer of the gate to the socket. The headers are ready pairs: they go out as they are. */
export function sendReply(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: GateReply,
  context: { requestId: string; cors: Cors },
): void | Promise<void> {
  const { headers } = answer
  headers.push('X-Request-Id', context.requestId, 'X-Content-Type-Options', 'nosniff')
  context.cors.pushHeaders(headers, request.headers)
  reply.hijack()
  const isHead = request.method === 'HEAD'
  if (answer.status === 304 || answer.status === 204) {
    tellHeldTag(headers, request.headers)
    reply.raw.writeHead(answer.status, headers)
    reply.raw.end()
    return
  }
  const bytes = typeof answer.body === 'string' ? Buffer.byteLength(answer.body) : answer.body.length
  const encoding = isHead ? undefined : chooseEncoding(request.headers['accept-encoding'], bytes)
  if (encoding !== undefined) return sendCompressed(reply.raw, answer, encoding)
  headers.push('Content-Length', String(bytes))
  reply.raw.writeHead(answer.status, headers)
  if (isHead) reply.raw.end()
  else return writeBody(reply.raw, answer.body)
}

/** The tag of a 304 is the one that the caller holds: that of the encoding it would get again. */
function tellHeldTag(headers: HeaderList, request: IncomingHttpHeaders): void {
  const encoding = chooseEncoding(request['accept-encoding'], Number.POSITIVE_INFINITY)
  const etag = headers.indexOf('ETag')
  if (encoding === undefined || etag === -1) return
  const encoded = encodedTag(headers[etag + 1] ?? '', encoding)
  if (request['if-none-match']?.includes(encoded)) headers[etag + 1] = encoded
}

function encodedTag(tag: string, encoding: string): string {
  return `${tag.slice(0, -1)}-${encoding}"`
}

async function sendCompressed(
  raw: ServerResponse,
  answer: GateReply,
  encoding: NonNullable<ReturnType<typeof chooseEncoding>>,
): Promise<void> {
  const body = await compress(answer.body, encoding, answer.keepWith)
  const { headers } = answer
  const etag = headers.indexOf('ETag')
  if (etag !== -1) headers[etag + 1] = encodedTag(headers[etag + 1] ?? '', encoding)
  headers.push('Content-Encoding', encoding, 'Content-Length', String(body.length))
  raw.writeHead(answer.status, headers)
  return writeBody(raw, body)
}

function writeBody(raw: ServerResponse, body: string | Buffer): void | Promise<void> {
  if (typeof body === 'string' || body.length <= PART_BYTES) {
    raw.end(body)
    return
  }
  return writeParts(raw, body)
}

async function writeParts(raw: ServerResponse, body: Buffer): Promise<void> {
  for (let from = 0; from < body.length && !raw.destroyed; from += PART_BYTES) {
    if (raw.write(body.subarray(from, from + PART_BYTES))) continue
    await new Promise<void>((resolve) => {
      const go = () => {
        raw.off('drain', go)
        raw.off('close', go)
        resolve()
      }
      raw.once('drain', go)
      raw.once('close', go)
    })
  }
  raw.end()
}
