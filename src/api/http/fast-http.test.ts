import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../../../test/until.ts'
import { type FastHandler, type FastHttp, openFastHttp } from './fast-http.ts'

const KEEP_ALIVE_MS = 400

interface Rig {
  port: number
  fastHttp: FastHttp
  /** Who answered (the fast path or Node's server), and what was requested. */
  log: string[]
}

async function start(t: TestContext, handlers: Record<string, FastHandler>): Promise<Rig> {
  const log: string[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      log.push(`platform ${request.method} ${request.url}`)
      response.end(`platform ${Buffer.concat(parts)}`)
    })
  })
  const fastHttp = openFastHttp(server, {
    find: (_method, path) => {
      const handler = handlers[path]
      return (
        handler &&
        ((head, body, from) => {
          log.push(`fast ${head.method} ${head.target}`)
          handler(head, body, from)
        })
      )
    },
    maxBodyBytes: 1_000,
    keepAliveMs: KEEP_ALIVE_MS,
    now: () => 0,
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    fastHttp.cut()
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, fastHttp, log }
}

const plain: FastHandler = (head, body, { response }) => {
  const text = `fast ${body ?? ''}`
  response.writeHead(200, ['X-Target', head.target, 'Content-Length', String(text.length)])
  response.end(text)
}
const later =
  (ms: number): FastHandler =>
  async (head, body, from) => {
    await wait(ms)
    plain(head, body, from)
  }

function open(port: number): { socket: Socket; text: () => string; closed: Promise<void> } {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (data) => {
    text += data.toString('latin1')
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return { socket, text: () => text, closed }
}

const get = (target: string, more = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
const post = (target: string, body: string) =>
  `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const answersIn = (text: string) => text.split('HTTP/1.1 200 OK').length - 1

test('an answer has its headers, a date, and the connection stays for the next request', async (t) => {
  const { port, log } = await start(t, { '/a': plain })
  const client = open(port)
  client.socket.write(get('/a?x=1'))
  await until('answers', () => answersIn(client.text()) === 1)
  assert.equal(
    client.text(),
    'HTTP/1.1 200 OK\r\nX-Target: /a?x=1\r\nContent-Length: 5\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n' +
      'Connection: keep-alive\r\nKeep-Alive: timeout=0\r\n\r\nfast ',
  )
  client.socket.write(post('/a', '{"b":1}'))
  await until('the last answer', () => client.text().endsWith('fast {"b":1}'))
  assert.deepEqual(log, ['fast GET /a?x=1', 'fast POST /a'])
})

test('pipelined requests are answered one by one, in order', async (t) => {
  const { port, log } = await start(t, { '/slow': later(60), '/a': plain })
  const client = open(port)
  client.socket.write(get('/slow') + get('/a') + post('/a', '{}') + get('/slow?2'))
  client.socket.write(get('/a?last'))
  await until('answers', () => answersIn(client.text()) === 5)
  const targets = [...client.text().matchAll(/X-Target: (\S+)/g)].map(([, target]) => target)
  assert.deepEqual(targets, ['/slow', '/a', '/a', '/slow?2', '/a?last'])
  assert.ok(log.every((line) => line.startsWith('fast')))
})

test('five hundred pipelined requests do not overflow the stack', async (t) => {
  const { port } = await start(t, { '/a': plain })
  const client = open(port)
  client.socket.write(get('/a').repeat(500))
  await until('answers', () => answersIn(client.text()) === 500)
})

const HANDED_OVER: Record<string, (socket: Socket) => void | Promise<void>> = {
  'an unknown path': (socket) => void socket.write(get('/other')),
  'a method without a body': (socket) => void socket.write('DELETE /a HTTP/1.1\r\nHost: x\r\n\r\n'),
  'a head in two pieces': async (socket) => {
    socket.write('GET /a HT')
    await wait(30)
    socket.write('TP/1.1\r\nHost: x\r\n\r\n')
  },
  'a body in a second piece': async (socket) => {
    socket.write(post('/a', '{"b":1}').slice(0, -3))
    await wait(30)
    socket.write(':1}')
  },
  'a body in chunks': (socket) =>
    void socket.write(
      'POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ),
  'a body that is too long here': (socket) => void socket.write(post('/a', 'x'.repeat(1_001))),
  'something behind a plain request': (socket) => void socket.write(get('/slow') + get('/other')),
}

for (const [what, send] of Object.entries(HANDED_OVER)) {
  test(`Node's server takes over with every byte, and keeps the connection: ${what}`, async (t) => {
    const { port, log } = await start(t, { '/a': plain, '/slow': later(40) })
    const client = open(port)
    client.socket.write(get('/a'))
    await until('answers', () => answersIn(client.text()) === 1)
    await send(client.socket)
    await until('the platform answers', () => log.some((line) => line.startsWith('platform')))
    const before = log.length
    await until('answers', () => answersIn(client.text()) === before)
    client.socket.write(get('/a'))
    await until('answers', () => answersIn(client.text()) === before + 1)
    assert.equal(log.at(-1), 'platform GET /a')
  })
}

test('an answer without a length is sent in chunks that any client can read', async (t) => {
  const { port } = await start(t, {
    '/chunks': (_head, _body, { response }) => {
      response.writeHead(200, ['Content-Type', 'text/plain'])
      for (const part of ['ab', '', 'c'.repeat(70_000)]) response.write(Buffer.from(part))
      response.end('end')
    },
  })
  for (let round = 0; round < 2; round++) {
    const response = await fetch(`http://127.0.0.1:${port}/chunks`)
    assert.equal(await response.text(), `ab${'c'.repeat(70_000)}end`)
  }
})

test('a caller that does not read gets no more answers than the connection buffers', async (t) => {
  const body = Buffer.alloc(4_000_000)
  let served = 0
  const { port } = await start(t, {
    '/big': (_head, _body, { response }) => {
      served++
      response.writeHead(200, ['Content-Length', String(body.length)])
      response.end(body)
    },
  })
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write(get('/big').repeat(100))
  await wait(200)
  assert.ok(served < 5, `${served} answers are waiting`)
  socket.destroy()
})

test('connections that are idle, or whose answers are not read, are closed', async (t) => {
  const body = Buffer.alloc(8_000_000)
  const { port } = await start(t, {
    '/big': (_head, _body, { response }) => {
      response.writeHead(200, ['Content-Length', String(body.length)])
      response.end(body)
    },
  })
  const idle = open(port)
  await idle.closed
  const deaf = connect(port, '127.0.0.1')
  deaf.on('error', () => {})
  deaf.pause()
  deaf.write(get('/big'))
  await wait(KEEP_ALIVE_MS * 3)
  let received = 0
  deaf.on('data', (data: Buffer) => {
    received += data.length
  })
  deaf.resume()
  await new Promise((resolve) => deaf.once('close', resolve))
  assert.ok(received < body.length)
})

test('a request in progress outlives the idle timeout', async (t) => {
  const { port } = await start(t, { '/slow': later(KEEP_ALIVE_MS * 2) })
  const client = open(port)
  client.socket.write(get('/slow'))
  await until('answers', () => answersIn(client.text()) === 1)
})

test('closing ends idle connections at once and busy ones with their answer', async (t) => {
  const { port, fastHttp, log } = await start(t, { '/slow': later(1_000), '/a': plain })
  const idle = open(port)
  const busy = open(port)
  idle.socket.write(get('/a'))
  await until('answers', () => answersIn(idle.text()) === 1)
  busy.socket.write(get('/slow') + get('/a'))
  await until('the slow one is under way', () => log.includes('fast GET /slow'))
  fastHttp.close()
  await idle.closed
  await busy.closed
  assert.equal(answersIn(busy.text()), 1)
  assert.match(busy.text(), /\r\nConnection: close\r\n/)
  assert.doesNotMatch(busy.text(), /keep-alive/i)
})

test('after closing nothing more is carried out on a connection that has ended', async (t) => {
  const { port, fastHttp, log } = await start(t, { '/now': plain, '/later': later(50) })
  const idle = open(port)
  idle.socket.write(get('/now?1'))
  await until('the answer', () => answersIn(idle.text()) === 1)
  const busy = open(port)
  busy.socket.write(get('/later') + get('/now?2'))
  await until('the request', () => log.length === 2)
  fastHttp.close()
  idle.socket.write(get('/now?3'))
  await Promise.all([idle.closed, busy.closed])
  assert.deepEqual(log, ['fast GET /now?1', 'fast GET /later'])
  assert.equal(answersIn(busy.text()), 1)
})

test('a caller that leaves is noticed', async (t) => {
  let gone: (() => boolean) | undefined
  const { port } = await start(t, {
    '/wait': (_head, _body, { socket }) => {
      gone = () => socket.destroyed
    },
  })
  const client = open(port)
  client.socket.write(get('/wait'))
  await until('a request to leave', () => gone !== undefined)
  assert.equal(gone?.(), false)
  client.socket.destroy()
  await until('the caller has left', () => gone?.() === true)
})

test('requests that arrive together do not keep other connections waiting until all are answered', async (t) => {
  const order: string[] = []
  const slow =
    (name: string): FastHandler =>
    (head, body, from) => {
      for (const endsAtMs = performance.now() + 5; performance.now() < endsAtMs; );
      order.push(name)
      plain(head, body, from)
    }
  const { port } = await start(t, { '/flood': slow('flood'), '/other': slow('other') })
  const flood = open(port)
  flood.socket.write(get('/flood').repeat(40))
  await until('the flood has begun', () => order.length > 0)
  const other = open(port)
  other.socket.write(get('/other'))
  await until('all are answered', () => answersIn(flood.text()) === 40 && answersIn(other.text()) === 1)
  assert.notEqual(order.at(-1), 'other')
})
