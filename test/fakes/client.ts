/** A small client: sends one request and reads the complete answer. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { request } from 'undici'

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The parsed body; empty where it is not a JSON object. */
  json: Record<string, unknown>
}

export interface Asked {
  method?: string
  key?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

const DECODED: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

/** Not `fetch`, which takes twice the processor time and requests compressed answers that it then has to decompress. */
export async function ask(url: string, asked: Asked = {}): Promise<Answer> {
  const { statusCode, headers, body } = await request(url, {
    method: asked.method ?? 'GET',
    headers: { ...(asked.key === undefined ? {} : { 'X-API-Key': asked.key }), ...asked.headers },
    ...(asked.body === undefined ? {} : { body: asked.body }),
  })
  const bytes = Buffer.from(await body.arrayBuffer())
  const decode = bytes.length === 0 ? undefined : DECODED[String(headers['content-encoding'])]
  const text = (decode === undefined ? bytes : decode(bytes)).toString()
  let json: Record<string, unknown> | undefined
  return {
    status: statusCode,
    headers: new Headers(
      Object.entries(headers).flatMap(([name, value]) =>
        [value ?? []].flat().map((each): [string, string] => [name, each]),
      ),
    ),
    text,
    get json() {
      json ??= parse(text)
      return json
    },
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** Sends raw bytes and returns everything received until the server closes. */
export function askRaw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.on('connect', () => socket.write(bytes))
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
}

/** The only answer in `text`, as it was received. */
export function readAnswer(text: string): Answer {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = new Headers(lines.map((line) => line.split(': ', 2) as [string, string]))
  return { status: Number(first.split(' ')[1]), headers, text: body, json: parse(body) }
}

const DOCUMENT = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  components: {
    schemas: { Error: { properties: Record<string, unknown> } }
    headers: Record<string, unknown>
  }
}
/** Headers of HTTP itself, of CORS and of single statuses (405, 426). */
const GENERAL_HEADERS =
  /^(date|connection|keep-alive|content-(type|length|encoding)|vary|allow|upgrade|x-content-type-options|access-control-.*)$/

/** Checks what every error has: status, code, a sentence, and the request id in header and body. */
export function assertError(answer: Answer, status: number, code: string): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  const body = answer.json
  assert.equal(body.error, code, answer.text)
  assert.match(String(body.message), /^.{10,}[.?]$/s, 'the message is a sentence')
  assert.match(String(body.request_id), /^req_[0-9a-z]{10,}$/)
  assert.equal(answer.headers.get('x-request-id'), body.request_id)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const known = Object.keys(DOCUMENT.components.schemas.Error.properties)
  assert.deepEqual(
    Object.keys(body).filter((field) => !known.includes(field)),
    [],
    'every field of an error is documented',
  )
  const named = Object.keys(DOCUMENT.components.headers).map((name) => name.toLowerCase())
  assert.deepEqual(
    [...answer.headers.keys()].filter((name) => !named.includes(name) && !GENERAL_HEADERS.test(name)),
    [],
    'every header of an error is documented',
  )
  return body
}
