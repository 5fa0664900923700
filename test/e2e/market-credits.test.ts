/** What a page costs, against the contract's table; and that a preview says exactly that. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Random, seeded } from '../../src/store/conformance/engine.ts'
import { ROUTES, type RouteRule } from '../contract/market-table.ts'
import { urlOf } from '../fakes/market-routes.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { CONDITION, FINAL, fillWorld, HOUR, iso, NOW, TICKER, TOKENS } from '../fakes/market-world.ts'
import { drawnSeed } from '../seeded-random.ts'

const QUERIES = process.env.TAPELINE_SOAK ? 5_000 : 40
const SEED = drawnSeed()

let service: MarketService
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
})
after(() => service.stop())

/** The one price that depends on more than the path. */
function perRow(route: RouteRule, query: Readonly<Record<string, string>>): number {
  const withBooks = ['true', '1'].includes(query.include_orderbook ?? route.bound.include_orderbook ?? '')
  const source = query.source ?? route.bound.source
  return route.path.endsWith('snapshots') && withBooks && source === 'predmkt_a' ? 10 : route.perRow
}

test('credits are base plus rows times price, and leave the balance by as much', async () => {
  const key = await service.key({ plan: 'business', credits: 5_000_000 })
  let balance = 5_000_000
  for (const route of ROUTES) {
    const variants: Record<string, string>[] = [{}]
    if ('limit' in route.params) variants.push({ limit: '1' }, { limit: '37' })
    if ('start' in route.params) variants.push({ end: '2026-01-01', start: '2026-01-01', limit: '5' })
    if (route.path === '/v1/snapshots') {
      variants.push(
        { source: 'predmkt_a', include_orderbook: 'true' },
        { source: 'predmkt_b', include_orderbook: 'true' },
      )
      variants.push(
        { source: 'predmkt_a', include_orderbook: 'false' },
        { source: 'perpdex', include_orderbook: 'true' },
      )
    }
    if (route.path === '/v1/predmkt_a/snapshots') variants.push({ include_orderbook: 'true' })
    for (const query of variants) {
      const url = urlOf(route, query)
      const answer = await service.get(url, { key })
      if (answer.status !== 200) {
        // The empty range in the distant past is outside the plan, or before anything was recorded.
        assert.ok(query.end !== undefined, `${url} ${answer.text}`)
        assert.equal(answer.headers.get('x-credits-used'), '0')
        continue
      }
      const rows = route.kind === 'list' ? (answer.json.data as unknown[]).length : 0
      const price = route.base + rows * perRow(route, { ...route.query, ...query })
      balance -= price
      assert.equal(answer.headers.get('x-credits-used'), String(price), url)
      assert.equal(answer.headers.get('x-credits-charged'), String(price), url)
      assert.equal(answer.headers.get('x-credits-remaining'), String(balance), url)
    }
  }
})

test('sources cost 25 flat, symbols nothing', async () => {
  assert.equal((await service.get('/v1/sources')).headers.get('x-credits-used'), '25')
  assert.equal((await service.get('/v1/symbols')).headers.get('x-credits-used'), '0')
})

test('HEAD answers like GET, without a body and for nothing', async () => {
  for (const route of ROUTES) {
    const get = await service.get(urlOf(route))
    const head = await service.get(urlOf(route), { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal(head.text, '')
    assert.equal(head.headers.get('x-credits-used'), '0')
    assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(get.text)), route.path)
    for (const name of [
      'content-type',
      'x-rows-returned',
      'x-next-cursor',
      'link',
      'x-coverage-complete',
      'cache-control',
    ]) {
      assert.equal(head.headers.get(name), get.headers.get(name), `${route.path} ${name}`)
    }
  }
})

/** A random query of a route on a range that is closed. */
function draw(random: Random): { route: RouteRule; query: Record<string, string>; url: string } {
  const route = random.pick(ROUTES)
  const query: Record<string, string> = {}
  for (const [name, rule] of Object.entries(route.params)) {
    if (rule.kind === 'cursor' || rule.kind === 'time' || random.below(2) === 0) continue
    if (rule.kind === 'integer') query[name] = String(rule.min + random.below(Math.min(rule.max, 300)))
    if (rule.kind === 'enum') query[name] = random.pick(rule.values)
    if (rule.kind === 'boolean') query[name] = random.pick(['true', 'false'])
    if (rule.kind === 'number') query[name] = String(random.below(2_000_000))
    if (rule.kind === 'identifier' && random.below(3) === 0) {
      query[name] = name === 'token_id' ? TOKENS.up : random.pick([CONDITION, TICKER])
    }
  }
  if ('start' in route.params) {
    const to = FINAL - random.below(48) * HOUR
    query.end = iso(to)
    query.start = iso(to - random.pick([1, 5, 60, 60 * 24, 60 * 24 * 6]) * 60_000)
  }
  if ('time' in route.params) query.time = iso(FINAL - random.below(3_600) * 100)
  return { route, query, url: urlOf(route, query) }
}

test(`a preview predicts the charge exactly for ${QUERIES} random queries on closed ranges (seed ${SEED}), for nothing`, async () => {
  const random = seeded(SEED)
  const key = await service.key({ plan: 'business', credits: 900_000_000 })
  const statuses = new Map<number, number>()
  let priced = 0
  while (priced < QUERIES) {
    const { route, query, url } = draw(random)
    const plan = random.below(4) === 0 ? { plan: random.pick(['free', 'developer']) } : { key }
    const preview = await service.get(`${url}${url.includes('?') ? '&' : '?'}dry_run=true`, plan)
    const real = await service.get(url, plan)
    assert.equal(preview.status, real.status, `${url}: ${preview.text.slice(0, 200)}`)
    assert.equal(preview.headers.get('x-credits-used'), '0')
    statuses.set(real.status, (statuses.get(real.status) ?? 0) + 1)
    if (real.status !== 200) {
      assert.equal(preview.json.error, real.json.error)
      continue
    }
    priced++
    const charged = Number(real.headers.get('x-credits-used'))
    assert.deepEqual(Object.keys(preview.json), [
      'dry_run',
      'rows',
      'credits',
      'credits_remaining',
      'clamped',
      'rows_affordable',
      'would_be_capped',
    ])
    assert.equal(preview.json.credits, charged, url)
    if (route.kind === 'list') {
      const rows = Number(real.headers.get('x-rows-returned'))
      assert.equal(preview.json.rows, rows, url)
      assert.equal(charged, route.base + rows * perRow(route, { ...route.query, ...query }), url)
      assert.equal(String(preview.json.clamped), real.headers.get('x-clamped'), url)
      assert.equal(String(preview.json.would_be_capped), real.headers.get('x-rows-capped'), url)
    }
    assert.equal(
      Number(preview.json.credits_remaining) - charged,
      Number(real.headers.get('x-credits-remaining')),
    )
  }
  assert.ok((statuses.get(200) ?? 0) >= QUERIES)
})

test('a preview follows the cursor, the cap and the balance like the page does', async () => {
  const url = '/v1/candles?symbol=BTC&source=cexa&start=2026-06-01&end=2026-06-10'
  const first = await service.get(`${url}&limit=200`)
  const after = `${url}&limit=200&after=${first.headers.get('x-next-cursor')}`
  const rest = await service.get(after)
  const preview = await service.get(`${after}&dry_run=true`)
  assert.equal(String(preview.json.rows), rest.headers.get('x-rows-returned'))
  const capped = await service.get('/v1/candles?symbol=BTC&source=cexa&limit=5000&dry_run=true', {
    plan: 'free',
  })
  assert.deepEqual([capped.json.rows, capped.json.credits], [100, 350])
  assert.equal(capped.json.would_be_capped, true, 'by the plan')
  const poor = await service.key({ plan: 'business', credits: 50 + 3 * 4 })
  const small = await service.get(`${url}&dry_run=true`, { key: poor })
  assert.deepEqual([small.json.rows, small.json.credits, small.json.credits_remaining], [4, 62, 62])
  assert.deepEqual([small.json.rows_affordable, small.json.would_be_capped], [4, true])
  const enough = await service.get(`${url}&limit=4&dry_run=true`, { key: poor })
  assert.deepEqual([enough.json.rows_affordable, enough.json.would_be_capped], [4, false])
  // A caller who cannot pay may still ask for the price.
  const broke = await service.key({ plan: 'business', credits: 0 })
  const none = await service.get(`${url}&limit=3&dry_run=true`, { key: broke })
  assert.deepEqual([none.json.credits, none.json.rows_affordable, none.json.would_be_capped], [59, 0, true])
  const flat = await service.get('/v1/markets?limit=3&dry_run=true', { key: poor })
  assert.deepEqual([flat.json.rows_affordable, flat.json.would_be_capped], [null, false])
})
