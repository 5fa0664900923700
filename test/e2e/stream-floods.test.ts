/** Clients of the stream that flood and do not read: the memory of the service stays bounded, others are served. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { WebSocketServer } from 'ws'
import { systemClock } from '../../src/kit/clock.ts'
import { dialNode } from '../../src/upstreams/dial-node.ts'
import { WrpcSocket } from '../../src/upstreams/wrpc.ts'
import { dialWebSocket } from '../../src/venues/live/dial-web-socket.ts'
import { askRaw, assertError, readAnswer } from '../fakes/client.ts'
import { makeKeyBeside } from '../fakes/keys.ts'
import { type ChildService, dataFolder, spawnService } from '../fakes/service.ts'
import { connectStream } from '../fakes/stream-client.ts'
import { until } from '../until.ts'

const PENDING = 8
const PING_BYTES = 125
const MAX_GROWTH_BYTES = 96 * 1024 * 1024
const CUT_WITHIN_MS = 60_000

const folder = dataFolder()
let service: ChildService
let key: string
before(async () => {
  service = await spawnService(folder.path, { env: { TAPELINE_STREAM_PENDING: String(PENDING) } })
  key = await makeKeyBeside(folder.path)
})
after(async () => {
  await service.kill('SIGKILL')
  folder.remove()
})

const HANDSHAKE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='

/** A masked frame of a client; the mask is zero. */
function frame(opcode: number, body: Buffer, isLast = true): Buffer {
  const head = Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | body.length, 0, 0, 0, 0])
  return Buffer.concat([head, body])
}
const many = (one: Buffer) => Buffer.concat(new Array(Math.ceil(1_000_000 / one.length)).fill(one))
const FLOODS: Record<string, Buffer> = {
  pings: many(frame(9, Buffer.alloc(PING_BYTES, 'p'))),
  texts: many(frame(1, Buffer.from('{"op":"ping","id":"flood"}'))),
  'binary messages': many(frame(2, Buffer.alloc(PING_BYTES))),
  fragments: Buffer.concat([frame(1, Buffer.from('a'), false), many(frame(0, Buffer.from('a'), false))]),
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms).unref())

function open(withKey: boolean): Socket {
  const socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1' })
  socket.on('error', () => {})
  socket.write(`GET /v1/ws${withKey ? `?api_key=${key}` : ''} HTTP/1.1\r\nHost: x\r\n${HANDSHAKE}\r\n\r\n`)
  return socket
}

/** Sends without reading until the other side ends the connection; false when it never does. */
async function flood(socket: Socket, piece: Buffer): Promise<boolean> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const endsAt = performance.now() + CUT_WITHIN_MS
  while (!socket.destroyed && performance.now() < endsAt) {
    if (socket.write(piece)) continue
    const rest = endsAt - performance.now()
    await Promise.race([closed, new Promise((resolve) => socket.once('drain', resolve)), pause(rest)])
  }
  return socket.destroyed
}

function residentBytes(): number {
  const [, pages = '0'] = readFileSync(`/proc/${service.pid}/statm`, 'utf8').split(' ')
  return Number(pages) * 4096
}

for (const withKey of [true, false]) {
  for (const [what, piece] of Object.entries(FLOODS)) {
    const who = withKey ? 'a client with a key' : 'a client without a key'
    test(`${what} of ${who} that never reads are cut off, with bounded memory`, async (t) => {
      if (process.platform !== 'linux') return t.skip('reads /proc')
      const before = residentBytes()
      const sockets = Array.from({ length: withKey ? 2 : PENDING }, () => open(withKey))
      for (const socket of sockets) socket.pause()
      const ends = await Promise.all(sockets.map((socket) => flood(socket, piece)))
      const growth = residentBytes() - before
      assert.deepEqual(new Set(ends), new Set([true]), 'each was ended by the service')
      t.diagnostic(`grew by ${Math.round(growth / 1024 / 1024)} MiB`)
      assert.ok(growth < MAX_GROWTH_BYTES, `grew by ${Math.round(growth / 1024 / 1024)} MiB`)
      // The connections that were cut count for their address until they are closed.
      await until('another client is served', isServed)
    })
  }
}

test('an address has only so many connections without an accepted key, and gets them back', async () => {
  const answers: string[] = []
  const sockets = Array.from({ length: PENDING + 5 }, () => {
    const socket = open(false)
    const index = answers.push('') - 1
    socket.on('data', (chunk) => {
      answers[index] += chunk.toString('latin1')
    })
    return socket
  })
  await until('each is answered', () => answers.every((text) => text.startsWith('HTTP/1.1 ')))
  const statuses = answers.map((text) => text.slice(9, 12))
  assert.equal(statuses.filter((status) => status === '101').length, PENDING)
  assert.equal(statuses.filter((status) => status === '429').length, 5)
  await until('the refusals are closed', () => sockets.filter((socket) => socket.closed).length >= 5)
  for (const text of answers.filter((text) => text.startsWith('HTTP/1.1 429'))) {
    const refused = readAnswer(text)
    assert.equal(assertError(refused, 429, 'rate_limited').retry_after, 1)
    assert.equal(refused.headers.get('retry-after'), '1')
  }
  // Nothing but a close is sent to them.
  await until('they are closed', () =>
    answers.every((text) => text.startsWith('HTTP/1.1 429') || /\r\n\r\n\x88/.test(text)),
  )
  for (const socket of sockets) socket.destroy()
  await until('room again', isServed)
})

test('a handshake that no WebSocket client would send is refused in the form of every error', async () => {
  for (const wrong of [
    HANDSHAKE.replace(/\r\nSec-WebSocket-Key.*/, ''),
    HANDSHAKE.replace(/(Sec-WebSocket-Key:) .*/, '$1 short'),
    `${HANDSHAKE}\r\nSec-WebSocket-Protocol: a,,b`,
  ]) {
    const text = await askRaw(
      service.url,
      `GET /v1/ws?api_key=${key} HTTP/1.1\r\nHost: x\r\n${wrong}\r\n\r\n`,
    )
    const { message } = assertError(readAnswer(text), 400, 'invalid_param')
    assert.match(String(message), /Sec-WebSocket-(Key|Protocol)/)
  }
})

async function isServed(): Promise<boolean> {
  const client = connectStream(service.url, key)
  const isWelcome = await client.next('welcome', 1_000).then(
    () => true,
    () => false,
  )
  client.close()
  return isWelcome
}

test('a node and a venue that flood pings and do not read are cut, with bounded memory', async () => {
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    perMessageDeflate: false,
    autoPong: false,
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const raw: Socket[] = []
  server.on('connection', (_client, request) => raw.push(request.socket))
  const url = `ws://127.0.0.1:${port}`
  const pings = many(Buffer.concat([Buffer.from([0x89, PING_BYTES]), Buffer.alloc(PING_BYTES, 'p')]))
  const clients = {
    node: new WrpcSocket({ url, dial: dialNode, clock: systemClock, pingMs: 60_000 }),
    venue: dialWebSocket(url),
  }
  await until('both are connected', () => raw.length === 2)
  const before = process.memoryUsage.rss()
  const ends = await Promise.all(
    raw.map((socket) => {
      socket.pause()
      return flood(socket, pings)
    }),
  )
  assert.deepEqual(ends, [true, true])
  assert.ok(process.memoryUsage.rss() - before < MAX_GROWTH_BYTES)
  await until('the node is given up', () => clients.node.state === 'closed')
  for (const socket of raw) socket.destroy()
  clients.venue.terminate()
  server.close()
})
