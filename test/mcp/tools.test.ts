/** The tools over HTTP with the official client, in both revisions of the protocol. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { CONDITION, FINAL, fillWorld, HOUR, NOW, SLUG, TICKER } from '../fakes/market-world.ts'
import { callTool, connectHttp, type Revision, type ToolAnswer } from './mcp-client.ts'

/** As stated in the guide; typed in here so that a change shows. */
const MAX_ANSWER_CHARS = 20_000
const MAX_DEFINITION_CHARS = 16_000

let service: MarketService
let key: string
const clients = {} as Record<Revision, Client>
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
  key = await service.key()
  clients['2025'] = await connectHttp(service.url, { Authorization: `Bearer ${key}` }, '2025')
  clients['2026'] = await connectHttp(service.url, { 'X-API-Key': key }, '2026')
})
after(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()))
  await service.stop()
})

const iso = (ms: number) => new Date(ms).toISOString()
const rowsOf = (answer: ToolAnswer) => answer.json.rows as unknown[][]
const call = (name: string, args: Record<string, unknown> = {}) => callTool(clients['2026'], name, args)

for (const revision of ['2025', '2026'] as const) {
  test(`${revision}: lists tools, resources and prompts, and calls a tool`, async () => {
    const client = clients[revision]
    assert.equal(client.getNegotiatedProtocolVersion()?.slice(0, 4), revision)
    const { tools } = await client.listTools()
    assert.ok(tools.length >= 10 && tools.length <= 12, String(tools.length))
    assert.ok(JSON.stringify(tools).length <= MAX_DEFINITION_CHARS, `${JSON.stringify(tools).length}`)
    assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint === true))
    const answer = await callTool(client, 'get_history', {
      dataset: 'candles',
      symbol: 'BTC',
      source: 'cexa',
      limit: 3,
    })
    assert.equal(answer.isError, false, answer.text)
    assert.equal(rowsOf(answer).length, 3)
    assert.equal(answer.price.credits_charged, 50 + 3 * 3)
  })
}

test('each tool answers within its caps, with coverage and price', async () => {
  const range = { start: iso(FINAL - 24 * HOUR), interval: '1h' }
  const candles = { dataset: 'candles', symbol: 'BTC', source: 'cexa' }
  const calls: [string, Record<string, unknown>][] = [
    ['find_sources', {}],
    ['find_sources', { source: 'oracle' }],
    ['find_markets', { limit: 100 }],
    ['get_market', { identifier: SLUG }],
    ['get_history', { ...candles, ...range }],
    ['get_history', { ...candles, ...range, buckets: 4 }],
    ['get_history', { dataset: 'trades', symbol: 'BTC', limit: 100 }],
    ['get_history', { dataset: 'funding', symbol: 'BTC' }],
    [
      'get_history',
      { dataset: 'snapshots', symbol: 'BTC', source: 'predmkt_a', include_orderbook: true, limit: 100 },
    ],
    ['get_snapshot', { symbol: 'BTC', source: 'predmkt_b', market_id: TICKER, time: iso(FINAL) }],
    ['compare_sources', { symbol: 'BTC', sources: 'cexa,cexa_futures,perpdex', ...range }],
    ['market_proof', { identifier: SLUG }],
    ['explain_cost', {}],
  ]
  for (const [name, args] of calls) {
    const answer = await call(name, args)
    assert.equal(answer.isError, false, `${name}: ${answer.text}`)
    assert.ok(answer.text.length <= MAX_ANSWER_CHARS, `${name}: ${answer.text.length}`)
    assert.ok(answer.price.credits_charged <= answer.price.max_credits)
    if (['get_history', 'get_snapshot', 'compare_sources', 'market_proof'].includes(name))
      assert.match(answer.text, /"coverage":\{/)
  }
})

test('a page of rows is what the endpoint has, and rest leads to the next one without loss', async () => {
  const query = 'symbol=BTC&source=cexa&interval=1h&limit=30'
  const { json } = await service.get(`/v1/candles?${query}`)
  const expected = (json.data as { timestamp: string }[]).map(({ timestamp }) => timestamp)
  const found: unknown[] = []
  let add: object = {}
  for (let page = 0; page < 3; page++) {
    const args = { dataset: 'candles', symbol: 'BTC', source: 'cexa', interval: '1h', limit: 10, ...add }
    const answer = await call('get_history', args)
    const at = (answer.json.columns as string[]).indexOf('timestamp')
    found.push(...rowsOf(answer).map((row) => row[at]))
    add = (answer.json.rest as { add: object }).add
  }
  assert.deepEqual(found, expected)
})

test('a summary counts every row once and its numbers are those of the rows', async () => {
  const start = iso(FINAL - 24 * HOUR)
  const end = iso(FINAL)
  const query = `symbol=BTC&source=cexa&interval=1h&start=${start}&end=${end}`
  const { json } = await service.get(`/v1/candles?${query}`)
  const rows = json.data as { high: number; low: number; close: number }[]
  const args = { dataset: 'candles', symbol: 'BTC', source: 'cexa', interval: '1h', start, end }
  const answer = await call('get_history', { ...args, buckets: 4 })
  const columns = answer.json.columns as string[]
  const shared = answer.json.same_in_all_rows as Record<string, unknown>
  const column = (name: string) =>
    rowsOf(answer).map((row) => Number(shared[name] ?? row[columns.indexOf(name)]))
  assert.equal(rowsOf(answer).length, 4)
  assert.equal(
    column('rows').reduce((sum, count) => sum + count, 0),
    rows.length,
  )
  assert.equal(Math.max(...column('high.max')), Math.max(...rows.map(({ high }) => high)))
  assert.equal(Math.min(...column('low.min')), Math.min(...rows.map(({ low }) => low)))
  assert.equal(column('close.last').at(-1), rows.at(-1)?.close)
  const { between } = answer.json.summarised as { between: string[] }
  assert.deepEqual(between, [start, iso(FINAL - HOUR)])
  assert.equal(answer.price.credits_charged, 50 + 3 * rows.length)
})

test('max_credits is never exceeded: fewer rows, or a refusal that names the price', async () => {
  const args = { dataset: 'candles', symbol: 'BTC', source: 'cexa', interval: '1h' }
  const some = await call('get_history', { ...args, max_credits: 62 })
  assert.equal(rowsOf(some).length, 4)
  assert.equal(some.price.credits_charged, 62)
  const summary = await call('get_history', { ...args, buckets: 3, max_credits: 110 })
  assert.equal(summary.price.credits_charged, 110)
  assert.ok(summary.json.rest)
  const remaining = (await service.get('/v1/limits')).json.credits
  const none = await call('get_history', { ...args, max_credits: 52 })
  assert.equal(none.isError, true)
  assert.equal(none.json.error, 'max_credits')
  assert.match(String(none.json.what_to_change), /Set max_credits to 53/)
  for (const [name, more] of [
    ['find_markets', {}],
    ['get_market', { identifier: SLUG }],
    ['get_snapshot', { symbol: 'BTC', source: 'predmkt_b', time: iso(FINAL) }],
    ['compare_sources', { symbol: 'BTC', sources: 'cexa,perpdex' }],
    ['market_proof', { identifier: SLUG }],
    ['lookup_transaction', { tx_id: 'ab'.repeat(32) }],
    ['lookup_address', { address: 'kaspatest:x' }],
    ['lookup_covenant', { covenant_id: 'ab'.repeat(32) }],
    ['get_chain_status', {}],
  ] as const) {
    const refused = await call(name, { ...more, max_credits: 0 })
    assert.equal(refused.json.error, 'max_credits', `${name}: ${refused.text}`)
  }
  assert.deepEqual((await service.get('/v1/limits')).json.credits, remaining)
})

test('dry_run gives the price of the very call and charges nothing', async () => {
  const args = { dataset: 'trades', symbol: 'BTC', limit: 20 }
  const dry = await call('get_history', { ...args, dry_run: true })
  assert.equal(dry.price.credits_charged, 0)
  const { credits } = dry.json.dry_run as { credits: number }
  assert.equal((await call('get_history', args)).price.credits_charged, credits)
})

test('wrong arguments are answered with what to change', async () => {
  const candles = { dataset: 'candles', symbol: 'BTC' }
  const wrong: [string, Record<string, unknown>, RegExp][] = [
    ['get_history', { dataset: 'candles' }, /Give symbol/],
    ['get_history', { dataset: 'candle', symbol: 'BTC' }, /Use one of: candles/],
    ['get_history', { ...candles, sorce: 'cexa' }, /Did you mean source/],
    ['get_history', { ...candles, symbol: 'DOGE' }, /Use one of: BTC/],
    ['get_history', { ...candles, interval: '7m' }, /Use one of: 1s/],
    ['get_history', { ...candles, buckets: 1_000 }, /from 1 to 60/],
    ['get_history', { ...candles, symbol: ['BTC'] }, /must be a text/],
    ['get_history', { ...candles, max_credits: -1 }, /from 0 to/],
    ['get_history', { ...candles, start: iso(FINAL), end: iso(FINAL - HOUR) }, /start must be before end/],
    ['get_history', { ...candles, after: 'nonsense' }, /cursor/],
    ['get_market', { identifier: 'no-such-market' }, /find_markets/],
    ['compare_sources', { symbol: 'BTC', sources: 'cexa' }, /Name two to 6/],
    ['compare_sources', { symbol: 'BTC', sources: 'cexa,nowhere' }, /Name two to 6/],
    ['lookup_transaction', { tx_id: 'x' }, /tx_id/],
    ['drop_tables', {}, /Use one of: find_sources/],
  ]
  for (const [name, args, words] of wrong) {
    const answer = await call(name, args)
    assert.equal(answer.isError, true, `${name} ${JSON.stringify(args)}`)
    assert.match(answer.text, words)
    assert.ok(typeof answer.json.what_to_change === 'string')
  }
})

test('the proof of a market is what was recorded of its result, and nothing that was not', async () => {
  const bar = async (from: number) => {
    const range = `start=${iso(from)}&end=${iso(from + 5 * 60_000)}`
    const { json } = await service.get(`/v1/candles?symbol=BTC&source=oracle&interval=5m&${range}`)
    return (json.data as { open: number; close: number }[])[0]
  }
  const only = await bar(FINAL - 5 * 60_000)
  const answer = await call('market_proof', { identifier: SLUG })
  const { venue, oracle, reference_prices, last_book } = answer.json.evidence as Record<
    string,
    Record<string, unknown>
  >
  assert.deepEqual(venue?.winner, 'Up')
  assert.deepEqual([oracle?.start, oracle?.end], [only?.open, only?.close])
  assert.deepEqual([oracle?.result, oracle?.agrees], ['Up', true])
  // Not recorded, so neither a price nor a judgement.
  assert.deepEqual(reference_prices, { start: null, end: null, result: null, agrees: null })
  assert.match(JSON.stringify(last_book), /"snapshot":\{"timestamp":"2026-06-10T1[12]:/)
  assert.equal(answer.price.credits_charged, 25 + 53 + 53 + 50)
  const dry = await call('market_proof', { identifier: SLUG, dry_run: true })
  assert.deepEqual(dry.json.dry_run, { credits: 25 + 53 + 53 + 50 })

  const poor = await call('market_proof', { identifier: SLUG, max_credits: 100 })
  assert.equal(poor.isError, false, 'what was paid for is shown')
  assert.deepEqual(Object.keys(poor.json.failed as object), ['oracle_end', 'last_book'])
  const strike = await call('market_proof', { identifier: TICKER })
  assert.match(strike.text, /"above_strike":/)
  const perpetual = await call('market_proof', { identifier: 'BTC', source: 'perpdex' })
  assert.match(perpetual.text, /is a perpetual[\s\S]*find_markets/)
})

test('several sources are compared only where all of them were read', async () => {
  const args = { symbol: 'BTC', sources: 'cexa,perpdex', interval: '1h', limit: 5 }
  const answer = await call('compare_sources', args)
  const [first] = rowsOf(answer)
  assert.ok(
    first?.every((value) => value !== null),
    'the oldest row has a value of each source',
  )
})

test('prediction markets with several legs are not mixed into one series', async () => {
  const args = { dataset: 'candles', symbol: 'BTC', source: 'predmkt_a', interval: '1h', buckets: 1 }
  const answer = await call('get_history', { ...args, market_id: CONDITION })
  assert.equal(answer.json.series, 2)
  assert.equal(rowsOf(answer).length, 2)
})

test('resources: the guide, an index of the API and single paths', async () => {
  const client = clients['2026']
  const { resources } = await client.listResources()
  assert.ok(resources.some(({ uri }) => uri === 'tapeline://docs/guides/mcp.md'))
  for (const { uri } of resources) {
    const [content] = (await client.readResource({ uri })).contents
    assert.ok(content && 'text' in content && content.text.length > 200, uri)
  }
  const [path] = (await client.readResource({ uri: 'tapeline://openapi/v1/candles' })).contents
  assert.ok(path && 'text' in path)
  assert.ok((JSON.parse(path.text) as { get: { parameters: unknown[] } }).get.parameters.length > 5)
  for (const uri of [
    'tapeline://docs/../package.json',
    'file:///etc/passwd',
    'tapeline://openapi/v1/nothing',
  ])
    await assert.rejects(client.readResource({ uri }), /no resource/)
})

test('prompts are filled in; one that lacks a value is refused', async () => {
  const client = clients['2026']
  const { prompts } = await client.listPrompts()
  assert.ok(prompts.length >= 4)
  for (const { name, arguments: list = [] } of prompts) {
    const values = Object.fromEntries(list.map((each) => [each.name, `value-of-${each.name}`]))
    const text = JSON.stringify((await client.getPrompt({ name, arguments: values })).messages)
    for (const value of Object.values(values)) assert.ok(text.includes(value), name)
    await assert.rejects(client.getPrompt({ name, arguments: {} }), /Missing/)
  }
})
