/** What a cache may store of an answer, and for whom: in a real browser's cache, and over every declared path. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { publishedRoutes } from '../../src/api/publish/router.ts'
import { formatKey } from '../../src/core/key-format.ts'
import { openPage, skip, useBrowser } from '../dashboard/browser.ts'
import { ask, askRaw } from '../fakes/client.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { BOOKS_LAST, DAY, FINAL, fillWorld, iso, MINUTE, NOW } from '../fakes/market-world.ts'
import { storesIn } from '../fakes/stores.ts'

const browser = useBrowser()
let service: MarketService

before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
})
after(() => service.stop())

const SEALED = `/v1/candles?symbol=BTC&source=cexa&start=${iso(FINAL - 2 * DAY)}&end=${iso(FINAL)}&limit=10`
const KEY_HEADERS = ['x-api-key', 'authorization']

const namesIn = (header: string | null | undefined) =>
  (header ?? '').split(',').map((name) => name.trim().toLowerCase())

/** Each declared path with valid parameters; a refusal is an answer too. */
function declaredTargets() {
  return publishedRoutes(ENDPOINTS).map(({ method, path, endpoint }) => ({
    method,
    path: path.replace(/\{(\w+)\}/g, (_all, name) => (name === 'symbol' ? 'BTC' : 'none')),
    keyed: endpoint.access.auth !== 'none',
  }))
}

test('every answer of a path that needs a key varies by both key headers, in both HTTP paths and whatever the status', async () => {
  const key = await service.key()
  const targets = declaredTargets()
  assert.ok(targets.length > 50 && targets.some(({ keyed }) => !keyed))
  const statuses = new Set<number>()
  for (const { method, path, keyed } of targets) {
    const asks = [
      { key: 'X-API-Key: garbage' },
      { key: `X-API-Key: ${key}` },
      { key: `Authorization: Bearer ${key}` },
      { key: `X-API-Key: ${key}\r\nAccept: text/csv\r\nAccept-Encoding: gzip` },
      // Only the platform's parser reads a request that names the same header twice.
      { key: `X-API-Key: ${key}\r\nX-Twice: 1\r\nX-Twice: 2` },
      ...(method === 'GET' ? [{ key: `X-API-Key: ${key}`, head: true }] : []),
    ]
    for (const { key: lines, head } of asks) {
      const body = method === 'GET' || method === 'DELETE' ? '' : '{}'
      const text = await firstHead(
        `${head ? 'HEAD' : method} ${path}?symbol=BTC HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${nextAddress()}\r\n${lines}\r\n` +
          `${body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`}\r\n${body}`,
      )
      const status = Number(text.slice(9, 12))
      statuses.add(status)
      const about = `${method} ${path} (${status}) with ${lines.slice(0, 20)}`
      const vary = namesIn(/^vary: (.*)$/im.exec(text)?.[1])
      for (const name of KEY_HEADERS) assert.equal(vary.includes(name), keyed, `${about}: Vary ${vary}`)
      assert.ok(vary.includes('accept') && vary.includes('accept-encoding'), about)
      if (keyed) assert.doesNotMatch(text, /^cache-control:.*\bpublic\b/im, about)
    }
  }
  for (const status of [200, 401, 422]) assert.ok(statuses.has(status), `${[...statuses]}`)
})

/** Wrong keys from one address are answered with growing delays. */
let addresses = 0
const nextAddress = () => `10.0.${addresses++ >> 8}.${addresses & 255}`

/** Sends one request on its own connection and returns the head of the answer. */
async function firstHead(bytes: string): Promise<string> {
  const closing = bytes.replace('\r\nHost:', '\r\nConnection: close\r\nHost:')
  const isPlain = !bytes.includes('X-Twice') && !bytes.startsWith('HEAD')
  if (!isPlain) return (await askRaw(service.url, closing)).split('\r\n\r\n')[0] ?? ''
  // The fast path takes keep-alive connections only; a second request ends this one.
  const ending = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  return (await askRaw(service.url, bytes + ending)).split('\r\n\r\n')[0] ?? ''
}

test('sealed pages, their 304 and their compressed forms vary by the key', async () => {
  const first = await service.get(SEALED)
  assert.match(first.headers.get('cache-control') ?? '', /^private, .*immutable$/)
  const answers = [
    first,
    await service.get(SEALED, { headers: { 'If-None-Match': first.headers.get('etag') ?? '' } }),
    await service.get(SEALED, { headers: { 'Accept-Encoding': 'gzip' } }),
    await service.get(`${SEALED}&format=csv`),
    await service.get(`${SEALED}&format=ndjson`),
    await service.get(`${SEALED}&dry_run=true`),
    await service.get(SEALED, { method: 'HEAD' }),
    // It is in the page cache by now.
    await service.get(SEALED),
    await service.get(SEALED),
  ]
  assert.ok(answers.some(({ status }) => status === 304))
  for (const { headers, status } of answers) {
    for (const name of KEY_HEADERS) assert.ok(namesIn(headers.get('vary')).includes(name), `${status}`)
  }
})

test('public answers do not vary by key, and answers of a session vary by the cookie', async () => {
  for (const path of ['/docs', '/openapi.json', '/health', '/', '/nothing/here']) {
    const { headers } = await ask(`${service.url}${path}`)
    for (const name of [...KEY_HEADERS, 'cookie']) {
      assert.ok(!namesIn(headers.get('vary')).includes(name), path)
    }
  }
  for (const path of ['session', 'keys', 'view/test/v1/limits', 'start']) {
    const { headers } = await ask(`${service.url}/dashboard/api/${path}`)
    assert.ok(namesIn(headers.get('vary')).includes('cookie'), path)
    assert.equal(headers.get('cache-control'), 'no-store', path)
  }
  assert.ok(namesIn((await ask(`${service.url}/metrics`)).headers.get('vary')).includes('authorization'))
})

test('a page of the page cache is not served to a request with an ignored parameter', async () => {
  const range = `start=${iso(BOOKS_LAST - MINUTE)}&end=${iso(BOOKS_LAST)}&limit=20`
  const plain = `/v1/snapshots?symbol=BTC&source=perpdex&${range}`
  const ignoredOf = async (path: string) => {
    const { json, text } = await service.get(path)
    return (json.meta as { ignored: string[] } | undefined)?.ignored ?? text
  }
  for (let round = 0; round < 4; round++) {
    assert.deepEqual(await ignoredOf(plain), [])
    assert.deepEqual(await ignoredOf(`${plain}&depth=10`), ['depth'])
  }
})

async function revokedKey(): Promise<string> {
  const key = await service.key({ plan: 'free', name: 'revoked' })
  const accounts = storesIn(service.folder, service.clock).accounts()
  const record = (await accounts.listKeys()).find(({ name }) => name === 'revoked')
  await accounts.revokeKey(record?.id ?? '', NOW)
  await accounts.close()
  return key
}

test("a browser's cache gives one key's sealed page to no other key", { skip }, async (t) => {
  const { page, context } = await openPage(await browser(), service.url)
  t.after(() => context.close())
  await page.goto('/docs/errors')
  const read = (headers: Record<string, string>) =>
    page.evaluate(
      async ([path, sent]) => {
        const response = await fetch(path, { headers: sent })
        return {
          status: response.status,
          id: response.headers.get('x-request-id'),
          text: await response.text(),
        }
      },
      [SEALED, headers] as const,
    )
  const mine = await service.key({ plan: 'free', name: 'mine' })
  const first = await read({ 'X-API-Key': mine })
  assert.equal(first.status, 200)
  assert.equal((await read({ 'X-API-Key': mine })).id, first.id, 'the browser keeps it for its own key')

  const others = {
    garbage: 'garbage',
    'revoked key': await revokedKey(),
    'unknown key': formatKey('test', (count) => Buffer.alloc(count, 7)),
    'live key': await service.key({ plan: 'business', environment: 'live' }),
  }
  for (const [name, key] of Object.entries(others)) {
    for (const headers of [{ 'X-API-Key': key }, { Authorization: `Bearer ${key}` }]) {
      const answer = await read(headers as Record<string, string>)
      assert.ok([401, 503].includes(answer.status), `${name}: ${answer.status}`)
      assert.notEqual(answer.text, first.text, name)
    }
    assert.equal((await read({ 'X-API-Key': mine })).status, 200)
  }
  const colleague = await service.key({ plan: 'business', name: 'colleague' })
  assert.notEqual((await read({ 'X-API-Key': colleague })).id, first.id, 'another good key asks the service')
  assert.equal((await read({})).status, 401, 'nor to nobody at all')
})
