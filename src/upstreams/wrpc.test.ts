import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'
import { countPerTurn } from '../../test/fakes/count-per-turn.ts'
import { startFakeNode } from '../../test/fakes/wrpc-node.ts'
import { until } from '../../test/until.ts'
import { systemClock } from '../kit/clock.ts'
import { dialNode } from './dial-node.ts'
import { type WrpcOptions, WrpcSocket } from './wrpc.ts'

async function connected(t: TestContext, options: Partial<WrpcOptions> = {}) {
  const node = await startFakeNode()
  t.after(() => node.close())
  const closes: string[] = []
  const { promise: open, resolve } = Promise.withResolvers<void>()
  const socket: WrpcSocket = new WrpcSocket({
    url: node.url,
    dial: dialNode,
    clock: systemClock,
    onOpen: resolve,
    onClose: (detail) => closes.push(detail),
    ...options,
  })
  t.after(() => socket.close())
  await open
  return { node, socket, closes }
}
const timeoutMs = 20_000

test('an answer comes back byte for byte, each to its own call', async (t) => {
  const { node, socket } = await connected(t)
  node.respond.set('getBlock', () => '{"nonce":18446744073709551615,  "x":"é"}')
  node.respond.set('getSink', () => ({ error: 'Not implemented' }))
  const params = `{"hash":"${'a'.repeat(64)}","includeTransactions":true}`
  const [block, sink, ping] = await Promise.all([
    socket.call('getBlock', params, { timeoutMs }),
    socket.call('getSink', '{}', { timeoutMs }),
    socket.call('ping', '{}', { timeoutMs }),
  ])
  assert.ok(block.kind === 'result')
  assert.equal(block.bytes.toString(), '{"nonce":18446744073709551615,  "x":"é"}')
  assert.deepEqual(sink, { kind: 'error', text: 'Not implemented' })
  assert.equal(ping.kind, 'result')
  assert.deepEqual(node.violations, [])
  assert.equal(socket.inFlight, 0)
})

test('a call that hangs ends the socket, and the calls queued after it fail as sent', async (t) => {
  const { node, socket, closes } = await connected(t)
  node.hang()
  const started = performance.now()
  const [first, second] = await Promise.all([
    socket.call('getSink', '{}', { timeoutMs: 80 }),
    socket.call('ping', '{}', { timeoutMs: 60_000 }),
  ])
  assert.ok(performance.now() - started < 20_000)
  assert.deepEqual([first.kind, first.kind === 'fault' && first.fault], ['fault', 'timeout'])
  assert.deepEqual(
    [second.kind === 'fault' && second.fault, second.kind === 'fault' && second.sent],
    ['closed', true],
  )
  assert.equal(socket.state, 'closed')
  assert.equal(closes.length, 1)
  const after = await socket.call('ping', '{}', { timeoutMs })
  assert.ok(after.kind === 'fault' && !after.sent)
})

test('a caller that leaves does not disturb the others', async (t) => {
  const { node, socket } = await connected(t)
  node.delayMs = 60
  const leaving = socket.call('getSink', '{}', { timeoutMs, signal: AbortSignal.timeout(10) })
  const staying = socket.call('ping', '{}', { timeoutMs })
  const left = await leaving
  assert.ok(left.kind === 'fault' && left.fault === 'cancelled')
  assert.equal((await staying).kind, 'result')
  assert.equal(socket.state, 'open')
})

test('when a node dies, calls in flight fail at once', async (t) => {
  const { node, socket } = await connected(t)
  node.hang()
  const call = socket.call('ping', '{}', { timeoutMs: 10_000 })
  setTimeout(() => void node.die(), 20)
  const answer = await call
  assert.ok(answer.kind === 'fault' && answer.fault === 'closed' && answer.sent)
})

test('a silent peer is noticed by the missing pong, but not while a call is running', async (t) => {
  const { node, socket, closes } = await connected(t, { pingMs: 40 })
  node.delayMs = 200
  assert.equal((await socket.call('ping', '{}', { timeoutMs })).kind, 'result')
  assert.equal(socket.state, 'open')
  node.hang()
  await until('it is noticed', () => closes.length > 0)
  assert.deepEqual(closes, ['no pong'])
})

test('a peer that accepts the connection and never sends anything is given up', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const { promise, resolve } = Promise.withResolvers<string>()
  new WrpcSocket({
    url: `ws://127.0.0.1:${address.port}`,
    dial: dialNode,
    clock: systemClock,
    connectTimeoutMs: 60,
    onClose: resolve,
  })
  assert.match(await promise, /handshake/i)
})

test('notifications are handed over with their payload', async (t) => {
  const seen: string[] = []
  const { node, socket } = await connected(t, {
    onNotification: (method, params) => seen.push(`${method} ${params}`),
  })
  node.notify('newBlockTemplateNotification', '{"NewBlockTemplate":{}}')
  await socket.call('ping', '{}', { timeoutMs })
  assert.deepEqual(seen, ['newBlockTemplateNotification {"NewBlockTemplate":{}}'])
})

test('a frame above the limit ends the socket and is not read', async (t) => {
  const { node, socket, closes } = await connected(t, { maxFrameBytes: 10_000 })
  node.respond.set('getSink', () => `"${'x'.repeat(10_000)}"`)
  const answer = await socket.call('getSink', '{}', { timeoutMs })
  assert.equal(answer.kind === 'fault' && answer.fault, 'closed')
  assert.match(closes.join(), /max payload/i)
})

/** A node that sends the frames in one write as soon as a connection opens. */
async function floodingNode(t: TestContext, send: (socket: WebSocket) => void): Promise<string> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (socket, request) => {
    socket.on('error', () => {})
    request.socket.cork()
    send(socket)
    request.socket.uncork()
  })
  await once(server, 'listening')
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const FLOODS: Record<string, (socket: WebSocket) => void> = {
  'empty objects': (socket) => socket.send('{}'),
  'answers to no call': (socket) => socket.send('{"id":7,"params":{}}'),
  'notifications without a subscription': (socket) => socket.send('{"method":"x","params":{}}'),
  pings: (socket) => socket.ping(),
  'pongs without a ping': (socket) => socket.pong(),
}

for (const [name, send] of Object.entries(FLOODS))
  test(`a flood of ${name} ends the socket, a few of them do not`, async (t) => {
    const closes: string[] = []
    const floodedWith = async (count: number) => {
      const url = await floodingNode(t, (socket) => {
        for (let sent = 0; sent < count; sent++) send(socket)
        socket.on('message', () => socket.send('{"id":1,"params":{}}'))
      })
      const { promise: open, resolve } = Promise.withResolvers<void>()
      const onClose = (detail: string) => closes.push(detail)
      const socket = new WrpcSocket({ url, dial: dialNode, clock: systemClock, onOpen: resolve, onClose })
      t.after(() => socket.close())
      await open
      return socket.call('ping', '{}', { timeoutMs })
    }
    assert.equal((await floodedWith(20)).kind, 'result')
    assert.deepEqual(closes, [])
    assert.equal((await floodedWith(1_000)).kind, 'fault')
    assert.deepEqual(closes, ['too many frames without a reason'])
  })

test('a flood of notifications takes a dozen milliseconds of a turn of the event loop, and the rest later ones', async (t) => {
  const frames = 10_000
  const text = '{"method":"x","params":{}}'
  const url = await floodingNode(t, (socket) => {
    for (let sent = 0; sent < frames; sent++) socket.send(text)
  })
  const handledMs = 0.05
  const counted = countPerTurn(frames, handledMs)
  const onNotification = () => counted.add()
  const socket = new WrpcSocket({ url, dial: dialNode, clock: systemClock, onNotification })
  t.after(() => socket.close())
  const most = await counted.most
  // A short read, the time of a turn, and what is handed over at once.
  assert.ok(most <= 12 / handledMs + (2 * 16 * 1024) / text.length, `${most} in one turn`)
})
