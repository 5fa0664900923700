/** Must hold: answers are understood wherever they are cut, and what is not plainly HTTP is refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerError, createAnswerReader } from './read-answer.ts'

interface Expected {
  status: number
  body: string | null
  reusable: boolean
  retryAfter?: string
  /** Complete only when the connection ends. */
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
  'an encoding of another kind': [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nxyz',
    { status: 200, body: 'xyz', reusable: false, untilEnd: true },
  ],
  'two framings': [
    'HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    { status: 200, body: 'ok', reusable: false },
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
  test(`an answer with ${name}, cut at every place`, () => {
    const bytes = Buffer.from(text, 'latin1')
    for (let cut = 0; cut <= bytes.length; cut++) {
      const reader = createAnswerReader()
      const parts = [bytes.subarray(0, cut), bytes.subarray(cut)].filter((part) => part.length > 0)
      const complete = parts.map((part) => reader.read(part))
      assert.equal(complete.at(-1), expected.untilEnd !== true, `cut at ${cut}`)
      if (parts.length === 2) assert.equal(complete[0], false)
      assert.equal(reader.end(), true)
      assert.equal(reader.head?.status, expected.status)
      assert.equal(reader.head?.reusable, expected.reusable)
      assert.equal(reader.head?.retryAfter, expected.retryAfter)
      assert.equal(reader.beginning(), expected.body)
    }
    const byteByByte = createAnswerReader()
    for (const byte of bytes) byteByByte.read(Buffer.from([byte]))
    assert.equal(byteByByte.end(), true)
    assert.equal(byteByByte.beginning(), expected.body)
  })
}

const BAD: Record<string, string> = {
  'another protocol': 'SSH-2.0-OpenSSH_9.6\r\n\r\n',
  'HTTP/2': 'HTTP/2 200\r\n\r\n',
  'a switch of protocols': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  'no status': 'HTTP/1.1 OK\r\n\r\n',
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
  'a length with a sign': 'HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello',
  'a folded header': 'HTTP/1.1 200 OK\r\nA: b\r\n folded: yes\r\n\r\n',
  'a blank before the colon': 'HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello',
  'bare line feeds': 'HTTP/1.1 200 OK\r\nA: b\nContent-Length: 5\r\n\r\n',
  'a chunk without size': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n',
  'a chunk longer than its size': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n',
  'another answer right behind': 'HTTP/1.1 204 No\r\n\r\nHTTP/1.1 204 No\r\n\r\n',
  'a head without end': `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(4_000)}`,
  'a body without end': `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(70_000)}`,
  'a size line without end': `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'0'.repeat(2_000)}`,
}

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const FLOODS: Record<string, { begin: string; again: string; status: number | undefined }> = {
  'short interim answers': { begin: '', again: 'HTTP/1.1 100 Continue\r\n\r\n', status: undefined },
  'long interim answers': {
    begin: '',
    again: `HTTP/1.1 103 Early Hints\r\nLink: <${'x'.repeat(4_000)}>\r\n\r\n`,
    status: undefined,
  },
  'short trailers': { begin: `${CHUNKED}0\r\n`, again: 'A: b\r\n', status: 200 },
  'long trailers': { begin: `${CHUNKED}0\r\n`, again: `A: ${'b'.repeat(1_000)}\r\n`, status: 200 },
  'chunk extensions': { begin: CHUNKED, again: `1;${'x'.repeat(1_000)}\r\nx\r\n`, status: 200 },
  'chunks of one byte': { begin: CHUNKED, again: '1\r\nx\r\n', status: 200 },
}

for (const [name, { begin, again, status }] of Object.entries(FLOODS)) {
  test(`a flood of ${name} is cut before it is half a megabyte long`, () => {
    const reader = createAnswerReader()
    let sent = 0
    const send = (text: string) => {
      sent += text.length
      return reader.read(Buffer.from(text, 'latin1'))
    }
    assert.throws(() => {
      if (begin !== '') send(begin)
      while (sent < 1_000_000) assert.equal(send(again), false)
    }, AnswerError)
    assert.ok(sent < 500_000, `${sent} bytes were read`)
    assert.equal(reader.head?.status, status, 'the status that was given stands')
  })
}

test('ten interim answers and a short trailer are nothing unusual', () => {
  const reader = createAnswerReader()
  const interim = 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(10)
  assert.equal(reader.read(Buffer.from(`${interim}${CHUNKED}2\r\nok\r\n0\r\nDigest: x\r\n\r\n`)), true)
  assert.equal(reader.beginning(), 'ok')
})

for (const [name, text] of Object.entries(BAD)) {
  test(`${name} is refused`, () => {
    assert.throws(() => createAnswerReader().read(Buffer.from(text, 'latin1')), AnswerError)
  })
}

test('an answer that breaks off is not complete', () => {
  for (const text of ['HTTP/1.1 20', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel']) {
    const reader = createAnswerReader()
    assert.equal(reader.read(Buffer.from(text)), false)
    assert.equal(reader.end(), false)
  }
})

test('the receiver says how long it keeps a connection', () => {
  const reader = createAnswerReader()
  reader.read(Buffer.from('HTTP/1.1 204 x\r\nKeep-Alive: timeout=5, max=100\r\n\r\n'))
  assert.equal(reader.head?.keptForMs, 5_000)
})
