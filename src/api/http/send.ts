import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { GateReply, HeaderList, LentBody } from '../../gate/request.ts'
import { chooseEncoding, compress, compressor, type Encoding } from './compress.ts'
import type { Cors } from './cors.ts'
import type { ResponseWriter } from './response-writer.ts'
import { VARY, type Vary } from './vary.ts'
import { whenRead } from './when-read.ts'

/** Larger bodies are written in parts, so that a client that disconnects early costs no more than what it has read. */
const PART_BYTES = 1_048_576

/**
 * Called when an answer stays in memory because its socket accepts no more for now; the returned function is called
 * when it does.
 */
type Hold = () => () => void

/** Writes an answer of the gate to the socket. */
export function sendReply(
  request: { readonly method: string; readonly headers: IncomingHttpHeaders },
  response: ResponseWriter,
  answer: GateReply,
  context: { requestId: string; cors: Cors; vary?: Vary; hold?: Hold | undefined },
): void | Promise<void> {
  const { headers } = answer
  headers.push('X-Request-Id', context.requestId, 'X-Content-Type-Options', 'nosniff')
  context.cors.pushHeaders(headers, request.headers)
  headers.push('Vary', context.vary ?? VARY.open)
  const isHead = request.method === 'HEAD'
  if (answer.status === 304 || answer.status === 204) {
    setSentTag(headers, request.headers)
    response.writeHead(answer.status, headers)
    response.end()
    return
  }
  const bytes = lengthOf(answer.body)
  const encoding = isHead ? undefined : chooseEncoding(request.headers['accept-encoding'], bytes)
  const { hold } = context
  if (encoding !== undefined) return sendCompressed(response, answer, encoding, hold)
  headers.push('Content-Length', String(bytes))
  response.writeHead(answer.status, headers)
  if (isHead) {
    response.end()
    answer.lent?.release()
  } else return writeBody(response, answer.body, hold, answer.lent)
}

/** A 304 repeats the ETag that the caller sent, which is that of the encoding it would get. */
function setSentTag(headers: HeaderList, request: IncomingHttpHeaders): void {
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

export function lengthOf(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  return isParts(body) ? body.reduce((sum, part) => sum + part.length, 0) : body.length
}

async function sendCompressed(
  response: ResponseWriter,
  answer: GateReply,
  encoding: Encoding,
  hold: Hold | undefined,
): Promise<void> {
  const { headers, body } = answer
  const etag = headers.indexOf('ETag')
  if (etag !== -1) headers[etag + 1] = encodedTag(headers[etag + 1] ?? '', encoding)
  headers.push('Content-Encoding', encoding)
  if (isParts(body) && lengthOf(body) > PART_BYTES) {
    response.writeHead(answer.status, headers)
    return streamCompressed(response, body, encoding, hold)
  }
  const bytes = await compress(() => wholeOf(body), encoding, answer.encoded)
  answer.lent?.release()
  headers.push('Content-Length', String(bytes.length))
  response.writeHead(answer.status, headers)
  return writeBody(response, bytes, hold)
}

/** Large bodies are compressed as a stream, without concatenating their parts. */
async function streamCompressed(
  response: ResponseWriter,
  parts: readonly Buffer[],
  encoding: Encoding,
  hold: Hold | undefined,
): Promise<void> {
  try {
    const source = Readable.from(slicesOf(parts))
    await pipeline(source, compressor(encoding), (output) => writeParts(response, output, hold))
  } catch {
    // The client disconnected.
    response.destroy()
  }
}

/** A pooled body is short; it is released once the socket has sent every byte. */
function writeBody(
  response: ResponseWriter,
  body: Body,
  hold: Hold | undefined,
  lent?: LentBody,
): void | Promise<void> {
  if (typeof body === 'string' || (Buffer.isBuffer(body) && body.length <= PART_BYTES)) {
    response.end(body, lent?.release, lent?.room)
    return
  }
  if (isParts(body) && lengthOf(body) <= PART_BYTES) {
    response.cork()
    for (const part of body) response.write(part)
    response.end()
    response.uncork()
    return
  }
  return writeParts(response, slicesOf(Buffer.isBuffer(body) ? [body] : body), hold)
}

function* slicesOf(parts: readonly Buffer[]): Generator<Buffer> {
  for (const part of parts) {
    for (let from = 0; from < part.length; from += PART_BYTES) yield part.subarray(from, from + PART_BYTES)
  }
}

async function writeParts(
  response: ResponseWriter,
  parts: Iterable<Buffer> | AsyncIterable<Buffer>,
  hold: Hold | undefined,
): Promise<void> {
  let startedMs = performance.now()
  let written = 0
  for await (const part of parts) {
    if (response.destroyed) break
    written += part.length
    if (response.write(part)) {
      // A fast reader would accept all of it in one turn of the event loop, so other requests run in between.
      await new Promise(setImmediate)
      continue
    }
    const isBehindOthers = response.socket === null
    const release = hold?.()
    await new Promise<void>((resolve) => whenRead(response, written, startedMs, resolve))
    release?.()
    // The answer could not be read before, so its time starts now.
    if (isBehindOthers) startedMs = performance.now()
  }
  response.end()
}
