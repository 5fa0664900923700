import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '../../kit/clock.ts'
import { dialWebSocket } from './dial-web-socket.ts'
import { ignored } from './frame.ts'
import { VenueSocket } from './socket.ts'

const REFUSALS = [
  { line: '429 Too Many Requests\r\nRetry-After: 7', forMs: 7_000 },
  { line: "418 I'm a teapot\r\nRetry-After: 3600", forMs: 3_600_000 },
  { line: '503 Service Unavailable\r\nRetry-After: 7', forMs: 0 },
]

test('a refused upgrade says how long a limit or a ban lasts', async (t) => {
  const lines = REFUSALS.map(({ line }) => line)
  const server = createServer().on('upgrade', (_request, wire) =>
    wire.end(`HTTP/1.1 ${lines.shift()}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`),
  )
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const { line, forMs } of REFUSALS) {
    const socket = VenueSocket.open({
      route: { name: 'toy', url, channels: [], greeting: [] },
      clock: systemClock,
      dial: dialWebSocket,
      protocol: { read: () => ignored(''), accepts: false, heartbeat: null, greetingPaceMs: 0 },
      limits: { openWithinMs: 10_000, trafficSilenceMs: 60_000, closeWithinMs: 1_000, dataSilenceMs: null },
      events: { opened() {}, frame() {} },
      paused: false,
    })
    assert.equal(await socket.opened, false)
    assert.equal(socket.refusedForMs, forMs, line)
    await socket.ended
  }
})
