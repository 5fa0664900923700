import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { WebSocketServer } from 'ws'
import { countPerTurn } from '../../../test/fakes/count-per-turn.ts'
import { dialWebSocket } from './dial-web-socket.ts'

const FRAMES = 1_000

test('frames that arrive together are handled one per turn of the event loop', async (t) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (socket, request) => {
    request.socket.cork()
    for (let sent = 0; sent < FRAMES; sent++) socket.send('{}')
    request.socket.uncork()
  })
  await once(server, 'listening')
  t.after(() => server.close())
  const socket = dialWebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.after(() => socket.terminate())
  const counted = countPerTurn(FRAMES)
  socket.on('message', () => counted.add())
  assert.equal(await counted.most, 1)
})
