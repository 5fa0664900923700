/**
 * What a venue, or an intermediary, may send instead of an answer, over real sockets: none of it counts as an answer,
 * the request is retried within its budget, no socket stays open, and no error message repeats all of it.
 */
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { until } from '../../../test/until.ts'
import { systemClock } from '../../kit/clock.ts'
import { fetchOverHttp } from './fetch-over-http.ts'
import { createRestClient, VenueError } from './rest-client.ts'

const TRIES = 3
const { signal } = new AbortController()

async function venueWith(t: TestContext, send: (response: ServerResponse) => void) {
  const open = new Set<unknown>()
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    send(response)
  })
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const client = createRestClient({
    venue: 'toy',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    budgets: { weight: { limit: 1_000_000, windowMs: 60_000 } },
    fetch: fetchOverHttp,
    clock: systemClock,
    random: () => 0,
    limits: { tries: TRIES, backoff: { baseMs: 1, capMs: 2 }, maxAnswerBytes: 1_000_000 },
  })
  const request = () => client.request({ path: '/a', weight: 1 }, signal)
  return { request, asked: () => asked, open }
}

const JSON_TYPE = { 'content-type': 'application/json' }
const gzip = { ...JSON_TYPE, 'content-encoding': 'gzip' }
const bomb = gzipSync(Buffer.alloc(20_000_000))
const packed = gzipSync('{"fine":true,"more":"and more of it"}')

/** Each of these is retried and fails in the end. */
const FAULTS: Record<string, (response: ServerResponse) => void> = {
  'a page of HTML with 200': (response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Just a moment…</html>'),
  'an empty body': (response) => response.writeHead(200, JSON_TYPE).end(),
  '204': (response) => response.writeHead(204).end(),
  '300': (response) => response.writeHead(300).end('{"fine":true}'),
  '302 to elsewhere': (response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end('{}'),
  '304': (response) => response.writeHead(304).end(),
  'half of a text': (response) => response.writeHead(200, JSON_TYPE).end('{"fine":tr'),
  'two texts': (response) => response.writeHead(200, JSON_TYPE).end('{"fine":true}{"fine":true}'),
  'bytes that are no text': (response) =>
    response.writeHead(200, JSON_TYPE).end(Buffer.from('{"symbol":"BT\xc3"}', 'latin1')),
  'UTF-16': (response) => response.writeHead(200, JSON_TYPE).end(Buffer.from('{"fine":true}', 'utf16le')),
  'gzip that is cut off': (response) => response.writeHead(200, gzip).end(packed.subarray(0, -12)),
  'gzip with a wrong sum': (response) =>
    response.writeHead(200, gzip).end(Buffer.from(packed).fill(7, packed.length - 8, packed.length - 4)),
  'gzip that is none': (response) => response.writeHead(200, gzip).end('{"fine":true}'),
  'a little gzip that becomes much': (response) => response.writeHead(200, gzip).end(bomb),
  'gzip in gzip': (response) =>
    response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip, gzip' }).end(gzipSync(packed)),
  'another encoding': (response) =>
    response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'br' }).write('x'.repeat(100_000)),
  'a body without an end': (response) => {
    const more = () => {
      if (!response.destroyed) response.write(Buffer.alloc(100_000, 32), () => setImmediate(more))
    }
    response.writeHead(200, JSON_TYPE)
    more()
  },
  'a body shorter than announced': (response) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '100' }).write('{"fine":true}')
    setTimeout(() => response.destroy(), 5)
  },
  'a header above all bounds': (response) =>
    response.writeHead(200, { ...JSON_TYPE, 'x-long': 'x'.repeat(1_000_000) }).end('{"fine":true}'),
}

for (const [name, send] of Object.entries(FAULTS))
  test(`${name} is no answer`, async (t) => {
    const { request, asked, open } = await venueWith(t, send)
    await assert.rejects(request(), (error) => error instanceof VenueError && !error.isFinal)
    assert.equal(asked(), TRIES)
    // One socket may be kept for the next request.
    await until('its sockets are closed', () => open.size <= 1)
  })

test('what is written in another way is the same answer', async (t) => {
  for (const [headers, body] of [
    [JSON_TYPE, '\ufeff{"fine":true}'],
    [{ 'content-type': 'text/plain; charset=latin1' }, '{"fine":true}'],
    [{}, '\n {"fine":true}\n'],
    [gzip, gzipSync('{"fine":true}')],
    [{ 'content-encoding': 'X-GZIP' }, gzipSync('{"fine":true}')],
    [{ 'content-encoding': 'identity' }, '{"fine":true}'],
  ] as const) {
    const { request } = await venueWith(t, (response) => response.writeHead(200, headers).end(body))
    assert.deepEqual((await request()).value, { fine: true })
  }
})

test('the words of a venue are repeated in part only', async (t) => {
  const long = 'x'.repeat(500_000)
  for (const body of [JSON.stringify({ code: -1, msg: long }), long, JSON.stringify({ msg: [long] })]) {
    const { request } = await venueWith(t, (response) => response.writeHead(400).end(body))
    await assert.rejects(request(), (error) => error instanceof Error && error.message.length <= 500)
  }
})
