/** The document that the running service publishes: valid itself, and true of every body that it sends. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { ROUTES, type RouteRule } from '../contract/market-table.ts'
import { expandDocument } from '../fakes/expand-document.ts'
import { urlOf } from '../fakes/market-routes.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { CONDITION, fillWorld, NOW, TICKER } from '../fakes/market-world.ts'

interface Operation {
  parameters: { name: string; in: string; required: boolean; schema: Record<string, unknown> }[]
  responses: Record<string, { content?: Record<string, { schema: object; example?: unknown }> }>
  'x-credits': string
}
interface Document {
  openapi: string
  info: { version: string }
  paths: Record<string, { get?: Operation }>
  components: { schemas: Record<string, Record<string, unknown>> }
}

let service: MarketService
let served: Document
let document: Document
let ajv: Ajv2020
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
  served = (await (await fetch(`${service.url}/openapi.json`)).json()) as Document
  document = expandDocument(served as never)
  ajv = new Ajv2020({ strict: false, allErrors: true })
  ;(formats as unknown as (ajv: Ajv2020) => void)(ajv)
  ajv.addSchema(document, 'doc')
})
after(() => service.stop())

const validators = new Map<string, ValidateFunction>()
function validator(path: string, status: string): ValidateFunction {
  const name = `doc#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/get/responses/${status}/content/application~1json/schema`
  const known = validators.get(name) ?? ajv.compile({ $ref: name })
  validators.set(name, known)
  return known
}

function assertValid(path: string, status: string, body: unknown, told: string): void {
  const check = validator(path, status)
  assert.ok(check(body), `${told}: ${JSON.stringify(check.errors?.slice(0, 3))}`)
}

test('the document is valid OpenAPI 3.1', async () => {
  assert.match(document.openapi, /^3\.1\./)
  const result = await new Validator().validate(structuredClone(served) as unknown as Record<string, unknown>)
  assert.ok(result.valid, JSON.stringify(result.errors)?.slice(0, 2_000))
})

test('every answer with an ETag has its 304', () => {
  for (const path of ['/v1/candles', '/v1/sources', '/v1/symbols']) {
    assert.ok(document.paths[path]?.get?.responses['304'], path)
  }
  assert.equal(document.paths['/v1/limits']?.get?.responses['304'], undefined)
})

test('every route of the contract is in it, with its parameters, and no other market route is', () => {
  const market = Object.keys(document.paths).filter((path) =>
    /^\/v1\/(candles|snapshots|trades|flow|open-interest|liquidations|funding|ticker|markets|predmkt_a|predmkt_b|perpdex)/.test(
      path,
    ),
  )
  assert.deepEqual(market.sort(), ROUTES.map((route) => route.path).sort())
  for (const route of ROUTES) {
    const operation = document.paths[route.path]?.get
    assert.ok(operation)
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    const gate = route.kind === 'list' ? ['dry_run', 'format'] : ['dry_run']
    assert.deepEqual(
      operation.parameters.map((param) => param.name).sort(),
      [...Object.keys(route.params), ...inPath, ...gate].sort(),
      route.path,
    )
    for (const { name, schema, required } of operation.parameters) {
      const rule = route.params[name]
      if (rule?.kind === 'integer') {
        assert.deepEqual([schema.minimum, schema.maximum], [rule.min, rule.max], `${route.path} ${name}`)
        if (rule.default !== undefined) assert.equal(schema.default, rule.default)
      }
      if (rule?.kind === 'enum') {
        const listed = (schema.enum as string[]).toSorted()
        assert.deepEqual(listed, rule.values.toSorted(), `${route.path} ${name}`)
        assert.equal(required, rule.required === true)
      }
    }
  }
})

/** Queries that show every shape of a route's rows. */
function shapesOf(route: RouteRule): string[] {
  const changes: Record<string, string>[] = [
    {},
    { limit: '3' },
    { start: '2026-05-01' },
    { start: '2026-06-10', order: 'desc' },
  ]
  const source = route.params.source
  if (source?.kind === 'enum') {
    for (const value of source.values) {
      changes.push(
        { source: value },
        { source: value, interval: '5m' },
        { source: value, include_orderbook: 'true', include_diffs: 'true' },
      )
    }
  }
  changes.push(
    { include_diffs: 'true' },
    { market_id: route.bound.source === 'predmkt_b' ? TICKER : CONDITION },
  )
  changes.push(
    { interval: '5m' },
    { symbol: 'XRP' },
    { end: '2026-06-10T12:00:00Z', limit: '1' },
    { depth: '50' },
  )
  return changes
    .filter((change) => Object.keys(change).every((name) => name in route.params))
    .map((change) => urlOf(route, change))
}

test('every 200 body of every route validates, the dry run and the errors too', async () => {
  let bodies = 0
  for (const path of ['/v1/sources', '/v1/symbols']) {
    const answer = await service.get(path)
    assert.equal(answer.status, 200)
    assertValid(path, '200', answer.json, path)
  }
  for (const route of ROUTES) {
    for (const url of shapesOf(route)) {
      for (const dry of [false, true]) {
        const asked = dry ? `${url}${url.includes('?') ? '&' : '?'}dry_run=true` : url
        const answer = await service.get(asked)
        if (answer.status === 200) bodies++
        assertValid(route.path, String(answer.status), answer.json, asked)
      }
    }
    const faults: [string, { plan?: string; key?: string; headers?: Record<string, string> }][] = [
      [urlOf(route, { nonsense: '1' }), {}],
      [urlOf(route), { key: 'svc_test_wrong', headers: { 'X-Forwarded-For': `10.3.0.${bodies % 250}` } }],
      [urlOf(route), { key: await service.key({ plan: 'business', credits: 0 }) }],
      [urlOf(route, { start: '2020-01-01', end: '2020-01-02' }), { plan: 'free' }],
      [urlOf(route, { symbol: 'KXNOSUCH-1' }), {}],
      [urlOf(route, { market_id: 'no-such-1', source: 'predmkt_a' }), {}],
    ]
    for (const [url, asked] of faults) {
      const answer = await service.get(url, asked)
      assert.ok(answer.status >= 400 || route.path.startsWith('/v1/perpdex'), url)
      assertValid(route.path, String(answer.status), answer.json, url)
    }
  }
  assert.ok(bodies > 300, String(bodies))
})

test('the schema of a row refuses a row of another shape', async () => {
  const answer = await service.get('/v1/funding?symbol=BTC&limit=1')
  const body = answer.json as { data: Record<string, unknown>[] }
  const check = validator('/v1/funding', '200')
  assert.ok(check(body))
  assert.ok(!check({ ...body, data: [{ ...body.data[0], funding_rate: '0.1' }] }))
  assert.ok(!check({ ...body, data: [{ timestamp: '2026-06-10T00:00:00.000Z' }] }))
  assert.ok(!check({ data: body.data }))
  // Each venue has its own snapshot shape: a row that lacks half of it matches none.
  const books = await service.get('/v1/snapshots?symbol=BTC&source=perpdex&limit=1')
  const [row = {}] = (books.json as { data: Record<string, unknown>[] }).data
  const { bids: _bids, ...half } = row
  const snapshots = validator('/v1/snapshots', '200')
  assert.ok(snapshots(books.json))
  assert.ok(!snapshots({ ...books.json, data: [half] }), 'a perpdex row without bids')
})

test('the examples of the document validate against its schemas', () => {
  for (const route of ROUTES) {
    const content = document.paths[route.path]?.get?.responses['200']?.content?.['application/json']
    assert.ok(content?.example !== undefined, route.path)
    if (route.kind === 'object') assertValid(route.path, '200', content.example, route.path)
    else {
      const [row] = (content.example as { data: unknown[] }).data
      const operation = document.paths[route.path]?.get as unknown as { 'x-row-schema': string }
      const check = ajv.compile({ $ref: `doc${operation['x-row-schema']}` })
      assert.ok(check(row), `${route.path}: ${JSON.stringify(check.errors)}`)
    }
  }
})

test('every field of every row has a description', () => {
  const names =
    'Candle Snapshot SnapshotAt Trade Flow OpenInterest Liquidation Funding Ticker Market MarketRecord Sources Symbols ListMeta DryRun Error'
  for (const name of names.split(' ')) {
    const schema = resolved(document.components.schemas[name] ?? {})
    assert.ok('properties' in schema || 'anyOf' in schema, name)
    for (const shape of [schema, ...((schema.anyOf as Record<string, unknown>[]) ?? [])]) {
      for (const [field, value] of Object.entries(
        (shape.properties as Record<string, { description?: string; $ref?: string }>) ?? {},
      )) {
        assert.ok(value.$ref !== undefined || (value.description ?? '').length > 3, `${name}.${field}`)
      }
    }
  }
})

function resolved(schema: Record<string, unknown>): Record<string, unknown> {
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined
  return name === undefined ? schema : resolved(document.components.schemas[name] ?? {})
}
