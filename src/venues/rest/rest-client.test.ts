import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, test } from 'node:test'
import { type Clock, systemClock } from '../../kit/clock.ts'
import { classifyReply } from './classify-response.ts'
import { createRestClient, EXCHANGE_ANSWERS, type RestLimits, VenueError } from './rest-client.ts'

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

type Handler = (request: IncomingMessage, response: ServerResponse, index: number) => void

/** A loopback venue whose answers are scripted by the number of the request. */
async function venueWith(handler: Handler, limits: Partial<RestLimits> = {}, clock: Clock = systemClock) {
  const asked: { atMs: number; url: string }[] = []
  const server = createServer((request, response) => {
    asked.push({ atMs: Date.now(), url: request.url ?? '' })
    handler(request, response, asked.length - 1)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(async () => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  const client = createRestClient({
    venue: 'toy',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    budgets: {
      weight: { limit: 100, windowMs: 60_000, usedHeader: 'x-mbx-used-weight-1m' },
      other: { limit: 5, windowMs: 300_000 },
    },
    fetch: (url, init) => fetch(url, init),
    clock,
    random: () => 1,
    limits: {
      backoff: { baseMs: 5, capMs: 20 },
      answerWithinMs: 30_000,
      answerClock: systemClock,
      ...limits,
    },
  })
  return { client, asked }
}

const never = new AbortController().signal
const ok = (response: ServerResponse, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end('{"fine":true}')

test('a broken limit stops every question for as long as the venue asks', async () => {
  const { client, asked } = await venueWith((_request, response, index) =>
    index === 0
      ? response.writeHead(429, { 'retry-after': '1' }).end('{"code":-1003,"msg":"Too many"}')
      : ok(response),
  )
  const first = client.request({ path: '/a', weight: 1 }, never)
  while (client.stats().halts === 0) await systemClock.sleep(5)
  const others = [1, 2, 3].map(() => client.request({ path: '/b', weight: 1 }, never))
  await Promise.all([first, ...others])
  const [refused, ...later] = asked
  assert.equal(asked.length, 5)
  for (const question of later)
    assert.ok(question.atMs - (refused?.atMs ?? 0) >= 990, 'nobody asked during the halt')
})

test('a ban that is longer than one waits is reported at once, and nothing more is requested', async () => {
  const { client, asked } = await venueWith((_request, response) =>
    response.writeHead(418, { 'retry-after': '7200' }).end('{"code":-1003,"msg":"banned"}'),
  )
  await assert.rejects(client.request({ path: '/a', weight: 1 }, never), /halted by the venue until 20/)
  await assert.rejects(client.request({ path: '/b', weight: 1 }, never), /halted by the venue/)
  assert.equal(asked.length, 1)
})

test('faults of the venue, broken connections and hanging answers are tried again', async () => {
  const { client, asked } = await venueWith(
    (request, response, index) => {
      if (index === 0) response.writeHead(503).end('busy')
      else if (index === 1) request.socket.destroy()
      else if (index === 2) return
      else ok(response)
    },
    { answerWithinMs: 1_500 },
  )
  const answer = await client.request(
    { path: '/a', query: { symbol: 'BTCUSDT', from: undefined, limit: 5 }, weight: 1 },
    never,
  )
  assert.deepEqual(answer.value, { fine: true })
  assert.equal(asked.length, 4)
  assert.ok(asked.every((question) => question.url === '/a?symbol=BTCUSDT&limit=5'))
})

test('an answer that was cut in the middle is asked for again', async () => {
  const { client, asked } = await venueWith((_request, response, index) =>
    index === 0 ? response.end('{"fine":tr') : ok(response),
  )
  assert.deepEqual((await client.request({ path: '/a', weight: 1 }, never)).value, { fine: true })
  assert.equal(asked.length, 2)
})

test('walks through the past leave a share of the budget to the live side', async () => {
  const clock = jumpingClock(1_800_000_000_000 + 2_000)
  const { client } = await venueWith((_request, response) => ok(response), {}, clock)
  await client.request({ path: '/a', weight: 70, isBackground: true }, never)
  await client.request({ path: '/live', weight: 20 }, never)
  assert.deepEqual(clock.slept, [], 'the live question has room')
  await client.request({ path: '/a', weight: 5, isBackground: true }, never)
  assert.equal(clock.slept.length, 1, 'the walk waits for the next window')
})

test('the tries are bounded, and the error names what went wrong last', async () => {
  const { client, asked } = await venueWith((_request, response) => response.writeHead(500).end('oops'), {
    tries: 3,
  })
  await assert.rejects(client.request({ path: '/a', weight: 1 }, never), {
    name: 'VenueError',
    message: 'toy /a: status 500 (3 tries)',
    isFinal: false,
  })
  assert.equal(asked.length, 3)
})

test('a refusal is final: asked once, with the venue’s own words', async () => {
  const { client, asked } = await venueWith((_request, response) =>
    response.writeHead(400).end('{"code":-1121,"msg":"Invalid symbol."}'),
  )
  const error = await client.request({ path: '/a', weight: 1 }, never).catch((reason: unknown) => reason)
  assert.ok(error instanceof VenueError && error.isFinal)
  assert.equal(error.message, 'toy /a: status 400: -1121 Invalid symbol.')
  assert.equal(asked.length, 1)
})

test('an answer that is not JSON, or too large, is an error and no crash', async () => {
  const { client } = await venueWith(
    (_request, response, index) => response.end(index === 0 ? '<html>' : 'x'.repeat(5_000)),
    {
      tries: 1,
      maxAnswerBytes: 1_000,
    },
  )
  await assert.rejects(client.request({ path: '/a', weight: 1 }, never), /not JSON/)
  await assert.rejects(client.request({ path: '/a', weight: 1 }, never), /above 1000 bytes/)
})

test('an answer that would become millions of objects is refused before it is read', async () => {
  const { client } = await venueWith(
    (_request, response, index) => response.end(`[${'{},'.repeat(index === 0 ? 300_000 : 200_000)}{}]`),
    { tries: 1 },
  )
  const ask = () => client.request({ path: '/a', weight: 1 }, never)
  await assert.rejects(ask(), /more than 500000 values/)
  assert.equal(((await ask()).value as unknown[]).length, 200_001)
})

test('the answers of an exchange may be twice as large as its longest, and no larger', async () => {
  const candle = { t: 1_790_344_800_000, T: 1_790_348_399_999, s: 'BTC', i: '1m', o: '83912.0', n: 35_095 }
  const full = { ...candle, c: '84010.0', h: '84039.0', l: '83133.0', v: '3997.94344' }
  const { client } = await venueWith(
    (_request, response, index) =>
      response.end(JSON.stringify(Array.from({ length: (index + 1) * 5_000 }, () => full))),
    { tries: 1, ...EXCHANGE_ANSWERS },
  )
  const ask = async () => (await client.request({ path: '/a', weight: 1 }, never)).value as unknown[]
  assert.equal((await ask()).length, 5_000)
  assert.equal((await ask()).length, 10_000)
  await assert.rejects(ask(), /answer above|more than/)
})

test('aborting ends a question that waits', async () => {
  const { client } = await venueWith((_request, response) =>
    response.writeHead(429, { 'retry-after': '60' }).end(),
  )
  const stop = new AbortController()
  const asking = client.request({ path: '/a', weight: 1 }, stop.signal)
  setTimeout(() => stop.abort(new Error('stopped')), 100)
  await assert.rejects(asking, /stopped/)
})

/** A clock that sleeps by jumping. */
function jumpingClock(startMs: number): Clock & { slept: number[] } {
  let nowMs = startMs
  const slept: number[] = []
  return {
    slept,
    now: () => nowMs,
    async sleep(ms) {
      slept.push(ms)
      nowMs += ms
    },
  }
}

test("the venue's own count of the weight is believed, and the next window is waited for", async () => {
  const minute = 1_800_000_000_000
  const clock = jumpingClock(minute + 10_000)
  const { client } = await venueWith(
    (_request, response) => ok(response, { 'x-mbx-used-weight-1m': '85' }),
    {},
    clock,
  )
  await client.request({ path: '/a', weight: 1 }, never)
  assert.deepEqual(client.stats().used, { weight: 85, other: 0 })
  await client.request({ path: '/a', weight: 5 }, never)
  assert.deepEqual(clock.slept, [], '85 + 5 is within nine tenths of 100')
  await client.request({ path: '/a', weight: 5 }, never)
  assert.deepEqual(clock.slept, [51_000], 'one second into the next minute')
})

test('pools of the same venue are counted apart', async () => {
  const clock = jumpingClock(1_800_000_000_000 + 2_000)
  const { client } = await venueWith((_request, response) => ok(response), {}, clock)
  for (let index = 0; index < 4; index++)
    await client.request({ path: '/a', weight: 1, pool: 'other' }, never)
  await client.request({ path: '/a', weight: 50 }, never)
  assert.deepEqual(clock.slept, [])
  await client.request({ path: '/a', weight: 1, pool: 'other' }, never)
  assert.equal(clock.slept.length, 1)
})

test('each status means one thing', () => {
  const nowMs = 1_800_000_000_000
  const verdict = (status: number, body = '', headers: Record<string, string> = {}) =>
    classifyReply({ status, body, headers: new Headers(headers), nowMs })
  assert.equal(verdict(200).kind, 'ok')
  assert.deepEqual(verdict(429, '', { 'retry-after': '7' }), {
    kind: 'halt',
    waitMs: 7_000,
    reason: 'rate limit',
  })
  assert.deepEqual(verdict(429), { kind: 'halt', waitMs: 16_000, reason: 'rate limit' })
  assert.deepEqual(verdict(418, `{"code":-1003,"msg":"IP banned until ${nowMs + 90_000}. Please"}`), {
    kind: 'halt',
    waitMs: 90_000,
    reason: 'banned',
  })
  const waitMs = (status: number, retryAfter: string) => {
    const found = verdict(status, '', { 'retry-after': retryAfter })
    return found.kind === 'halt' ? found.waitMs : undefined
  }
  for (const absurd of ['99999999999', '1e300', 'Fri, 31 Dec 9999 23:59:59 GMT']) {
    assert.equal(waitMs(429, absurd), 900_000)
    assert.equal(waitMs(418, absurd), 259_200_000)
  }
  assert.deepEqual(
    ['', '0', '-5', 'soon'].map((text) => waitMs(429, text)),
    [16_000, 1_000, 16_000, 16_000],
  )
  assert.equal(verdict(403, '<html>').kind, 'halt')
  assert.deepEqual(verdict(451), { kind: 'refused', reason: 'refused for this region' })
  assert.equal(verdict(408).kind, 'retry')
  assert.equal(verdict(502, '<html>').kind, 'retry')
  assert.equal(verdict(500, 'null').kind, 'refused')
  assert.equal(verdict(422, 'Failed to deserialize the JSON body').kind, 'refused')
})

test('the chunks of an answer are not kept, so that millions of tiny ones cannot fill the memory', async () => {
  const text = '{"fine":true}'
  // All bytes come in the same chunk, so only a copy made at once has them all.
  async function* oneByOne() {
    const chunk = Buffer.alloc(1)
    for (const byte of Buffer.from(text)) {
      chunk[0] = byte
      yield chunk
    }
  }
  const client = createRestClient({
    venue: 'toy',
    baseUrl: 'http://toy',
    budgets: { weight: { limit: 100, windowMs: 60_000 } },
    fetch: async () => ({ status: 200, headers: new Headers(), body: oneByOne() }),
    clock: systemClock,
    random: () => 1,
    limits: { tries: 1 },
  })
  assert.equal((await client.request({ path: '/a', weight: 1 }, never)).text, text)
})
