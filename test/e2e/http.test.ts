/** Paths, methods and forms of answers, over a real socket. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text as streamText } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { ask, askRaw, assertError } from '../fakes/client.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { until } from '../until.ts'

let service: TestService
let key: string
before(async () => {
  service = await startTestService({ env: { TAPELINE_METRICS_TOKEN: 'a-token-for-metrics' } })
  key = await service.key()
})
after(() => service.stop())

test('an unknown path is 404 and names the nearest one', async () => {
  const body = assertError(await ask(`${service.url}/v1/limit`, { key }), 404, 'not_found')
  assert.match(String(body.message), /Did you mean \/v1\/limits\?/)
  assertError(await ask(`${service.url}/nothing`), 404, 'not_found')
  assertError(await ask(`${service.url}/v1/limits/`, { key }), 404, 'not_found')
  assertError(await ask(`${service.url}/%zz`), 404, 'not_found')
})

test('withdrawn paths name their replacement', async () => {
  const pointers = {
    '/v1/orderbook': [
      '/v1/snapshots',
      'include_orderbook',
      '/v1/predmkt_a/orderbook',
      '/v1/predmkt_b/orderbook',
    ],
    '/v1/oracle': ['/v1/candles', 'source=oracle'],
    '/v1/derived': ['/v1/candles', '/v1/funding', '/v1/open-interest', '/v1/flow'],
  }
  for (const [path, words] of Object.entries(pointers)) {
    const { message } = assertError(await ask(`${service.url}${path}?symbol=BTC`, { key }), 404, 'not_found')
    for (const word of words) assert.ok(String(message).includes(word), `${path} → ${word}`)
  }
})

test('a wrong method is 405 with Allow, on every kind of path', async () => {
  for (const path of ['/v1/limits', '/health', '/docs', '/openapi.json', '/metrics']) {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await ask(service.url + path, { method, key })
      const body = assertError(answer, 405, 'method_not_allowed')
      assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS', `${method} ${path}`)
      assert.deepEqual(body.allowed, ['GET', 'HEAD', 'OPTIONS'])
    }
  }
})

test('a method that Fastify reads a body for is 405 too, and an unknown path 404', async () => {
  assertError(await ask(`${service.url}/v1/limits`, { method: 'QUERY', key }), 405, 'method_not_allowed')
  assertError(await ask(`${service.url}/nothing`, { method: 'QUERY', key }), 404, 'not_found')
})

test('two Host headers, or none, are 400 in our form, with an upgrade too', async () => {
  const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${'A'.repeat(22)}==\r\n`
  for (const head of [
    'GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n',
    'GET /health HTTP/1.1\r\nConnection: close\r\n',
    `GET /v1/ws HTTP/1.1\r\nHost: a\r\nhost: a\r\n${upgrade}`,
  ]) {
    const { status, text } = await sendRaw(`${head}\r\n`)
    assert.equal(status, 400, head)
    const body = JSON.parse(text)
    assert.equal(body.error, 'invalid_param')
    assert.match(body.message, /Host/)
    assert.ok(body.request_id)
  }
  assert.equal((await sendRaw('GET /health HTTP/1.0\r\n\r\n')).status, 200)
})

test('an upgrade to another version of WebSocket is 426 and names the one there is', async () => {
  for (const version of ['Sec-WebSocket-Version: 8\r\n', 'Sec-WebSocket-Version: 14\r\n', '']) {
    const head = `GET /v1/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${version}Sec-WebSocket-Key: ${'A'.repeat(22)}==\r\n\r\n`
    const answer = await askRaw(service.url, head)
    assert.match(answer, /^HTTP\/1\.1 426 /, version)
    assert.match(answer, /\r\nsec-websocket-version: 13\r\n/i, version)
    assert.match(answer, /"error":"upgrade_required"/, version)
  }
})

/** Sends these bytes and reads to the end of the connection. */
async function sendRaw(bytes: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.write(bytes)
  const answer = await streamText(socket)
  return { status: Number(answer.slice(9, 12)), text: answer.slice(answer.indexOf('\r\n\r\n') + 4) }
}

test('HEAD answers like GET without a body, at 0 credits', async () => {
  for (const path of ['/v1/sources', '/v1/limits', '/health', '/docs', '/openapi.json']) {
    const get = await ask(service.url + path, { key, headers: { 'Accept-Encoding': 'identity' } })
    const head = await ask(service.url + path, { method: 'HEAD', key })
    assert.equal(head.status, get.status, path)
    assert.equal(head.text, '')
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'))
    // The figures of /v1/limits and /health change between the two requests.
    if (!['/v1/limits', '/health'].includes(path)) {
      assert.equal(head.headers.get('content-length'), get.headers.get('content-length'), path)
    }
  }
  const paid = await ask(`${service.url}/v1/sources`, { key })
  assert.equal(paid.headers.get('x-credits-charged'), '25')
  const head = await ask(`${service.url}/v1/sources`, { method: 'HEAD', key })
  assert.equal(head.headers.get('x-credits-charged'), '0')
  assert.equal(head.headers.get('x-credits-remaining'), paid.headers.get('x-credits-remaining'))
})

test('browsers of any origin may call with the key header and read every header of ours', async () => {
  const preflight = await ask(`${service.url}/v1/sources`, {
    method: 'OPTIONS',
    headers: {
      Origin: 'https://app.example.com',
      'Access-Control-Request-Method': 'GET',
      'Access-Control-Request-Headers': 'x-api-key',
    },
  })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
  assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /GET/)
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /X-API-Key/)
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /Idempotency-Key/)
  assert.match(preflight.headers.get('x-request-id') ?? '', /^req_/)
  const headers = { Origin: 'https://app.example.com' }
  for (const path of ['/v1/sources', '/v1/nothing', '/openapi.json']) {
    const answer = await ask(service.url + path, { key, headers })
    assert.equal(answer.headers.get('access-control-allow-origin'), '*', path)
    const exposed = (answer.headers.get('access-control-expose-headers') ?? '').split(', ')
    for (const name of [
      'X-Request-Id',
      'X-Credits-Charged',
      'X-RateLimit-Reset',
      'RateLimit',
      'Retry-After',
      'Location',
    ]) {
      assert.ok(exposed.includes(name), name)
    }
  }
})

test('a setting narrows the origins; a trailing slash in it does no harm', async () => {
  const narrow = await startTestService({ env: { TAPELINE_CORS_ORIGINS: 'https://app.example.com/' } })
  try {
    const origin = async (text: string) =>
      (await ask(`${narrow.url}/health`, { headers: { Origin: text } })).headers.get(
        'access-control-allow-origin',
      )
    assert.equal(await origin('https://app.example.com'), 'https://app.example.com')
    assert.equal(await origin('https://evil.example.com'), null)
  } finally {
    await narrow.stop()
  }
})

test('errors come as RFC 9457 where the caller prefers it', async () => {
  const answer = await ask(`${service.url}/v1/limits?nonsense=1`, {
    key,
    headers: { Accept: 'application/problem+json' },
  })
  assert.equal(answer.status, 422)
  assert.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8')
  const { json } = answer
  assert.equal(json.status, 422)
  assert.equal(json.code, 'invalid_param')
  assert.equal(json.type, '/docs/errors#invalid_param')
  assert.equal(json.title, 'A parameter is wrong')
  assert.match(String(json.detail), /nonsense is not a parameter/)
  assert.equal(json.request_id, answer.headers.get('x-request-id'))
  assert.equal(json.error, undefined)
  const missing = await ask(`${service.url}/v1/x`, { headers: { Accept: 'application/problem+json' } })
  assert.equal(missing.json.code, 'not_found')
  assert.match((await ask(`${service.url}/docs/errors`)).text, /id="invalid_param"/)
})

test('an unknown parameter is 422 with a suggestion, and every fault is listed', async () => {
  const one = assertError(await ask(`${service.url}/v1/sources?dryrun=true`, { key }), 422, 'invalid_param')
  assert.equal(one.param, 'dryrun')
  assert.match(String(one.message), /Did you mean dry_run\?/)
  const both = assertError(
    await ask(`${service.url}/v1/sources?colour=red&dry_run=maybe&size=2&size=3`, { key }),
    422,
    'invalid_param',
  )
  const faults = both.errors as { param: string; message: string }[]
  assert.deepEqual(faults.map((fault) => fault.param).sort(), ['colour', 'dry_run', 'size', 'size'])
  assert.match(faults.map((fault) => fault.message).join(' '), /size is given more than once/)
  for (const { message } of faults) assert.ok(String(both.message).includes(message))
})

test('a parameter given twice is 422, the key included', async () => {
  const twice = await ask(`${service.url}/v1/sources?dry_run=true&dry_run=true`, { key })
  assert.equal(assertError(twice, 422, 'invalid_param').param, 'dry_run')
  const keys = await ask(`${service.url}/v1/limits?api-key=${key}&api-key=${key}`)
  assert.equal(assertError(keys, 422, 'invalid_param').param, 'api-key')
})

test('a query that cannot be decoded, or is endless, is 422', async () => {
  assertError(await ask(`${service.url}/v1/limits?a=%E0%A4%A`, { key }), 422, 'invalid_param')
  assertError(await ask(`${service.url}/v1/limits?a=${'x'.repeat(9_000)}`, { key }), 422, 'invalid_param')
})

test('what is not HTTP gets an error of ours too, with a request id', async () => {
  const text = await askRaw(service.url, 'NONSENSE\r\n\r\n')
  assert.match(text, /^HTTP\/1\.1 400 /)
  assert.match(text, /"request_id":"req_/)
  const long = await askRaw(
    service.url,
    `GET /health HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`,
  )
  assert.match(long, /^HTTP\/1\.1 431 /)
  assert.match(long, /"request_id":"req_/)
})

test('every answer carries a request id of its own', async () => {
  const paths = ['/health', '/docs', '/docs/errors', '/metrics', '/openapi.json', '/v1/limits', '/v1/nothing']
  const ids = await Promise.all(
    paths.map(async (path) => (await ask(service.url + path, { key })).headers.get('x-request-id')),
  )
  for (const [index, id] of ids.entries()) assert.match(id ?? '', /^req_/, paths[index] ?? '')
  assert.equal(new Set(ids).size, ids.length)
})

test('metrics need their token', async () => {
  assertError(await ask(`${service.url}/metrics`), 401, 'unauthorized')
  assertError(await ask(`${service.url}/metrics`, { key }), 401, 'unauthorized')
  const good = await ask(`${service.url}/metrics`, {
    headers: { Authorization: 'Bearer a-token-for-metrics' },
  })
  assert.equal(good.status, 200)
  assert.match(good.text, /tapeline_http_requests_total\{route="GET \/health",status="200"\}/)
})

test('metrics on a port of their own need none', async () => {
  const other = await startTestService({ env: { TAPELINE_METRICS_PORT: '0' } })
  try {
    assert.match((await ask(other.service.metricsUrl ?? '')).text, /process_cpu_seconds_total/)
    await assertBounded(other.service.metricsUrl ?? '')
    assertError(await ask(`${other.url}/metrics`), 401, 'unauthorized')
  } finally {
    await other.stop()
  }
})

test('the answer is compressed as the caller likes it', async () => {
  const plain = await ask(`${service.url}/openapi.json`, { headers: { 'Accept-Encoding': 'identity' } })
  assert.equal(plain.headers.get('content-encoding'), null)
  const unpack = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync }
  for (const [encoding, open] of Object.entries(unpack)) {
    const raw = await rawBody(`${service.url}/openapi.json`, encoding)
    assert.equal(raw.encoding, encoding)
    assert.equal(open(raw.body).toString(), plain.text)
    assert.match(raw.vary, /Accept-Encoding/)
  }
})

async function rawBody(url: string, encoding: string) {
  const { request } = await import('node:http')
  return new Promise<{ encoding: string; vary: string; body: Buffer }>((resolve, reject) => {
    const sent = request(url, { headers: { 'Accept-Encoding': encoding } }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () =>
        resolve({
          encoding: String(response.headers['content-encoding']),
          vary: String(response.headers.vary),
          body: Buffer.concat(parts),
        }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('the API reference works offline: page, scripts and styles come from here', async () => {
  const page = await ask(`${service.url}/docs`)
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '')
  assert.ok(links.length >= 2)
  for (const link of links) {
    assert.doesNotMatch(link, /^(https?:)?\/\//, 'nothing from elsewhere')
    assert.equal((await ask(new URL(link, `${service.url}/docs`).href)).status, 200, link)
  }
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'self'|default-src 'none'/)
})

test('ready lists the parts', async () => {
  const ready = await ask(`${service.url}/ready`)
  assert.equal(ready.status, 200)
  assert.equal(ready.json.ready, true)
  assert.ok((ready.json.parts as { name: string }[]).some((part) => part.name === 'accounts'))
})

/** Above 64, connections without a request are refused; open ones are served. */
async function assertBounded(url: string): Promise<void> {
  const port = Number(new URL(url).port)
  const sockets = Array.from({ length: 80 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  const open = () => sockets.filter((socket) => !socket.destroyed)
  try {
    await until('the connections above the bound to be closed', () => open().length <= 64)
    for (const socket of open().slice(0, 1)) {
      socket.write('GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n')
      assert.match(await streamText(socket), /process_cpu_seconds_total/)
    }
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}
