import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createLogger } from '../../kit/log.ts'
import { boundConnections, connectionsWithin } from './bound-connections.ts'

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

test('connections above the bound are closed, which is said once; a place that is left is taken', async (t) => {
  const lines: string[] = []
  const log = createLogger({ level: 'warn', write: (line: string) => lines.push(line) })
  const server = createServer((_request, response) => response.end('done'))
  boundConnections(server, log, 2)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const open = async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }

  const held = [await open(), await open()]
  for (const refused of [await open(), await open()]) await once(refused.resume(), 'close')
  const answers = held.map((socket) => text(socket))
  for (const socket of held) socket.write(REQUEST)
  for (const answer of answers) assert.match(await answer, /done/)
  const next = await open()
  next.write(REQUEST)
  assert.match(await text(next), /done/)
  assert.equal(lines.length, 1)
})

test('part of the files that may be opened stays for the service', () => {
  assert.equal(connectionsWithin(256), 128)
  assert.equal(connectionsWithin(4_096), 3_072)
  assert.equal(connectionsWithin(Number.POSITIVE_INFINITY), 50_000)
})
