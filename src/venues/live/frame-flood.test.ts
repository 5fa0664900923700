/** A venue, or whoever stands in its place, may send anything as fast as the network allows. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { WebSocketServer } from 'ws'
import { watchTurns } from '../../../test/fakes/loop-hold.ts'
import { frameOf, listen } from '../../../test/venues/toy-feed.ts'

/** The bytes of one frame of each flood. */
const FLOODS: Record<string, Buffer> = {
  'empty frames': Buffer.from([0x81, 0]),
  'empty objects': Buffer.concat([Buffer.from([0x81, 2]), Buffer.from('{}')]),
  pings: Buffer.from([0x89, 0]),
}
const FLOOD_BYTES = 400_000
const MAX_HELD_MS = 20

for (const [name, frame] of Object.entries(FLOODS))
  test(`a flood of ${name} ends the socket and does not hold the event loop`, async (t) => {
    const flood = Buffer.alloc(FLOOD_BYTES, frame)
    let best = Number.POSITIVE_INFINITY
    for (let round = 0; round < 10 && best > MAX_HELD_MS; round++) {
      const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
      let dials = 0
      server.on('connection', (socket, request) => {
        socket.on('error', () => {})
        if (dials++ === 0) request.socket.write(flood)
        else socket.send(frameOf(1))
      })
      await once(server, 'listening')
      const feed = listen(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
      t.after(() => {
        for (const socket of server.clients) socket.terminate()
        server.close()
      })
      const stop = watchTurns()
      await feed.until(() => feed.ids().length === 1)
      best = Math.min(best, stop())
      const end = feed.seen.find((each) => each.kind === 'disconnected')
      assert.equal(end?.kind === 'disconnected' && end.reason, 'too many small frames')
      await feed.close()
    }
    assert.ok(best <= MAX_HELD_MS, `the loop was held for ${best} ms`)
    t.diagnostic(`held for ${best} ms`)
  })
