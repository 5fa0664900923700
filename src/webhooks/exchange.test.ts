/** Responses are understood wherever they are split, and anything that is not plain HTTP is refused. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { systemClock } from '../kit/clock.ts'
import { createGuard } from './guard.ts'
import { createPoster } from './post.ts'
import { systemResolve } from './resolve-host.ts'

/** Far longer than it takes until a flood is cut off. */
const ANSWER_LIMIT_MS = 20_000

/** A receiver that answers every request with these parts, one write after the other. */
let parts: readonly (string | Buffer)[] = []
let ends = false
/** Between parts, so that each of them is read separately. */
let pauseMs = 0
let sentBytes = 0
let repeat: string | undefined
const sockets = new Set<Socket>()
const server = createServer((socket) => {
  sockets.add(socket)
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('close', () => sockets.delete(socket))
  socket.on('data', async (data) => {
    if (!data.toString('latin1').endsWith('{}')) return
    for (const part of parts) {
      socket.write(part)
      sentBytes += part.length
      await new Promise((resolve) => (pauseMs > 0 ? setTimeout(resolve, pauseMs) : setImmediate(resolve)))
    }
    if (ends) socket.end()
    while (repeat !== undefined && !socket.destroyed && sentBytes < 10_000_000) {
      sentBytes += repeat.length
      socket.write(repeat)
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
const clock = systemClock
const poster = createPoster({
  clock,
  guard: createGuard({ allowPrivate: true, resolve: systemResolve(clock) }),
  answerLimitMs: ANSWER_LIMIT_MS,
})
after(() => {
  poster.close()
  for (const socket of sockets) socket.destroy()
  server.close()
})

async function post(
  response: readonly (string | Buffer)[],
  options: { ends?: boolean; repeat?: string; pauseMs?: number } = {},
) {
  parts = response
  ends = options.ends ?? false
  repeat = options.repeat
  pauseMs = options.pauseMs ?? 0
  sentBytes = 0
  return poster.post(url, { 'Content-Length': '2' }, '{}')
}

async function untilClosed(): Promise<void> {
  while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 2))
}

interface Expected {
  status: number
  body: string | null
  reusable: boolean
  retryAfter?: string
  /** The response is complete only when the connection ends. */
  untilEnd?: boolean
}

const GOOD: Record<string, [string, Expected]> = {
  'nothing in it': [
    'HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n',
    { status: 204, body: null, reusable: true },
  ],
  'a length': [
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    { status: 200, body: 'hello', reusable: true },
  ],
  'length 0': ['HTTP/1.1 500 \r\ncontent-length:0\r\n\r\n', { status: 500, body: null, reusable: true }],
  'no reason at all': [
    'HTTP/1.1 202\r\nContent-Length: 0\r\n\r\n',
    { status: 202, body: null, reusable: true },
  ],
  chunks: [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n',
    { status: 200, body: 'hello world', reusable: true },
  ],
  'nothing in chunks': [
    'HTTP/1.1 429 Slow\r\nRetry-After: 30\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n',
    { status: 429, body: null, reusable: true, retryAfter: '30' },
  ],
  'a closing receiver': [
    'HTTP/1.1 503 x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno',
    { status: 503, body: 'no', reusable: false },
  ],
  'HTTP/1.0': [
    'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
    { status: 200, body: 'ok', reusable: false },
  ],
  'HTTP/1.0 that keeps': [
    'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok',
    { status: 200, body: 'ok', reusable: true },
  ],
  'a body until the end': [
    'HTTP/1.1 200 OK\r\n\r\neverything',
    { status: 200, body: 'everything', reusable: false, untilEnd: true },
  ],
  'early hints before it': [
    'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
    { status: 204, body: null, reusable: true },
  ],
  'a redirect': [
    'HTTP/1.1 301 Moved\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n',
    { status: 301, body: null, reusable: true },
  ],
}

for (const [name, [text, expected]] of Object.entries(GOOD)) {
  test(`a response with ${name}, cut at every place`, async () => {
    const bytes = Buffer.from(text, 'latin1')
    const options = { ends: expected.untilEnd ?? false }
    const check = async (cut: readonly Buffer[]) => {
      const { status, response, error, retryAfter } = await post(cut, options)
      const { status: wanted, body } = expected
      const got = { status, response, error, retryAfter }
      assert.deepEqual(got, { status: wanted, response: body, error: null, retryAfter: expected.retryAfter })
    }
    for (let cut = 0; cut <= bytes.length; cut++) {
      await check([bytes.subarray(0, cut), bytes.subarray(cut)].filter((part) => part.length > 0))
    }
    await check(Array.from(bytes, (byte) => Buffer.from([byte])))
    if (!expected.reusable) return untilClosed()
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(sockets.size, 1)
    for (const socket of sockets) socket.destroy()
    await untilClosed()
  })
}

const BAD: Record<string, string> = {
  'another protocol': 'SSH-2.0-OpenSSH_9.6\r\n\r\n',
  'HTTP/2': 'HTTP/2 200\r\n\r\n',
  'a switch of protocols': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  'no status': 'HTTP/1.1 OK\r\n\r\n',
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
  'two framings':
    'HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  'a length with a sign': 'HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello',
  'a folded header': 'HTTP/1.1 200 OK\r\nA: b\r\n folded: yes\r\n\r\n',
  'a blank before the colon': 'HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello',
  'bare line feeds': 'HTTP/1.1 200 OK\r\nA: b\nContent-Length: 5\r\n\r\n',
  'a head without end': `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(20_000)}`,
}
for (const [name, text] of Object.entries(BAD)) {
  test(`${name} is refused`, async () => {
    const { status, error } = await post([text])
    assert.match(error ?? '', /^not understood: /, String(status))
    assert.equal(status, null)
  })
}

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const BROKEN_BODIES: Record<string, string> = {
  'a chunk without size': `${CHUNKED}xx\r\n`,
  'a chunk longer than its size': `${CHUNKED}2\r\nokay\r\n`,
  'another response right behind': 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 No\r\n\r\n',
  'a body without end': `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(70_000)}`,
  'an encoding of another kind': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nxyz',
}
for (const [name, text] of Object.entries(BROKEN_BODIES)) {
  test(`${name}: the status counts, the connection is not used again`, async () => {
    const { status, error } = await post([text])
    assert.deepEqual({ status, error }, { status: 200, error: null })
    await untilClosed()
  })
}

const FLOODS: Record<string, { begin: string; again: string; status: number | null }> = {
  'short interim responses': { begin: '', again: 'HTTP/1.1 100 Continue\r\n\r\n', status: null },
  'long interim responses': {
    begin: '',
    again: `HTTP/1.1 103 Early Hints\r\nLink: <${'x'.repeat(4_000)}>\r\n\r\n`,
    status: null,
  },
  'one interim response': { begin: 'HTTP/1.1 103 Early Hints\r\n', again: 'A: b\r\n', status: null },
  'short trailers': { begin: `${CHUNKED}0\r\n`, again: 'A: b\r\n', status: 200 },
  'long trailers': { begin: `${CHUNKED}0\r\n`, again: `A: ${'b'.repeat(1_000)}\r\n`, status: 200 },
  'chunk extensions': { begin: CHUNKED, again: `1;${'x'.repeat(1_000)}\r\nx\r\n`, status: 200 },
  'one chunk extension': { begin: `${CHUNKED}1;`, again: 'x'.repeat(1_000), status: 200 },
  'digits of a chunk size': { begin: CHUNKED, again: '0'.repeat(1_000), status: 200 },
  'chunks of one byte': { begin: CHUNKED, again: '1\r\nx\r\n', status: 200 },
}

for (const [name, { begin, again, status }] of Object.entries(FLOODS)) {
  test(`a flood of ${name} is cut off`, async () => {
    const result = await post(begin === '' ? [] : [begin], {
      repeat: again.repeat(Math.ceil(10_000 / again.length)),
    })
    assert.equal(result.status, status, 'the status that was given counts')
    if (status === null) assert.match(result.error ?? '', /^not understood: /)
    assert.ok(result.durationMs < ANSWER_LIMIT_MS, 'long before its time was over')
    await untilClosed()
    // The bytes in the buffers of the two sockets count as sent, too.
    assert.ok(sentBytes < 8_000_000, `${sentBytes} bytes were sent`)
  })
}

test('a long body that is read together with the last bytes of its head does not count as head', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n'
  for (const bytes of [1, 2, 3]) {
    const cut = [head.slice(0, -bytes), head.slice(-bytes) + 'x'.repeat(20_000)]
    const { status, error } = await post(cut, { pauseMs: 50 })
    assert.deepEqual({ status, error }, { status: 200, error: null })
  }
})

test('ten interim responses and a short trailer are accepted', async () => {
  const interim = 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(10)
  const { response } = await post([`${interim}${CHUNKED}2\r\nok\r\n0\r\nDigest: x\r\n\r\n`])
  assert.equal(response, 'ok')
})

test('a response that breaks off before its status is a failed connection', async () => {
  for (const socket of sockets) socket.destroy()
  await untilClosed()
  assert.match((await post(['HTTP/1.1 20'], { ends: true })).error ?? '', /^connection failed: ECONNRESET/)
  assert.equal((await post(['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel'], { ends: true })).status, 200)
})
