import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { makeCertificate, SKIP_CERTIFICATES } from '../../../test/fakes/certificates.ts'
import { until } from '../../../test/until.ts'
import { createLogger } from '../../kit/log.ts'
import { boundConnections, connectionsWithin } from './bound-connections.ts'

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

test('connections above the bound are closed, which is said once; a place that is left is taken', async (t) => {
  const lines: string[] = []
  const log = createLogger({ level: 'warn', write: (line: string) => lines.push(line) })
  const server = createServer((_request, response) => response.end('done'))
  boundConnections(server, { log, max: 2, isProxy: () => true })
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

for (const kind of ['http', 'https'] as const) {
  test(`one address gets a quarter, a place that is left is taken, proxies have no such bound (${kind})`, {
    skip: kind === 'https' && SKIP_CERTIFICATES,
  }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'tapeline-connections-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const messages: string[] = []
    const log = createLogger({ level: 'warn', write: (line: string) => messages.push(JSON.parse(line).msg) })
    const server = kind === 'http' ? createServer() : createSecureServer(pairIn(folder))
    server.on('request', (_request, response) => response.end('done'))
    boundConnections(server, { log, max: 8, isProxy: (address) => address === '127.0.0.9' })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const open = async (localAddress: string) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      socket.on('error', () => {})
      await once(socket, 'connect')
      return socket
    }
    const held = [await open('127.0.0.1'), await open('127.0.0.1')]
    t.after(() => {
      for (const socket of held) socket.destroy()
      server.closeAllConnections()
      server.close()
    })
    for (const refused of [await open('127.0.0.1'), await open('127.0.0.1')]) {
      await once(refused.resume(), 'close')
    }
    assert.deepEqual(messages, ['connections were refused: too many of one address are open'])
    for (const other of ['127.0.0.2', '127.0.0.9', '127.0.0.9', '127.0.0.9']) held.push(await open(other))
    await until('all others are open', async () => (await countOf(server)) === 6)

    held[0]?.destroy()
    await until('one has left', async () => (await countOf(server)) === 5)
    held.push(await open('127.0.0.1'))
    await until('its place is taken', async () => (await countOf(server)) === 6)
  })
}

function countOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  )
}

function pairIn(folder: string) {
  const { cert, key } = makeCertificate(folder, 'own')
  return { cert: readFileSync(cert), key: readFileSync(key) }
}

test('part of the files that may be opened stays for the service', () => {
  assert.equal(connectionsWithin(256), 128)
  assert.equal(connectionsWithin(4_096), 3_072)
  assert.equal(connectionsWithin(Number.POSITIVE_INFINITY), 50_000)
})
