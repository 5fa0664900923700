import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { until } from '../../../test/until.ts'
import { boundDropped } from './bound-dropped.ts'

const MAX_DROPPED = 100_000
const PIECE = Buffer.alloc(10_000, 'x')

test('a body that goes on after its answer is read to a bound, and a shorter one to its end', async (t) => {
  const server = createServer((_request, response) => response.writeHead(413).end('too long'))
  boundDropped(server, MAX_DROPPED)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const post = (length: number) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    let answer = ''
    socket.on('error', () => {})
    socket.on('data', (part) => {
      answer += part
    })
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`)
    return { socket, answers: () => answer.split('HTTP/1.1 413').length - 1 }
  }

  const endless = post(1_000_000_000)
  await until('the answer', () => endless.answers() === 1)
  const closed = new Promise((resolve) => endless.socket.once('close', resolve))
  const pump = setInterval(() => endless.socket.write(PIECE), 1)
  await closed
  clearInterval(pump)
  assert.ok(endless.socket.bytesWritten < 1_000_000_000)

  const short = post(PIECE.length)
  await until('the answer', () => short.answers() === 1)
  short.socket.write(PIECE)
  short.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await until('the answer', () => short.answers() === 2)
  short.socket.destroy()
})
