import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import { countPerTurn } from '../../../test/fakes/count-per-turn.ts'
import { dialWebSocket } from './dial-web-socket.ts'

const FRAMES = 10_000
/** How long a frame takes to handle. */
const FRAME_MS = 0.05
const TEXT = JSON.stringify({ type: 'trade', price: '78000.5', size: '0.01', side: 'buy' })

test('frames that arrive together take a dozen milliseconds of a turn of the event loop, and the rest later ones', async (t) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (socket, request) => {
    request.socket.cork()
    for (let sent = 0; sent < FRAMES; sent++) socket.send(TEXT)
    request.socket.uncork()
  })
  await once(server, 'listening')
  t.after(() => server.close())
  const socket = dialWebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.after(() => socket.terminate())
  const counted = countPerTurn(FRAMES, FRAME_MS)
  socket.on('message', () => counted.add())
  const most = await counted.most
  // A short read, the time of a turn, and what is handed over at once.
  assert.ok(most <= 12 / FRAME_MS + (2 * 16 * 1024) / TEXT.length, `${most} in one turn`)
})

test('a socket that its owner pauses stays paused', async (t) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (socket) => {
    for (let sent = 0; sent < FRAMES; sent++) socket.send(TEXT)
  })
  await once(server, 'listening')
  t.after(() => server.close())
  const socket = dialWebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.after(() => socket.terminate())
  let frames = 0
  const { promise: all, resolve } = Promise.withResolvers<void>()
  socket.on('message', () => {
    if (++frames === 1) socket.pause()
    if (frames === FRAMES) resolve()
  })
  while (frames === 0) await wait(5)
  await wait(100)
  assert.ok(frames <= (64 * 1024) / TEXT.length, `${frames} frames`)
  socket.resume()
  await all
})
