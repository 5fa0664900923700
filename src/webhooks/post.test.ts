/**
 * Proves that connections are reused and never mixed up, that an idle connection which has just closed is not a
 * failure, and that TLS is checked.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { systemClock } from '../kit/clock.ts'
import { createGuard } from './guard.ts'
import { createPoster } from './post.ts'
import { systemResolve } from './resolve-host.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Not reached even on a busy machine. */
const LONG_MS = 30_000
/** For receivers that never answer. */
const SHORT_MS = 300
/** For receivers that answer but never finish. */
const ENOUGH_MS = 1_000

/** A receiver that answers each request with the result of `answer`; undefined means never. */
async function setUp(
  t: TestContext,
  answer: (request: string, socket: Socket, number: number) => string | undefined,
  answerLimitMs = LONG_MS,
) {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString()
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/Content-Length: (\d+)/i.exec(text)?.[1])
      if (end === -1 || Buffer.byteLength(text.slice(end + 4)) < length) return
      requests.push(text)
      const reply = answer(text, socket, requests.length)
      text = ''
      if (reply !== undefined) socket.write(reply)
    })
  })
  const port = await listen(t, server)
  const poster = createPoster({
    clock: systemClock,
    guard: createGuard({ allowPrivate: true, resolve: systemResolve(systemClock) }),
    answerLimitMs,
  })
  t.after(() => {
    poster.close()
    for (const socket of sockets) socket.destroy()
  })
  const url = new URL(`http://127.0.0.1:${port}/hook?a=b%20c`)
  const post = (body = 'grüße', isWanted?: () => boolean) =>
    poster.post(url, { 'Content-Length': String(Buffer.byteLength(body)), 'X-Own': '1' }, body, isWanted)
  return { post, poster, requests, connections: () => connections, port }
}

test('requests follow each other on one keep-alive connection, with path, host and body unchanged', async (t) => {
  const { post, requests, connections, port } = await setUp(t, () => OK)
  for (let count = 0; count < 5; count++) {
    const { durationMs, ...result } = await post()
    assert.deepEqual(result, {
      status: 200,
      error: null,
      retryAfter: undefined,
      responseHead: 'HTTP/1.1 200 OK\r\nContent-Length: 2',
      response: 'ok',
    })
    assert.ok(durationMs < LONG_MS)
  }
  assert.equal(connections(), 1)
  const [head, body] = requests[0]?.split('\r\n\r\n') ?? []
  assert.equal(body, 'grüße')
  assert.deepEqual(head?.split('\r\n'), [
    'POST /hook?a=b%20c HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'connection: keep-alive',
    'X-Own: 1',
    'content-length: 7',
  ])
})

test('concurrent requests never share a connection, and each gets its own answer', async (t) => {
  const { post, connections } = await setUp(t, (request, socket) => {
    const body = request.split('\r\n\r\n')[1] ?? ''
    setTimeout(() => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`), 5)
    return undefined
  })
  for (let round = 0; round < 5; round++) {
    const bodies = Array.from({ length: 8 }, (_, index) => `${round}-${index}`)
    const answers = await Promise.all(bodies.map((body) => post(body)))
    assert.deepEqual(
      answers.map(({ response }) => response),
      bodies,
    )
  }
  assert.equal(connections(), 8)
})

test('a connection that is not keep-alive is not reused', async (t) => {
  for (const reply of [
    'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok',
    `${OK}HTTP/1.1 200 smuggled\r\nContent-Length: 0\r\n\r\n`,
  ]) {
    const { post, connections } = await setUp(t, () => reply)
    for (let count = 1; count <= 3; count++) {
      assert.equal((await post()).status, 200)
      assert.equal(connections(), count, JSON.stringify(reply))
    }
  }
})

test('an idle connection that the receiver just closed is not a failed attempt; a new one that breaks is', async (t) => {
  const { post, requests } = await setUp(t, (_request, socket, number) => {
    if (number !== 2) return OK
    socket.destroy()
    return undefined
  })
  assert.equal((await post()).status, 200)
  assert.equal((await post()).status, 200, 'the second request is sent again')
  assert.equal(requests.length, 3)
  const broken = await setUp(t, (_request, socket) => void socket.destroy())
  assert.match((await broken.post()).error ?? '', /connection failed: ECONNRESET/)
  assert.equal(broken.requests.length, 1)
})

test('what is no longer wanted is sent neither over a new connection nor a second time', async (t) => {
  const { post, requests } = await setUp(t, (_request, socket, number) => {
    if (number !== 2) return OK
    socket.destroy()
    return undefined
  })
  let isWanted = false
  assert.equal((await post('a', () => isWanted)).status, null)
  assert.equal(requests.length, 0)
  isWanted = true
  assert.equal((await post('b', () => isWanted)).status, 200)
  const second = post('c', () => isWanted)
  isWanted = false
  assert.equal((await second).status, null)
  assert.equal(requests.length, 2)
})

test('silence, half an answer, an endless body and invalid HTTP', async (t) => {
  const silent = await setUp(t, () => undefined, SHORT_MS)
  assert.match((await silent.post()).error ?? '', /no answer within 0.3 s/)
  const half = await setUp(t, () => 'HTTP/1.1 20', SHORT_MS)
  assert.match((await half.post()).error ?? '', /no answer within/)
  // The status is the answer; what happens to the body afterwards changes nothing.
  const dripping = await setUp(t, () => 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel', ENOUGH_MS)
  assert.equal((await dripping.post()).status, 200)
  assert.equal((await dripping.post()).status, 200)
  assert.equal(dripping.connections(), 2)
  const endless = await setUp(t, () => `HTTP/1.1 500 x\r\n\r\n${'x'.repeat(100_000)}`)
  const { status, response } = await endless.post()
  assert.equal(status, 500)
  assert.equal(response?.length, 1_024)
  const other = await setUp(t, () => 'SSH-2.0-OpenSSH_9.6\r\n\r\n')
  assert.match((await other.post()).error ?? '', /not understood/)
})

test('a receiver that floods interim answers or trailers is cut off, and so is one that drips them', async (t) => {
  const again = { interim: 'HTTP/1.1 100 Continue\r\n\r\n', trailer: 'A: b\r\n' }
  const trailers = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n'
  for (const [kind, everyMs] of [
    ['interim', 0],
    ['interim', 100],
    ['trailer', 0],
    ['trailer', 100],
  ] as const) {
    let isOpen = true
    let sent = 0
    const flood = await setUp(
      t,
      (_request, socket) => {
        socket.on('close', () => {
          isOpen = false
        })
        const text = everyMs === 0 ? again[kind].repeat(1_000) : again[kind]
        const go = () => {
          if (!isOpen) return
          sent += text.length
          socket.write(text, () => (everyMs === 0 ? setImmediate(go) : setTimeout(go, everyMs)))
        }
        setTimeout(go, 1)
        return kind === 'trailer' ? trailers : undefined
      },
      everyMs === 0 ? LONG_MS : ENOUGH_MS,
    )
    const startedMs = performance.now()
    const { status, error } = await flood.post()
    assert.ok(performance.now() - startedMs < LONG_MS, `${kind} ends at its time`)
    if (kind === 'trailer') assert.equal(status, 200, 'the status was given')
    else assert.match(error ?? '', everyMs === 0 ? /not understood/ : /no answer within/)
    while (isOpen) await new Promise((resolve) => setTimeout(resolve, 5))
    assert.ok(sent < 5_000_000, `${sent} bytes were taken`)
  }
})

test('a closed poster ends requests in flight and starts none', async (t) => {
  const { post, poster, requests } = await setUp(t, () => undefined)
  const waiting = post()
  while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  poster.close()
  assert.match((await waiting).error ?? '', /connection failed/)
  assert.match((await post()).error ?? '', /ending/)
  assert.equal(requests.length, 1)
})

test('a name that resolves to a private address at delivery is not connected to', async (t) => {
  let connections = 0
  const server = createServer(() => connections++)
  const port = await listen(t, server)
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
    const resolve = async () => [{ address, family: address.includes(':') ? 6 : 4 }]
    const poster = createPoster({ clock: systemClock, guard: createGuard({ allowPrivate: false, resolve }) })
    t.after(() => poster.close())
    const { error } = await poster.post(new URL(`https://rebinding.example:${port}/`), {}, '')
    assert.match(error ?? '', /^target refused: /, address)
  }
  assert.equal(connections, 0)
})

const openssl = spawnSync('openssl', ['version']).status === 0
test('over TLS nothing is sent to a receiver without a valid certificate', {
  skip: openssl ? false : 'openssl is not installed',
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-tls-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const names = ['-subj', '/CN=receiver.example', '-addext', 'subjectAltName=DNS:receiver.example']
  const files = ['-keyout', keyFile, '-out', certFile, '-days', '2']
  assert.equal(spawnSync('openssl', ['req', '-x509', ...curve, ...names, ...files]).status, 0)
  const cert = readFileSync(certFile, 'utf8')
  let requests = 0
  let sockets = 0
  const server = createHttps({ key: readFileSync(keyFile), cert }, (request, response) => {
    requests++
    request.resume()
    request.on('end', () => response.end('ok'))
  })
  server.on('secureConnection', () => sockets++)
  const port = await listen(t, server)
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  const poster = createPoster({ clock: systemClock, guard: createGuard({ allowPrivate: true, resolve }) })
  t.after(() => poster.close())
  const post = (host: string) =>
    poster.post(new URL(`https://${host}:${port}/hook`), { 'Content-Length': '2' }, '{}')

  assert.match((await post('receiver.example')).error ?? '', /SELF_SIGNED/)
  assert.equal(requests, 0)
  const known = getCACertificates('default')
  t.after(() => setDefaultCACertificates(known))
  setDefaultCACertificates([...known, cert])
  assert.match((await post('another.example')).error ?? '', /ALTNAME/)
  assert.equal(requests, 0)
  sockets = 0
  for (let count = 0; count < 3; count++) assert.equal((await post('receiver.example')).status, 200)
  assert.equal(requests, 3)
  assert.equal(sockets, 1)
})

test('a request that is sent again has what is left of its time', async (t) => {
  const limitMs = 1_000
  const { post } = await setUp(
    t,
    (_request, socket, number) => {
      if (number === 1) return OK
      if (number === 2) setTimeout(() => socket.destroy(), 0.7 * limitMs)
      return undefined
    },
    limitMs,
  )
  assert.equal((await post()).status, 200)
  const startedMs = performance.now()
  const { error, durationMs } = await post()
  assert.equal(error, 'no answer within 1 s')
  assert.ok(durationMs < 1.5 * limitMs, `${durationMs} ms`)
  assert.ok(performance.now() - startedMs < 1.5 * limitMs)
})
