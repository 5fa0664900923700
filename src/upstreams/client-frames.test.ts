import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { WebSocketServer } from 'ws'
import { createFrameWriter } from './client-frames.ts'

test('frames of every length are read by an independent server as they were written', async (t) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
  await once(server, 'listening')
  t.after(() => server.close())
  const texts = [
    ...['', 'a', '{"id":1}', 'é€😀'.repeat(40)],
    ...[124, 125, 126, 127, 65_535, 65_536, 200_000].map((length) => 'x'.repeat(length)),
    ...Array.from({ length: 2_000 }, (_, index) => `{"id":${index}}`),
  ]
  const received: string[] = []
  const { promise: all, resolve } = Promise.withResolvers<void>()
  server.on('connection', (socket) =>
    socket.on('message', (data) => {
      received.push(String(data))
      if (received.length === texts.length) resolve()
    }),
  )
  const { port } = server.address() as { port: number }
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write(
    'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  await once(socket, 'data')
  socket.write(createFrameWriter()(texts))
  await all
  assert.deepEqual(received, texts)
})
