/** The limits of MCP: how many requests are served at a time, and for how long. */
import assert from 'node:assert/strict'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import Fastify from 'fastify'
import { silentLog } from '../../../test/fakes/service.ts'
import { until } from '../../../test/until.ts'
import { UnreadAnswers } from '../../gate/unread-answers.ts'
import type { McpHttp } from '../mcp/serve-http.ts'
import { createCors } from './cors.ts'
import { addMcp } from './mcp-route.ts'

const REPLY = { status: 200, contentType: 'application/json', body: '{}' }

function open(
  http: McpHttp,
  bounds: { maxInFlight?: number; requestMs?: number } = {},
  unread = new UnreadAnswers(),
  accountOf = () => 'acc',
) {
  const app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  let ids = 0
  addMcp(app, {
    http,
    ...bounds,
    gate: { admit: async () => ({ key: 'svc_test_key', accountId: accountOf(), count: () => {} }) },
    endpointGate: {
      handle: () => assert.fail('nothing is read here'),
      view: () => assert.fail(),
      unread,
    },
    routes: [],
    cors: createCors([]),
    nextId: () => `req_${ids++}`,
    log: silentLog,
    observe: () => {},
  })
  const post = (message: unknown = {}) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(message),
    })
  return { app, post }
}

test('the 201st request at a time is refused, and served once another has ended', async () => {
  const ends: (() => void)[] = []
  let asked = 0
  const { app, post } = open(
    { serve: () => new Promise((resolve) => ends.push(() => resolve(REPLY))), close: async () => {} },
    {},
    undefined,
    () => `acc_${asked++ % 5}`,
  )
  const running = Array.from({ length: 200 }, () => post())
  while (ends.length < 200) await new Promise((resolve) => setImmediate(resolve))
  const refused = await post()
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '1'])
  ends[0]?.()
  assert.equal((await running[0])?.statusCode, 200)
  const next = post()
  while (ends.length < 201) await new Promise((resolve) => setImmediate(resolve))
  for (const end of ends) end()
  assert.deepEqual([...new Set((await Promise.all([...running, next])).map((one) => one.statusCode))], [200])
  await app.close()
})

test('an account gets a quarter of the requests at a time, and leaves the rest to others', async () => {
  const ends: (() => void)[] = []
  let accountId = 'first'
  const { app, post } = open(
    { serve: () => new Promise((resolve) => ends.push(() => resolve(REPLY))), close: async () => {} },
    { maxInFlight: 8 },
    undefined,
    () => accountId,
  )
  const running = [post(), post()]
  while (ends.length < 2) await new Promise((resolve) => setImmediate(resolve))
  const refused = await post()
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '1'])
  assert.match(refused.json().message, /^2 requests of this account /)
  accountId = 'second'
  const other = post()
  while (ends.length < 3) await new Promise((resolve) => setImmediate(resolve))
  ends[0]?.()
  assert.equal((await running[0])?.statusCode, 200)
  accountId = 'first'
  const next = post()
  while (ends.length < 4) await new Promise((resolve) => setImmediate(resolve))
  for (const end of ends) end()
  for (const one of [...running, other, next]) assert.equal((await one).statusCode, 200)
  await app.close()
})

test('a request that takes too long is answered, and keeps its place until it has ended', async () => {
  const started: { end: () => void; isOver: () => boolean }[] = []
  const { app, post } = open(
    {
      serve: ({ session }) =>
        new Promise((resolve) => {
          started.push({ end: () => resolve(REPLY), isOver: session.isOver })
        }),
      close: async () => {},
    },
    { maxInFlight: 1, requestMs: 200 },
  )
  assert.equal((await post()).statusCode, 504)
  assert.equal(started[0]?.isOver(), true)
  assert.equal((await post()).statusCode, 429, 'what is still running counts')
  started[0]?.end()
  await new Promise((resolve) => setImmediate(resolve))
  const next = post()
  while (started.length < 2) await new Promise((resolve) => setImmediate(resolve))
  started[1]?.end()
  assert.equal((await next).statusCode, 200)
  await app.close()
})

test('a request that is aborted because its time is over is a timeout, even if the timer of the thread is early', async () => {
  const { app, post } = open(
    {
      serve: ({ endsInMs }) =>
        new Promise((_resolve, reject) => {
          setTimeout(() => reject(new Error('the time of the request is over')), endsInMs - 20)
        }),
      close: async () => {},
    },
    { requestMs: 200 },
  )
  assert.equal((await post()).statusCode, 504)
  await app.close()
})

test('a batch in which two messages have the same id is refused whole', async () => {
  let served = 0
  const { app, post } = open({
    serve: async () => {
      served++
      return REPLY
    },
    close: async () => {},
  })
  const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' })
  const refused = await post([ping(1), ping('1'), ping(1)])
  assert.equal(refused.statusCode, 422)
  assert.match(refused.json().message, /the id 1\./)
  assert.equal(served, 0)
  const notice = { jsonrpc: '2.0', method: 'notifications/initialized' }
  assert.equal((await post([ping(1), ping('1'), notice, notice])).statusCode, 200)
  await app.close()
})

test('answers that nobody reads count for their account, which gets no more until they are read or cut off', async () => {
  const unread = new UnreadAnswers()
  const body = 'x'.repeat(64 * 1024 * 1024)
  let isLong = true
  const { app, post } = open(
    { serve: async () => (isLong ? { ...REPLY, body } : REPLY), close: async () => {} },
    {},
    unread,
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const sockets = Array.from({ length: 3 }, () => {
    const socket = connect(port, '127.0.0.1').pause()
    const head = 'POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2'
    socket.write(`${head}\r\n\r\n{}`)
    return socket
  })
  await until('three of them are unread', () => {
    try {
      unread.check('acc')
      return false
    } catch {
      return true
    }
  })
  isLong = false
  const refused = await post()
  assert.deepEqual([refused.statusCode, refused.json().reason], [429, 'unread_answers'])
  for (const socket of sockets) socket.destroy()
  await until('it goes on', async () => (await post()).statusCode === 200)
  await app.close()
})
