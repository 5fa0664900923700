/** JSON, NDJSON and CSV carry the same rows and can be paged by headers alone; encodings and browsers too. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { ROUTES } from '../contract/market-table.ts'
import { assertError } from '../fakes/client.ts'
import { urlOf } from '../fakes/market-routes.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { CONDITION, fillWorld, NOW, QUESTION } from '../fakes/market-world.ts'

type Row = Record<string, unknown>
interface Schema {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  anyOf?: Schema[]
  const?: unknown
  enum?: unknown[]
}

let service: MarketService
let document: {
  paths: Record<string, { get: { 'x-row-schema': string } }>
  components: { schemas: Record<string, Schema> }
}
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
  document = JSON.parse(await (await fetch(`${service.url}/openapi.json`)).text())
})
after(() => service.stop())

/** RFC 4180, written from the RFC: fields, quotes, doubled quotes, line breaks inside quotes. */
function parseCsv(text: string): { text: string; quoted: boolean }[][] {
  const lines: { text: string; quoted: boolean }[][] = []
  let line: { text: string; quoted: boolean }[] = []
  let at = 0
  while (at < text.length) {
    let value = ''
    const quoted = text[at] === '"'
    if (quoted) {
      for (at++; ; at++) {
        if (text[at] === '"' && text[at + 1] === '"') at++
        else if (text[at] === '"') break
        else if (at >= text.length) throw new Error('an open quote')
        value += text[at]
      }
      at++
    } else {
      while (at < text.length && text[at] !== ',' && text[at] !== '\r') {
        assert.notEqual(text[at], '"', 'a quote inside a plain field')
        assert.notEqual(text[at], '\n', 'a bare line feed')
        value += text[at++]
      }
    }
    line.push({ text: value, quoted })
    if (text[at] === ',') {
      at++
      if (text[at] === '\r') line.push({ text: '', quoted: false })
    }
    if (text[at] === '\r') {
      assert.equal(text[at + 1], '\n')
      at += 2
      lines.push(line)
      line = []
    }
  }
  assert.equal(line.length, 0, 'the last line ends')
  return lines
}

/** The schemas of a column, over all shapes of the row. */
function columnSchemas(row: Schema, name: string): Schema[] {
  return shapesOf(row).flatMap((shape) => {
    const found = shape.properties?.[name]
    return found === undefined ? [] : shapesOf(found)
  })
}

function shapesOf(schema: Schema): Schema[] {
  const name = schema.$ref?.split('/').at(-1)
  const plain = name === undefined ? schema : (document.components.schemas[name] ?? {})
  return name === undefined ? [plain, ...(plain.anyOf ?? []).flatMap(shapesOf)] : shapesOf(plain)
}

/** A CSV field converted to the type in the row schema; an empty field is null or absent. */
function decode(field: { text: string; quoted: boolean }, schemas: Schema[]): unknown {
  if (field.text === '' && !field.quoted) return undefined
  const types = schemas.flatMap((schema) => schema.type ?? (typeof schema.const === 'string' ? 'string' : []))
  if (types.includes('string')) return field.text
  return JSON.parse(field.text)
}

/** The same row without fields that are null, which CSV cannot distinguish from absent ones. */
const solid = (row: Row) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined))

const LISTS = ROUTES.filter((route) => route.kind === 'list')

function queriesOf(path: string): Record<string, string>[] {
  if (!/snapshots|orderbook/.test(path)) return [{ limit: '30' }]
  return [{ limit: '30' }, { limit: '9', include_diffs: 'true' }, { limit: '5', interval: '1s' }]
}

test('the three formats of one query decode to equal rows, by parameter and by Accept', async () => {
  for (const route of LISTS) {
    const schema =
      document.components.schemas[document.paths[route.path]?.get['x-row-schema'].split('/').at(-1) ?? '']
    assert.ok(schema, route.path)
    for (const query of queriesOf(route.path)) {
      const url = urlOf(route, query)
      const joint = url.includes('?') ? '&' : '?'
      const json = await service.get(url)
      const rows = json.json.data as Row[]
      assert.ok(rows.length > 0, url)
      for (const asked of [
        [`${url}${joint}format=ndjson`, {}],
        [url, { Accept: 'application/x-ndjson' }],
      ] as const) {
        const answer = await service.get(asked[0], { headers: asked[1] })
        assert.equal(answer.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
        assert.ok(answer.text.endsWith('\n'))
        assert.deepEqual(
          answer.text
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line)),
          rows,
          url,
        )
      }
      for (const asked of [
        [`${url}${joint}format=csv`, {}],
        [url, { Accept: 'text/csv' }],
      ] as const) {
        const answer = await service.get(asked[0], { headers: asked[1] })
        assert.match(answer.headers.get('content-type') ?? '', /^text\/csv; charset=utf-8; header=present$/)
        const [head = [], ...lines] = parseCsv(answer.text)
        const columns = head.map((field) => field.text)
        assert.ok(
          lines.every((line) => line.length === columns.length),
          url,
        )
        const decoded: Row[] = lines.map(
          (line): Row =>
            Object.fromEntries(
              columns.map((name, i) => [
                name,
                decode(line[i] ?? { text: '', quoted: false }, columnSchemas(schema, name)),
              ]),
            ),
        )
        assert.deepEqual(decoded.map(solid), rows.map(solid), url)
        for (const row of rows)
          assert.ok(
            Object.keys(row).every((name) => columns.includes(name)),
            'every field has a column',
          )
      }
    }
  }
})

test('each format can be paged to the end with headers alone', async () => {
  const urls = [
    '/v1/trades?symbol=BTC&start=2026-06-10T11:50:00Z&end=2026-06-10T12:00:00Z&limit=17',
    '/v1/predmkt_a/candles?symbol=BTC&limit=5',
    '/v1/snapshots?symbol=BTC&source=predmkt_b&market_type=1h&start=2026-06-10T11:59:00Z&end=2026-06-10T11:59:30Z&limit=23',
    '/v1/markets?limit=9',
  ]
  for (const url of urls) {
    const counts: number[] = []
    for (const format of ['json', 'ndjson', 'csv']) {
      for (const by of ['link', 'cursor']) {
        let next: string | undefined = `${url}&format=${format}`
        let rows = 0
        let pages = 0
        while (next !== undefined) {
          const answer = await service.get(next)
          assert.equal(answer.status, 200, answer.text.slice(0, 200))
          rows += Number(answer.headers.get('x-rows-returned'))
          pages++
          for (const name of ['x-coverage-complete', 'x-clamped', 'x-rows-capped'])
            assert.ok(answer.headers.has(name))
          const link = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
          const cursor = answer.headers.get('x-next-cursor')
          assert.equal(link === undefined, cursor === null)
          next =
            by === 'link' ? link : cursor === null ? undefined : `${url}&format=${format}&after=${cursor}`
        }
        assert.ok(pages > 3, url)
        counts.push(rows)
      }
    }
    assert.equal(new Set(counts).size, 1, `${url} ${counts}`)
  }
})

test('a link never carries the key', async () => {
  const key = await service.key()
  const response = await fetch(`${service.url}/v1/markets?limit=1&api-key=${key}`)
  const link = response.headers.get('link') ?? ''
  assert.match(link, /after=/)
  assert.ok(!link.includes(key) && !link.includes('api-key'))
})

test('quotes, commas and line breaks survive CSV and NDJSON', async () => {
  const url = `/v1/candles?symbol=BTC&market_id=${CONDITION}&limit=2`
  const csv = await service.get(`${url}&format=csv`)
  const [head = [], first = []] = parseCsv(csv.text)
  const at = head.findIndex((field) => field.text === 'question')
  assert.equal(first[at]?.text, QUESTION)
  assert.ok(csv.text.includes('"Bitcoin ""Up"", or Down?\nJune 10, 11:55AM-12:00PM ET"'))
  const lines = (await service.get(`${url}&format=ndjson`)).text.trimEnd().split('\n')
  assert.equal(lines.length, 2)
  assert.equal(JSON.parse(lines[0] ?? '').question, QUESTION)
})

test('an empty page is a header line in CSV and nothing in NDJSON', async () => {
  const url = '/v1/funding?symbol=XRP'
  assert.equal(
    (await service.get(`${url}&format=csv`)).text,
    'timestamp,symbol,source,funding_rate,next_funding_time\r\n',
  )
  assert.equal((await service.get(`${url}&format=ndjson`)).text, '')
  assert.deepEqual((await service.get(url)).json.data, [])
})

test('the format: unknown ones are 422, objects have none, errors are JSON', async () => {
  for (const route of LISTS) {
    const body = assertError(await service.get(urlOf(route, { format: 'xml' })), 422, 'invalid_param')
    assert.deepEqual(body.allowed, ['json', 'ndjson', 'csv'])
  }
  assertError(await service.get(`/v1/markets/${CONDITION}?format=csv`), 422, 'invalid_param')
  assertError(
    await service.get('/v1/candles?symbol=DOGE', { headers: { Accept: 'text/csv' } }),
    400,
    'invalid_symbol',
  )
  const problem = await service.get('/v1/candles?symbol=DOGE', {
    headers: { Accept: 'application/problem+json' },
  })
  assert.match(problem.headers.get('content-type') ?? '', /application\/problem\+json/)
  assert.deepEqual([problem.json.status, problem.json.code], [400, 'invalid_symbol'])
})

/** The bytes as they are sent. */
function raw(
  path: string,
  headers: Record<string, string>,
): Promise<{ headers: Record<string, unknown>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${service.url}${path}`, { headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

const DECODERS = { br: brotliDecompressSync, gzip: gunzipSync, zstd: zstdDecompressSync } as const

test('br, gzip and zstd decode to the plain bytes, sealed or open, and carry their length', async () => {
  const key = await service.key()
  const sealed = '/v1/candles?symbol=BTC&source=cexa&start=2026-06-08&end=2026-06-10'
  for (const path of [sealed, '/v1/candles?symbol=BTC', `${sealed}&format=csv`, `${sealed}&format=ndjson`]) {
    const plain = await raw(path, { 'X-API-Key': key })
    assert.equal(plain.headers['content-encoding'], undefined)
    for (const [name, decoder] of Object.entries(DECODERS)) {
      for (const turn of ['first', 'again']) {
        const answer = await raw(path, { 'X-API-Key': key, 'Accept-Encoding': name })
        assert.equal(answer.headers['content-encoding'], name)
        assert.equal(answer.headers['content-length'], String(answer.body.length))
        assert.ok(decoder(answer.body).equals(plain.body), `${path} ${name} ${turn}`)
        assert.ok(answer.body.length < plain.body.length / 2)
        assert.match(String(answer.headers.vary), /Accept-Encoding/)
      }
    }
  }
  const choice = async (accept: string) =>
    (await raw(sealed, { 'X-API-Key': key, 'Accept-Encoding': accept })).headers['content-encoding']
  assert.equal(await choice('gzip, br;q=0.5'), 'gzip')
  assert.equal(await choice('br;q=0, gzip'), 'gzip')
  assert.equal(await choice('identity'), undefined)
  assert.equal(await choice('deflate'), undefined)
  assert.equal(await choice('*;q=0'), undefined)
  // Small bodies are sent uncompressed.
  const small = await raw('/v1/funding?symbol=XRP', { 'X-API-Key': key, 'Accept-Encoding': 'gzip' })
  assert.equal(small.headers['content-encoding'], undefined)
})

test('a browser may call from anywhere and read every header of ours', async () => {
  const answer = await service.get('/v1/trades?symbol=BTC&limit=1', {
    headers: { Origin: 'https://app.example.com' },
  })
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  const exposed = (answer.headers.get('access-control-expose-headers') ?? '').toLowerCase().split(', ')
  for (const [name] of answer.headers) {
    if (/^(x-(?!content)|ratelimit|link|etag)/.test(name))
      assert.ok(exposed.includes(name), `${name} is exposed`)
  }
  for (const name of [
    'x-next-cursor',
    'x-rows-returned',
    'x-rows-capped',
    'x-coverage-complete',
    'x-clamped',
    'link',
    'retry-after',
  ]) {
    assert.ok(exposed.includes(name), name)
  }
  for (const route of ROUTES) {
    const preflight = await fetch(`${service.url}${urlOf(route).split('?')[0]}`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://app.example.com',
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': 'x-api-key',
      },
    })
    assert.equal(preflight.status, 204, route.path)
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /X-API-Key/i)
    assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /GET/)
  }
})
