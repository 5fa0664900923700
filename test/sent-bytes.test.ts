import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { freePort } from './free-port.ts'
import { clientEnd, ownConnections, serverEnd } from './sent-bytes.ts'

/** Half of the time after which a connection counts as not being read: a mix-up costs that much at every step. */
const PROMPT_MS = 1_500

describe('two connections to different servers from one port', () => {
  const arrived = ownConnections()
  const client = clientEnd()
  const server = serverEnd()
  const servers = [createServer(), createServer()]
  const clients: Socket[] = []
  const accepted: Socket[] = []

  before(async () => {
    const localPort = await freePort()
    for (const listening of servers) {
      listening.listen(0, '127.0.0.1')
      await once(listening, 'listening')
      const { port } = listening.address() as AddressInfo
      const accepting = once(listening, 'connection')
      const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.1', localPort })
      clients.push(socket.resume())
      await once(socket, 'connect')
      accepted.push(((await accepting) as [Socket])[0].resume())
    }
    assert.equal(new Set(clients.map((socket) => socket.localPort)).size, 1)
  })

  after(() => {
    for (const socket of [...clients, ...accepted]) socket.destroy()
    for (const listening of servers) listening.close()
  })

  it('are told apart: what was sent on one is not awaited on the other', async () => {
    clients[0]?.write('x'.repeat(1_000))
    accepted[1]?.write('x'.repeat(2_000))
    const startMs = performance.now()
    await arrived()
    assert.ok(performance.now() - startMs < PROMPT_MS, `${performance.now() - startMs} ms`)
    assert.deepEqual(
      [...accepted, ...clients].map(({ bytesRead }) => bytesRead),
      [1_000, 0, 0, 2_000],
    )
  })

  it('are told apart by another process too', async () => {
    const sent = await client.sent()
    const answered = await server.sent()
    assert.deepEqual(Object.values(sent).sort(), [0, 1_000])
    assert.deepEqual(Object.values(answered).sort(), [0, 2_000])
    const startMs = performance.now()
    await server.received(sent)
    await client.received(answered)
    assert.ok(performance.now() - startMs < PROMPT_MS, `${performance.now() - startMs} ms`)
  })
})
