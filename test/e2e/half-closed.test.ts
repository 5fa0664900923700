/** The same rules for slow and half-closed readers, whichever of the two HTTP paths reads the request. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { paid } from '../fakes/endpoints.ts'
import { type SmallService, startSmallService } from '../fakes/small-service.ts'
import { until } from '../until.ts'

const CARRY_FORWARD_MS = 3_000
const STUCK_MS = 12_000
const REQUEST_TIMEOUT_MS = 2_000
/** Far more than the buffers of the connection hold. */
const LONG_BYTES = 24 * 1024 * 1024
/** More answers than may be unread at a time. */
const MANY = 6
const LONG_TEXT = 'x'.repeat(LONG_BYTES)

let service: SmallService
let key: string
let waitMs = 0
let isLong = false
let runs = 0
before(async () => {
  const endpoint = {
    ...paid,
    run: async () => {
      await pause(waitMs)
      runs++
      return { kind: 'object' as const, value: { runs: isLong ? LONG_TEXT : 7 } }
    },
  }
  service = await startSmallService({
    endpoints: [endpoint as typeof paid, { ...(endpoint as typeof paid), method: 'POST' }],
    services: { runs: 0, wait: async () => {} } as never,
    keepAliveMs: CARRY_FORWARD_MS,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  })
  key = await service.key()
})
after(() => service.stop())

/** A header that makes the fast path hand the request over to Node's parser. */
const PATHS = { 'the quick path': '', "the platform's parser": 'Trailer: x\r\n' }
const request = (more: string, method = 'GET') =>
  `${method} /v1/paid HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n${more}\r\n`

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function open() {
  const socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
    if (!isLong) text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  const ended = new Promise<string>((resolve) => {
    socket.on('end', () => resolve(text))
    socket.on('close', () => resolve(text))
  })
  return { socket, ended, bytes: () => bytes }
}

for (const [path, more] of Object.entries(PATHS)) {
  for (const ms of [0, 200]) {
    test(`${path}: a client that has closed its side gets every answer, made within ${ms} ms`, async () => {
      waitMs = ms
      isLong = false
      const { socket, ended } = open()
      socket.end(request(more) + request(more))
      const answers = (await ended).match(/HTTP\/1\.1 200 OK\r\n[\s\S]*?\{"runs":7\}/g)
      assert.equal(answers?.length, 2)
      socket.destroy()
    })
  }
}

test('a reader that stops reading is cut after the time of an idle connection and not before, in both paths', async () => {
  waitMs = 0
  isLong = true
  const readers = Object.values(PATHS).map(async (more) => {
    const [slow, stuck] = await Promise.all([
      readAfter(CARRY_FORWARD_MS / 3, more),
      readAfter(STUCK_MS, more),
    ])
    assert.ok(slow > LONG_BYTES, `${slow} bytes`)
    assert.ok(stuck < LONG_BYTES, `${stuck} bytes`)
  })
  await Promise.all(readers)
})

for (const [path, more, method] of Object.entries(PATHS).flatMap(([path, more]) =>
  ['GET', 'POST'].map((method) => [path, more, method] as const),
)) {
  test(`${path}: an account with many answers to a ${method} that it does not read gets no more until it has`, async () => {
    waitMs = 0
    isLong = true
    const own = await service.key()
    const ask = () => fetch(`${service.url}/v1/paid`, { method, headers: { 'X-API-Key': own } })
    runs = 0
    const unread = Array.from({ length: MANY }, () => {
      const { socket } = open()
      socket.pause()
      socket.write(request(more, method).replace(key, own))
      return socket
    })
    await until('so many are made', () => runs >= MANY)
    isLong = false
    let refused = await ask()
    while (refused.status === 200) refused = await ask()
    assert.equal(refused.status, 429)
    assert.equal(((await refused.json()) as { reason?: string }).reason, 'unread_answers')
    for (const socket of unread) socket.destroy()
    await until('it goes on', async () => (await ask()).status === 200)
  })
}

test('a body that does not arrive is a 408 in time, and ends the connection also where the client keeps its side open', async () => {
  isLong = false
  const { socket, ended } = open()
  const startedMs = performance.now()
  socket.write(request('Content-Length: 10000\r\n', 'POST'))
  socket.write('x'.repeat(9_000))
  assert.match(await ended, /^HTTP\/1\.1 408 /)
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs > REQUEST_TIMEOUT_MS - 100 && tookMs < REQUEST_TIMEOUT_MS + 8_000, `${tookMs} ms`)
  assert.equal(socket.destroyed, false)
  // The other side has closed when our writes fail.
  await until('the connection is gone', () => {
    if (!socket.destroyed) socket.write('x')
    return socket.destroyed
  })
})

async function readAfter(ms: number, more: string): Promise<number> {
  const { socket, bytes } = open()
  socket.on('end', () => socket.destroy())
  socket.pause()
  socket.write(request(more))
  await pause(ms)
  socket.resume()
  const endsAt = performance.now() + 60_000
  while (bytes() <= LONG_BYTES && !socket.closed && performance.now() < endsAt) await pause(10)
  socket.destroy()
  return bytes()
}
