import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { useTurnTime } from '../../kit/turns.ts'
import { collectBody } from './collect-body.ts'
import { parseInTurns } from './parse-in-turns.ts'

/**
 * Every read of the clock advances it by a millisecond, so that a turn has a few pieces, however fast the machine is.
 */
function countTurns(t: TestContext): () => number {
  let nowMs = 0
  t.after(useTurnTime(() => nowMs++))
  let turn = 0
  let isOver = false
  const next = () => {
    turn++
    if (!isOver) setImmediate(next)
  }
  next()
  t.after(() => {
    isOver = true
  })
  return () => turn
}

async function listen(t: TestContext, server: Server): Promise<number> {
  parseInTurns(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

function most(counts: ReadonlyMap<number, number>): number {
  return Math.max(...counts.values())
}

function counted(turn: () => number) {
  const counts = new Map<number, number>()
  return { counts, add: () => counts.set(turn(), (counts.get(turn()) ?? 0) + 1) }
}

test('of thousands of requests in one read a few begin in each turn, and all are answered in order', async (t) => {
  const { counts, add } = counted(countTurns(t))
  const answer: RequestListener = (request, response) => {
    add()
    queueMicrotask(() => response.end(`${request.url};`))
  }
  const socket = connect(await listen(t, createServer(answer)), '127.0.0.1')
  const paths = Array.from({ length: 3_000 }, (_, at) => `/${at}`)
  const last = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
  socket.write(`${paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join('')}${last}`)
  const answers = await text(socket)
  assert.deepEqual(
    answers.match(/\/\w+;/g),
    [...paths, '/last'].map((path) => `${path};`),
  )
  assert.ok(most(counts) <= 200, `${most(counts)} requests began in one turn`)
})

test('a body of chunks of one byte arrives whole, some hundred chunks in each turn', async (t) => {
  const { counts, add } = counted(countTurns(t))
  const answer: RequestListener = async (request, response) => {
    request.on('data', add)
    const body = await collectBody(request, 100_000, 0)
    response.end(`${body.length} ${new Set(body).size}`)
  }
  const socket = connect(await listen(t, createServer(answer)), '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n')
  socket.write(`${'1\r\nx\r\n'.repeat(40_000)}0\r\n\r\n`)
  assert.match(await text(socket), /\b40000 1\b/)
  assert.ok(most(counts) <= 2_000, `${most(counts)} chunks were read in one turn`)
})

test('what follows an upgrade in the same read reaches whoever takes the connection over, in order', async (t) => {
  const server = createServer()
  const got = new Promise<string>((resolve) => {
    server.on('upgrade', (_request, socket, head) => {
      socket.unshift(head)
      resolve(text(socket))
    })
  })
  const socket = connect(await listen(t, server), '127.0.0.1')
  const numbers = Array.from({ length: 3_000 }, (_, at) => String(at)).join()
  socket.end(`GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n${numbers}`)
  assert.equal(await got, numbers)
  socket.destroy()
})

test('bodies of a declared length and what is pipelined behind them are read whole, in order', async (t) => {
  const { counts, add } = counted(countTurns(t))
  const answer: RequestListener = async (request, response) => {
    add()
    const declared = Number(request.headers['content-length'] ?? 0)
    const body = await collectBody(request, 100_000, declared)
    response.end(`${request.url}=${body.length};`)
  }
  const socket = connect(await listen(t, createServer(answer)), '127.0.0.1')
  const sizes = Array.from({ length: 300 }, (_, at) => (at * 7_919) % 20_000)
  const sent = sizes.map((size, at) => {
    const last = at === sizes.length - 1 ? 'Connection: close\r\n' : ''
    return `POST /${at} HTTP/1.1\r\nHost: x\r\n${last}Content-Length: ${size}\r\n\r\n${'x'.repeat(size)}`
  })
  socket.write(sent.join(''))
  const answers = await text(socket)
  assert.deepEqual(
    answers.match(/\/\d+=\d+;/g),
    sizes.map((size, at) => `/${at}=${size};`),
  )
  assert.ok(most(counts) <= 200, `${most(counts)} requests began in one turn`)
})
