import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GateReply, HeaderList } from '../../gate/request.ts'
import { chooseEncoding, compress, compressor, type Encoding } from './compress.ts'
import type { Cors } from './cors.ts'

/** Bodies above this are written in parts: a reader that leaves early costs no more than what it read. */
const PART_BYTES = 1_048_576

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
  const bytes = lengthOf(answer.body)
  const encoding = isHead ? undefined : chooseEncoding(request.headers['accept-encoding'], bytes)
  if (encoding !== undefined) return sendCompressed(reply.raw, answer, encoding)
  headers.push('Content-Length', String(bytes))
  reply.raw.writeHead(answer.status, headers)
  if (isHead) reply.raw.end()
  else return writeBody(reply.raw, answer.body, answer.release)
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

type Body = GateReply['body']

function isParts(body: Body): body is readonly Buffer[] {
  return typeof body !== 'string' && !Buffer.isBuffer(body)
}

function wholeOf(body: Body): Buffer {
  if (typeof body === 'string') return Buffer.from(body)
  return isParts(body) ? Buffer.concat(body) : body
}

function lengthOf(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  return isParts(body) ? body.reduce((sum, part) => sum + part.length, 0) : body.length
}

async function sendCompressed(raw: ServerResponse, answer: GateReply, encoding: Encoding): Promise<void> {
  const { headers, body } = answer
  const etag = headers.indexOf('ETag')
  if (etag !== -1) headers[etag + 1] = encodedTag(headers[etag + 1] ?? '', encoding)
  headers.push('Content-Encoding', encoding)
  if (isParts(body) && lengthOf(body) > PART_BYTES) {
    raw.writeHead(answer.status, headers)
    return streamCompressed(raw, body, encoding)
  }
  const bytes = await compress(() => wholeOf(body), encoding, answer.sealedTag)
  headers.push('Content-Length', String(bytes.length))
  raw.writeHead(answer.status, headers)
  return writeBody(raw, bytes)
}

/** Parts are not joined for the compressor either: their length is not known beforehand. */
async function streamCompressed(
  raw: ServerResponse,
  parts: readonly Buffer[],
  encoding: Encoding,
): Promise<void> {
  try {
    await pipeline(Readable.from(slicesOf(parts)), compressor(encoding), raw)
  } catch {
    // The reader left in the middle; there is nobody to tell.
    raw.destroy()
  }
}

/** @param release is called when the socket has taken every byte. A body that is lent is short. */
function writeBody(raw: ServerResponse, body: Body, release?: () => void): void | Promise<void> {
  if (typeof body === 'string' || (Buffer.isBuffer(body) && body.length <= PART_BYTES)) {
    raw.end(body, release)
    return
  }
  if (isParts(body) && lengthOf(body) <= PART_BYTES) {
    raw.cork()
    for (const part of body) raw.write(part)
    raw.end()
    raw.uncork()
    return
  }
  return writeParts(raw, Buffer.isBuffer(body) ? [body] : body)
}

function* slicesOf(parts: readonly Buffer[]): Generator<Buffer> {
  for (const part of parts) {
    for (let from = 0; from < part.length; from += PART_BYTES) yield part.subarray(from, from + PART_BYTES)
  }
}

async function writeParts(raw: ServerResponse, parts: readonly Buffer[]): Promise<void> {
  for (const slice of slicesOf(parts)) {
    if (raw.destroyed) break
    if (raw.write(slice)) {
      // A reader that keeps up would take all of it in one turn of the loop: others get theirs in between.
      await new Promise(setImmediate)
      continue
    }
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
