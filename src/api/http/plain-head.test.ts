import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { plainHeadReader } from './plain-head.ts'

const read = (text: string) => plainHeadReader()(Buffer.from(text, 'latin1'))

test('a plain GET and a plain POST are read whole', () => {
  assert.deepEqual(read('GET /v1/candles?a=b%20c HTTP/1.1\r\nHost: x:80\r\nX-API-Key:  k \r\n\r\nmore'), {
    method: 'GET',
    target: '/v1/candles?a=b%20c',
    headers: { host: 'x:80', 'x-api-key': 'k' },
    headBytes: 64,
    bodyBytes: 0,
  })
  const post = read(
    'POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\n{}',
  )
  assert.equal(post?.bodyBytes, 2)
  assert.equal(post?.headBytes, 106)
})

test('repeated headers are the same object, others are parsed again, and only a POST has a body', () => {
  const readHead = plainHeadReader()
  const ask = (text: string) => readHead(Buffer.from(text, 'latin1'))
  const first = ask('GET /a HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.equal(ask('GET /b HTTP/1.1\r\nHost: x\r\n\r\n')?.headers, first?.headers)
  assert.deepEqual(ask('GET /b HTTP/1.1\r\nHost: y\r\n\r\n')?.headers, { host: 'y' })
  const rest = ' /a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n123'
  assert.equal(ask(`POST${rest}`)?.bodyBytes, 3)
  assert.equal(ask(`GET${rest}`), undefined)
  assert.equal(ask('POST /a HTTP/1.1\r\nHost: y\r\n\r\n'), undefined)
})

const NOT_PLAIN: Record<string, string> = {
  'a head that has not ended': 'GET / HTTP/1.1\r\nHost: x\r\n',
  'another method': 'HEAD / HTTP/1.1\r\nHost: x\r\n\r\n',
  'a method in small letters': 'get / HTTP/1.1\r\nHost: x\r\n\r\n',
  'an older version': 'GET / HTTP/1.0\r\nHost: x\r\n\r\n',
  'a whole URL': 'GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n',
  'two spaces': 'GET  / HTTP/1.1\r\nHost: x\r\n\r\n',
  'a byte above ASCII in the path': 'GET /\xe4 HTTP/1.1\r\nHost: x\r\n\r\n',
  'no headers': 'GET / HTTP/1.1\r\n\r\n',
  'no Host': 'GET / HTTP/1.1\r\nAccept: x\r\n\r\n',
  'two Hosts': 'GET / HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n',
  'a header twice': 'GET / HTTP/1.1\r\nHost: x\r\nAccept: a\r\nAccept: b\r\n\r\n',
  'a space before the colon': 'GET / HTTP/1.1\r\nHost : x\r\n\r\n',
  'a folded line': 'GET / HTTP/1.1\r\nHost: x\r\nAccept: a\r\n b\r\n\r\n',
  'a bare line feed': 'GET / HTTP/1.1\nHost: x\r\n\r\n',
  'a bare line feed in a value': 'GET / HTTP/1.1\r\nHost: x\nAccept: y\r\n\r\n',
  'a bare carriage return in a value': 'GET / HTTP/1.1\r\nHost: x\rAccept: y\r\n\r\n',
  'a zero byte in a value': 'GET / HTTP/1.1\r\nHost: x\0\r\n\r\n',
  'a line without a colon': 'GET / HTTP/1.1\r\nHost: x\r\nAccept\r\n\r\n',
  'an upgrade': 'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n',
  'a connection that is to close': 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  'an expectation': 'POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n',
  'a GET with a body': 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}',
  'a chunked GET': 'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a POST without a length': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n',
  'a POST of another type':
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n',
  'a signed length':
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: +2\r\n\r\n{}',
  'a listed length':
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2, 2\r\n\r\n{}',
  'a length and chunks':
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
}

for (const [what, text] of Object.entries(NOT_PLAIN)) {
  test(`handed to the full parser: ${what}`, () => assert.equal(read(text), undefined))
}

test('a head of spaces, or without an end, is refused quickly', () => {
  const before = process.threadCpuUsage()
  read(`GET / HTTP/1.1\r\nHost:${' '.repeat(8_000)}\x01\r\n\r\n`)
  read(`GET /${'a'.repeat(1_000_000)}`)
  read(`GET / HTTP/1.1\r\n${'a:b\r\n'.repeat(1_600)}\x01\r\n\r\n`)
  assert.ok(process.threadCpuUsage(before).user < 1_000_000)
})

/** What Node's parser reads from the same bytes; undefined if it refuses them. */
interface Seen {
  method: string
  target: string
  headers: Record<string, string>
  body: string
}

test('the full parser reads the same as this one: 1,500 random and broken requests', async (t) => {
  let seen: Seen | undefined
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const headers = { ...request.headers } as Record<string, string>
      const body = Buffer.concat(parts).toString('latin1')
      seen ??= { method: request.method ?? '', target: request.url ?? '', headers, body }
      response.end()
      request.socket.end()
    })
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const ask = (bytes: Buffer) =>
    new Promise<Seen | undefined>((resolve) => {
      seen = undefined
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.on('data', () => {})
      socket.on('close', () => resolve(seen))
      socket.end(bytes)
    })
  const random = seeded(20261115)
  const readHead = plainHeadReader()
  let read = 0
  for (let round = 0; round < 1_500; round++) {
    const bytes = randomRequest(random)
    const head = readHead(bytes)
    if (head === undefined || head.headBytes + head.bodyBytes > bytes.length) continue
    read++
    const body = bytes.toString('latin1', head.headBytes, head.headBytes + head.bodyBytes)
    const { method, target, headers } = head
    assert.deepEqual(
      await ask(bytes),
      { method, target, headers, body },
      JSON.stringify(bytes.toString('latin1')),
    )
  }
  assert.ok(read > 300, `only ${read} of them were plain`)
})

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) / 2 ** 24
  }
}

const PIECES = [
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  ':',
  '\0',
  '\x7f',
  '\xff',
  ',',
  ';',
  '"',
  '%',
  '?',
  '#',
  'a',
  '0',
]
const NAMES = [
  'Accept',
  'X-API-Key',
  'if-none-match',
  'Content-length',
  'TE',
  'Cookie',
  'a',
  '__proto__',
  '!x~',
]

function randomRequest(random: () => number): Buffer {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const isPost = random() < 0.4
  const body = isPost ? '{"a":[1,2]}'.slice(0, Math.floor(random() * 12)) : ''
  const lines = [`Host: ${pick(['x', '127.0.0.1:80', ' x ', ''])}`]
  if (isPost) lines.push('Content-Type: application/json', `Content-Length: ${body.length}`)
  for (let i = Math.floor(random() * 4); i > 0; i--) {
    const value = Array.from({ length: Math.floor(random() * 6) }, () =>
      pick(['a', ' ', '\t', '=', '"', '~', ';']),
    )
    lines.push(`${pick(NAMES)}:${value.join('')}`)
  }
  const target = `/${pick(['', 'rpc', 'v1/candles'])}${pick(['', '?a=1', '?', '?x=%zz', '//'])}`
  let text = `${isPost ? 'POST' : 'GET'} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`
  for (let i = random() < 0.5 ? 1 + Math.floor(random() * 2) : 0; i > 0; i--) {
    const at = Math.floor(random() * text.length)
    text = text.slice(0, at) + pick(PIECES) + text.slice(at + (random() < 0.5 ? 1 : 0))
  }
  return Buffer.from(text, 'latin1')
}
