import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { createBodyMemory } from './body-memory.ts'
import { answerClientError } from './client-error.ts'
import { collectBody } from './collect-body.ts'
import { keepHalfClosedReaders } from './half-closed.ts'

const BODY = 65_536
const TIMES = { requestTimeout: 200, headersTimeout: 200, connectionsCheckingInterval: 50 }

test('a body that stops arriving gives its memory back after the 408, while the client stays connected', async (t) => {
  const memory = createBodyMemory({ bodyLimitBytes: BODY, maxBytes: 4 * BODY, isProxy: () => false })
  const hasRoom = () => {
    const room = memory.roomFor('192.0.2.1')
    try {
      room.grow(BODY)
      return true
    } catch {
      return false
    } finally {
      room.leave()
    }
  }
  const server = createServer(TIMES)
  const collected = new Promise<unknown>((resolve) => {
    server.on('request', (request) =>
      collectBody(request, BODY, BODY, memory.roomFor('192.0.2.1')).catch(resolve),
    )
  })
  server.on('clientError', (error, socket) => answerClientError(error, socket as never, 'req_1'))
  keepHalfClosedReaders(server, 60_000)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => {
    client.destroy()
    server.close()
    server.closeAllConnections()
  })
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY}\r\n\r\n`)
  client.write(Buffer.alloc(BODY - 1))
  const [answer] = (await once(client, 'data')) as [Buffer]
  assert.match(answer.toString(), /^HTTP\/1\.1 408 /)
  assert.equal(hasRoom(), false)
  assert.match(String(await collected), /ended too early/)
  assert.equal(hasRoom(), true)
  assert.equal(client.destroyed, false)
})

test('an unreadable request ends an earlier answer that is only partly written, and never gets into it', async (t) => {
  const server = createServer(TIMES)
  const readers = keepHalfClosedReaders(server, 60_000)
  server.on('request', (request, response) => {
    response.writeHead(200, { 'Content-Length': 1_000 })
    if (request.url === '/whole') response.end('.'.repeat(1_000))
    else response.write('.'.repeat(10))
  })
  server.on('clientError', (error, socket) =>
    answerClientError(error, socket as never, 'req_1', readers.isInAnswer(socket as never)),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const answerTo = async (path: string, next: string) => {
    const client = connect({ port, host: '127.0.0.1' })
    let text = ''
    client.on('data', (data) => {
      text += data
    })
    client.on('error', () => {})
    client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await once(client, 'data')
    client.write(next)
    await once(client, 'close')
    return text.match(/HTTP\/1\.1 \d+/g)
  }
  for (const next of ['no request\r\n\r\n', 'GET /late HTTP/1.1\r\n']) {
    assert.deepEqual(await answerTo('/part', next), ['HTTP/1.1 200'])
    assert.equal((await answerTo('/whole', next))?.length, 2)
  }
})
