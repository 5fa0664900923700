/** The TypeScript client: retries, errors, exact integers, the cache of tags, streams, webhooks. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { WebSocketServer } from 'ws'
import {
  ApiError,
  ConnectionError,
  CreditLimitError,
  CreditsExhaustedError,
  RateLimitedError,
  StreamError,
  StreamGapError,
  Tapeline,
  TapelineError,
  UnreadableAnswerError,
  verifyWebhook,
  WebhookSignatureError,
} from '../../clients/typescript/src/index.ts'
import { RPC_METHODS } from '../../src/upstreams/methods.ts'
import { until } from '../until.ts'
import { portOf } from './port-of.ts'
import { signedDeliveries } from './signed-deliveries.ts'

interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Status, headers, body; undefined closes the connection without an answer. */
type Reply = { status?: number; headers?: Record<string, string>; body: unknown } | 'never' | undefined

async function stub(t: TestContext, reply: (n: number, asked: Asked) => Reply) {
  const asked: Asked[] = []
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers } = request
    asked.push({ method, url, headers, body })
    const answer = reply(asked.length - 1, asked.at(-1) as Asked)
    if (answer === undefined) {
      request.socket.destroy()
      return
    }
    if (answer === 'never') return
    response.writeHead(answer.status ?? 200, answer.headers)
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${portOf(server)}/`
  return { asked, url, client: new Tapeline({ url, key: 'svc_test_k' }) }
}

const PAGE = { data: [{ n: 1 }], meta: { next_cursor: null } }

test('a refusal with Retry-After is asked again when it says', async (t) => {
  const { client } = await stub(t, (n) =>
    n === 0 ? { status: 429, headers: { 'Retry-After': '1' }, body: {} } : { body: { plan: 'free' } },
  )
  const before = performance.now()
  assert.equal((await client.limits()).plan, 'free')
  assert.ok(performance.now() - before >= 1_000)
})

test('a wait that is too long is the decision of the caller', async (t) => {
  const body = { error: 'rate_limited', message: 'Later.', request_id: 'req_1' }
  const { client, asked } = await stub(t, () => ({ status: 429, headers: { 'Retry-After': '3600' }, body }))
  await assert.rejects(client.limits(), (error: unknown) => {
    assert.ok(error instanceof RateLimitedError)
    assert.deepEqual([error.retryAfter, error.requestId, error.code], [3_600, 'req_1', 'rate_limited'])
    return true
  })
  assert.equal(asked.length, 1)
})

test('a POST is repeated under the same Idempotency-Key; the next one has another', async (t) => {
  const { client, asked } = await stub(t, (n) => (n < 2 ? undefined : { status: 201, body: { id: 'wh_1' } }))
  const webhook = { url: 'https://example.com', kinds: ['block_added'] as const }
  assert.equal((await client.createWebhook(webhook)).id, 'wh_1')
  await client.createWebhook(webhook)
  await client.createWebhook(webhook, { idempotencyKey: 'mine' })
  const keys = asked.map(({ headers }) => headers['idempotency-key'])
  assert.equal(keys[0], keys[2])
  assert.notEqual(keys[2], keys[3])
  assert.equal(keys[4], 'mine')
})

test('of the calls to a node only those that write use up an Idempotency-Key; the others are repeated without', async (t) => {
  const call = (method: string) =>
    ({ jsonrpc: '2.0', id: 1, method }) as { jsonrpc: '2.0'; id: number; method: 'ping' }
  const { client, asked } = await stub(t, (n) => (n === 0 ? undefined : { body: [] }))
  await client.rpc(call('ping'))
  await client.rpc([call('ping'), call('getInfo')])
  await client.rpc(call('ping'), { idempotencyKey: 'mine' })
  const keys = () => asked.splice(0).map(({ headers }) => headers['idempotency-key'])
  assert.deepEqual(keys(), [undefined, undefined, undefined, 'mine'])
  const writes = [...RPC_METHODS.values()].filter(({ write }) => write)
  for (const { name } of writes) {
    await client.rpc(call(name))
    await client.rpc([call('ping'), call(name)])
  }
  for (const key of keys()) assert.match(String(key), /^[0-9a-f]{32}$/)
})

test('a refusal that stays is not asked for again, whatever its status', async (t) => {
  const permanent = [
    [429, 'rate_limited', 'batch_above_rate'],
    [429, 'rate_limited', 'idempotency_quota'],
    [409, 'idempotency_conflict', 'reply_quota'],
    [409, 'idempotency_conflict', 'reply_too_large'],
  ] as const
  const { client, asked } = await stub(t, (n) => {
    const [status, error, reason] = permanent[n] ?? permanent[0]
    return { status, body: { error, message: 'No.', reason } }
  })
  for (const [status, code] of permanent)
    await assert.rejects(client.testWebhook({ id: 'wh_1' }), { status, code })
  assert.equal(asked.length, permanent.length)
})

test('an answer that does not come in time is asked for again', async (t) => {
  const { url, asked } = await stub(t, (n) => (n === 0 ? 'never' : { body: { plan: 'free' } }))
  const client = new Tapeline({ url, key: 'k', timeoutMs: 500, retries: 20 })
  assert.deepEqual(await client.limits(), { plan: 'free' })
  assert.ok(asked.length >= 2)
})

test('a DELETE whose answer was lost is not repeated, one that was refused is', async (t) => {
  const lost = await stub(t, () => undefined)
  await assert.rejects(lost.client.deleteWebhook({ id: 'wh_1' }), ConnectionError)
  assert.equal(lost.asked.length, 1)
  const refused = await stub(t, (n) => (n === 0 ? { status: 503, body: {} } : { body: { deleted: true } }))
  assert.equal((await refused.client.deleteWebhook({ id: 'wh_1' })).deleted, true)
})

test('errors have the class of their code; an unknown one is an error all the same', async (t) => {
  const body = { error: 'credits_exhausted', message: 'None left.', request_id: 'req_2', resets_at: 'soon' }
  const { client, asked } = await stub(t, (n) =>
    n === 0 ? { status: 402, body } : { status: 418, body: '<html>teapot</html>' },
  )
  await assert.rejects(client.sources(), (error: unknown) => {
    assert.ok(error instanceof CreditsExhaustedError && error instanceof ApiError)
    assert.equal(error.details.resets_at, 'soon')
    return true
  })
  await assert.rejects(client.sources(), { name: 'ApiError', code: 'unknown', status: 418 })
  assert.equal(asked.length, 2)
})

test('a redirect is refused with the address that it leads to', async (t) => {
  const headers = { Location: 'https://data.example.com/v1/limits' }
  const { client, asked } = await stub(t, () => ({ status: 308, headers, body: '' }))
  await assert.rejects(client.limits(), {
    name: 'ApiError',
    status: 308,
    message: /redirects to https:\/\/data\.example\.com\/v1\/limits/,
  })
  assert.equal(asked.length, 1)
})

test('a success that is not JSON is an error of the client, and is not kept', async (t) => {
  const { client, asked } = await stub(t, () => ({
    headers: { 'X-Request-Id': 'req_3', ETag: '"a"', 'Cache-Control': 'immutable' },
    body: '<html>Sign in</html>',
  }))
  for (let n = 0; n < 2; n++)
    await assert.rejects(client.limits(), (error: unknown) => {
      assert.ok(error instanceof UnreadableAnswerError && error instanceof TapelineError)
      assert.deepEqual([error.status, error.requestId], [200, 'req_3'])
      return true
    })
  assert.equal(asked.length, 2)
})

test('whatever the client throws by itself is a TapelineError, under its own name', () => {
  const gap = { after_seq: 1, up_to_seq: 3, reason: 'retention' }
  const found = { rows: [], creditsUsed: 0, nextPageCredits: 50, nextCursor: null }
  for (const error of [
    new RateLimitedError(429, {}),
    new ConnectionError('lost'),
    new UnreadableAnswerError('http://localhost/', 200, 'req_1', new SyntaxError('no JSON')),
    new CreditLimitError(found),
    new StreamError(4401, 'no key'),
    new StreamGapError(gap),
    new WebhookSignatureError('not ours'),
  ]) {
    assert.ok(error instanceof TapelineError)
    assert.equal(error.name, error.constructor.name)
  }
})

test('address and key come from the environment where they are not given', async (t) => {
  const { url, asked } = await stub(t, () => ({ body: {} }))
  const before = { ...process.env }
  t.after(() => {
    process.env = before
  })
  delete process.env.TAPELINE_KEY
  assert.throws(() => new Tapeline({ url }), /Give url and key, or set TAPELINE_URL and TAPELINE_KEY/)
  Object.assign(process.env, { TAPELINE_URL: url, TAPELINE_KEY: 'svc_test_e' })
  await new Tapeline().limits()
  assert.equal(asked[0]?.headers['x-api-key'], 'svc_test_e')
})

test('an error of JSON-RPC has its number, and an address that is none is refused at once', async (t) => {
  const body = { jsonrpc: '2.0', id: 1, error: { code: -32_020, message: 'No node is available.' } }
  const { url, asked } = await stub(t, () => ({ status: 503, headers: { 'Retry-After': '0' }, body }))
  const client = new Tapeline({ url, key: 'k', retries: 2 })
  const call = client.rpc({ jsonrpc: '2.0', id: 1, method: 'ping' })
  await assert.rejects(call, { name: 'ApiError', code: '-32020', message: 'No node is available.' })
  assert.equal(asked.length, 3)
  for (const wrong of ['localhost', 'localhost:8080', 'ftp://localhost'])
    assert.throws(() => new Tapeline({ url: wrong, key: 'k' }), TypeError)
  await assert.rejects(new Tapeline({ url, key: 'two\nlines' }).limits(), TypeError)
})

test('an error of a batch has the number of its first call', async (t) => {
  const error = { code: -32_020, message: 'No node is available.' }
  const { url } = await stub(t, () => ({ status: 503, body: [{ jsonrpc: '2.0', id: 1, error }] }))
  const client = new Tapeline({ url, key: 'k', retries: 0 })
  const call = client.rpc([{ jsonrpc: '2.0', id: 1, method: 'ping' }])
  await assert.rejects(call, { name: 'ApiError', code: '-32020', message: 'No node is available.' })
})

test('integers keep their digits in both directions', async (t) => {
  const answer =
    '{"jsonrpc":"2.0","id":1,"result":{"a":18446744073709551615,"b":9007199254740991,"c":0.12345678901234566,"d":["9007199254740993"]}}'
  const { client, asked } = await stub(t, () => ({ body: answer }))
  const found = await client.rpc({
    jsonrpc: '2.0',
    id: 1,
    method: 'getDaaScoreTimestampEstimate',
    params: { daaScores: [18_446_744_073_709_551_615n as unknown as number] },
  })
  assert.deepEqual((found as { result: unknown }).result, {
    a: 18_446_744_073_709_551_615n,
    b: 9_007_199_254_740_991,
    c: 0.12345678901234566,
    d: ['9007199254740993'],
  })
  assert.match(asked[0]?.body ?? '', /"daaScores":\[18446744073709551615\]/)
})

test('times, flags and path parameters', async (t) => {
  const { client, asked } = await stub(t, () => ({ body: PAGE }))
  await client
    .snapshots({
      source: 'predmkt_a',
      symbol: 'BTC',
      start: new Date(0),
      include_orderbook: true,
      limit: undefined,
    })
    .page()
  await client.market({ identifier: 'a/b ?' })
  assert.deepEqual(
    asked.map(({ url }) => url),
    [
      '/v1/snapshots?source=predmkt_a&symbol=BTC&start=1970-01-01T00%3A00%3A00.000Z&include_orderbook=true',
      '/v1/markets/a%2Fb%20%3F',
    ],
  )
  // @ts-expect-error: a path without its parameter.
  await assert.rejects(client.market({}), TypeError)
})

test('a fraction of a second or millisecond is taken wherever a time is given', async (t) => {
  const { client, asked } = await stub(t, () => ({ body: PAGE }))
  const start = 1_780_000_000.25
  await client.candles({ symbol: 'BTC', start, end: 1_780_000_000_500.75 }).page()
  await client.cost('snapshotsAt', { symbol: 'BTC', source: 'perpdex', time: start })
  await client.liquidations({ symbol: 'BTC', min_usd: 0.5, start: 1_780_000_000 }).page()
  await client.replayWebhook({ id: 'wh_1' }, { since: start, until: new Date(0) })
  assert.deepEqual(
    asked.map(({ url, body }) => body || new URLSearchParams(url.split('?')[1]).toString()),
    [
      'symbol=BTC&start=2026-05-28T20%3A26%3A40.250Z&end=2026-05-28T20%3A26%3A40.501Z',
      'symbol=BTC&source=perpdex&time=2026-05-28T20%3A26%3A40.250Z&dry_run=true',
      'symbol=BTC&min_usd=0.5&start=1780000000',
      '{"since":"2026-05-28T20:26:40.250Z","until":"1970-01-01T00:00:00.000Z"}',
    ],
  )
})

test('an unchanged page is asked for with its tag, a sealed one not at all, and the cache has a limit', async (t) => {
  const unchanged = await stub(t, (n) =>
    n === 0 ? { headers: { ETag: '"a"' }, body: PAGE } : { status: 304, headers: { ETag: '"a"' }, body: '' },
  )
  const pages = [
    await unchanged.client.candles({ symbol: 'BTC' }).page(),
    await unchanged.client.candles({ symbol: 'BTC' }).page(),
  ]
  assert.deepEqual(
    pages.map(({ fromCache, rows }) => [fromCache, rows]),
    [
      [false, PAGE.data],
      [true, PAGE.data],
    ],
  )
  assert.equal(unchanged.asked[1]?.headers['if-none-match'], '"a"')
  const sealed = { ETag: '"b"', 'Cache-Control': 'private, max-age=31536000, immutable' }
  const { url, asked, client } = await stub(t, () => ({ headers: sealed, body: PAGE }))
  for (let n = 0; n < 3; n++) await client.candles({ symbol: 'BTC' }).page()
  assert.equal(asked.length, 1)
  // Room for one page: the other one pushes it out.
  const small = new Tapeline({ url, key: 'k', cacheChars: JSON.stringify(PAGE).length })
  for (const symbol of ['BTC', 'ETH', 'ETH', 'BTC'] as const) await small.candles({ symbol }).page()
  assert.equal(asked.length, 4)
})

test('a caller can give up while the client waits', async (t) => {
  const { client } = await stub(t, () => ({ status: 503, headers: { 'Retry-After': '60' }, body: {} }))
  const { signal } = withTimeout(50)
  await assert.rejects(client.limits({ signal }), { name: 'TimeoutError' })
})

function withTimeout(ms: number) {
  return { signal: AbortSignal.timeout(ms) }
}

/** A service with a log of `events`, and what it does beside sending them. */
async function streamStub(t: TestContext, events: number, refuse?: { code: number } | { frame: object }) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  let connections = 0
  server.on('connection', (socket) => {
    connections += 1
    socket.on('error', () => {})
    socket.send(JSON.stringify({ type: 'welcome', seq: events }))
    socket.on('message', (text) => {
      const message = JSON.parse(String(text)) as { op: string; resume_after?: number }
      if (message.op !== 'subscribe') return
      if (refuse !== undefined && 'code' in refuse) return socket.close(refuse.code)
      if (refuse !== undefined) return socket.send(JSON.stringify(refuse.frame))
      const after = message.resume_after ?? events
      socket.send(JSON.stringify({ type: 'subscribed', after_seq: after }))
      for (let seq = after + 1; seq <= events; seq++)
        socket.send(JSON.stringify({ type: 'event', event: { seq, kind: 'block_added' } }))
      socket.send(JSON.stringify({ type: 'live', seq: events }))
    })
  })
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const client = new Tapeline({ url: `http://127.0.0.1:${port}`, key: 'k' })
  return { client, connections: () => connections, open: () => server.clients.size }
}

test('a reader that is slower than the events loses none and repeats none', async (t) => {
  const { client, connections, open } = await streamStub(t, 12_000)
  const seen: number[] = []
  const stream = client.stream({ kinds: ['block_added'], resumeAfter: 0 })
  for await (const { seq } of stream) {
    // It reads on only when so much waits that the client has left.
    if (seen.length === 0) await until('a client that has left', () => open() === 0)
    seen.push(seq)
    if (seq === 12_000) break
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 12_000 }, (_, n) => n + 1),
  )
  assert.ok(connections() > 1, 'what waits has a bound')
  assert.equal(stream.position, 12_000)
})

test('a stream ends with an error where another attempt does not help', async (t) => {
  const first = async (stream: AsyncIterable<unknown>) => {
    for await (const event of stream) return event
    return undefined
  }
  const kinds = ['block_added'] as const
  const unauthorised = await streamStub(t, 1, { code: 4401 })
  await assert.rejects(first(unauthorised.client.stream({ kinds })), { name: 'StreamError', code: 4401 })
  assert.equal(unauthorised.connections(), 1)
  const refusal = { frame: { type: 'error', code: 'invalid_param', message: 'No.' } }
  const refused = await streamStub(t, 1, refusal)
  await assert.rejects(first(refused.client.stream({ kinds })), {
    name: 'StreamError',
    code: 'invalid_param',
  })
  const nobody = new Tapeline({ url: 'http://127.0.0.1:9', key: 'k' })
  await assert.rejects(first(nobody.stream({ kinds, retries: 1 })), StreamError)
})

test('a stream outlasts the minute for which the service still counts the connection that was lost', async (t) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  // The network is down for a while before the service refuses; nobody waits for the pauses.
  let attempts = 0
  let waitedMs = 0
  let refusedMs: number | undefined
  const { setTimeout: wait } = globalThis
  t.mock.method(globalThis, 'setTimeout', (act: () => void, ms: number) => {
    // Longer than a pause of the client: the server's.
    if (ms > 20_000) return wait(act, ms)
    waitedMs += ms
    return wait(act, 0)
  })
  server.on('connection', (socket) => {
    attempts += 1
    if (attempts <= 15) return socket.close(1001)
    refusedMs ??= waitedMs
    if (waitedMs - refusedMs < 60_000) return socket.close(4429)
    socket.send(JSON.stringify({ type: 'event', event: { seq: 1, kind: 'block_added' } }))
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const client = new Tapeline({ url: `http://127.0.0.1:${port}`, key: 'k' })
  for await (const { seq } of client.stream({ kinds: ['block_added'], resumeAfter: 0 })) {
    assert.equal(seq, 1)
    break
  }
})

test('a message that cannot be read ends the stream behind the last event that was handed out', async (t) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  const event = (seq: number) => JSON.stringify({ type: 'event', event: { seq, kind: 'block_added' } })
  server.on('connection', (socket) => {
    for (const text of [event(1), event(2).slice(0, -3), event(3)]) socket.send(text)
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const client = new Tapeline({ url: `http://127.0.0.1:${port}`, key: 'k' })
  const stream = client.stream({ kinds: ['block_added'], resumeAfter: 0 })
  const seen: number[] = []
  await assert.rejects(
    async () => {
      for await (const { seq } of stream) seen.push(seq)
    },
    { name: 'StreamError', code: 'unreadable' },
  )
  assert.deepEqual([seen, stream.position], [[1], 1])
})

test('a gap is an error unless the caller takes it, and the position is behind it', async (t) => {
  const gap = { after_seq: 3, up_to_seq: 9, reason: 'retention' }
  const { client } = await streamStub(t, 1, { frame: { type: 'gap', ...gap } })
  const stream = client.stream({ kinds: ['block_added'], resumeAfter: 3 })
  await assert.rejects(
    async () => {
      for await (const _ of stream);
    },
    (error: unknown) => error instanceof StreamGapError && error.gap.up_to_seq === 9,
  )
  assert.equal(stream.position, 9)
  const gaps: object[] = []
  const stop = new AbortController()
  for await (const _ of client.stream({
    kinds: ['block_added'],
    resumeAfter: 3,
    signal: stop.signal,
    onGap: (each) => {
      gaps.push(each)
      // If it came twice, the second one would come soon.
      setTimeout(() => stop.abort(), 100)
    },
  }));
  assert.deepEqual(gaps, [gap])
})

test('a gap that the caller could not take comes again', async (t) => {
  const gap = { after_seq: 3, up_to_seq: 9, reason: 'retention' }
  const { client } = await streamStub(t, 1, { frame: { type: 'gap', ...gap } })
  const onGap = () => {
    throw new Error('The disk is full.')
  }
  const stream = client.stream({ kinds: ['block_added'], resumeAfter: 3, onGap })
  for (let n = 0; n < 2; n++) {
    await assert.rejects(async () => {
      for await (const _ of stream);
    }, /disk is full/)
    assert.equal(stream.position, 3)
  }
})

test('webhooks: what the service signed is accepted, with either secret of a rotation', async () => {
  const { headers, body, batch, current, previous, timestamp } = signedDeliveries()
  const now = { nowMs: timestamp * 1_000 }
  const [event] = await verifyWebhook(headers, body, current, now)
  assert.equal(event?.seq as unknown, 9_007_199_254_740_993n)
  assert.equal((await verifyWebhook(new Headers(headers), Buffer.from(body), previous, now)).length, 1)
  assert.equal((await verifyWebhook(batch.headers, batch.body, current, now)).length, 2)
})

test('webhooks: anything else is refused', async () => {
  const { headers, body, current, other, timestamp } = signedDeliveries()
  const nowMs = timestamp * 1_000
  const { 'webhook-signature': _, ...unsigned } = headers
  const cases: Parameters<typeof verifyWebhook>[] = [
    [headers, `${body} `, current, { nowMs }],
    [headers, body, other, { nowMs }],
    [headers, body, current, { nowMs: nowMs + 301_000 }],
    [headers, body, current, { nowMs: nowMs - 301_000 }],
    [unsigned, body, current, { nowMs }],
    [{ ...headers, 'webhook-id': 'dlv_2' }, body, current, { nowMs }],
    [{ ...headers, 'webhook-timestamp': String(timestamp + 1) }, body, current, { nowMs }],
    [{ ...headers, 'webhook-signature': 'v1,AAAA v2,x v1,!' }, body, current, { nowMs }],
  ]
  for (const each of cases) await assert.rejects(verifyWebhook(...each), WebhookSignatureError)
  await assert.rejects(verifyWebhook(headers, body, 'whsec_', { nowMs }), TypeError)
})

test('a budget limits the rows of a list only where it has such a parameter', async (t) => {
  const { asked, client } = await stub(t, (_, { url }) => ({
    body: url.includes('dry_run') ? { dry_run: true, credits: 25, rows: 1 } : PAGE,
  }))
  assert.equal((await client.cexaSpot().all({ maxCredits: 30 })).length, 1)
  assert.equal((await client.candles({ symbol: 'BTC' }).all({ maxCredits: 30 })).length, 1)
  assert.deepEqual(
    asked.map(({ url }) => url).filter((url) => !url.includes('dry_run')),
    ['/v1/cexa/spot', '/v1/candles?symbol=BTC&limit=1'],
  )
})
