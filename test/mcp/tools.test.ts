/** The tools with the official client, in both revisions of the protocol. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { CONDITION, FINAL, fillWorld, HOUR, NOW, SLUG, TICKER } from '../fakes/market-world.ts'
import { callTool, connectHttp, connectStdio, type Revision, type ToolAnswer } from './mcp-client.ts'
import { answersOf, MARKET_CALLS } from './tool-calls.ts'

/** As the task of the tools is stated; typed in here so that a change shows. */
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

test('each tool, with good, bad and expensive arguments: the same over both transports', async () => {
  const stdio = await connectStdio(service.url, key, { revision: '2026', like: clients['2026'] })
  try {
    assert.deepEqual((await stdio.listTools()).tools, (await clients['2026'].listTools()).tools)
    assert.ok((await stdio.listResources()).resources.length > 3)
    const answers = await answersOf(clients['2026'], MARKET_CALLS)
    for (const [n, { json, text }] of (await answersOf(stdio, MARKET_CALLS)).entries())
      assert.deepEqual(lasting(json), lasting(answers[n]?.json), text)
  } finally {
    await stdio.close()
  }
})

/** Without what changes with every call: what is left of the credits, and how many requests there were. */
function lasting(json: Record<string, unknown> = {}): unknown {
  return JSON.parse(JSON.stringify({ ...json, credits: null }), (name, value) =>
    /^(credits_remaining|current_(second|minute))$/.test(name) ? null : value,
  )
}

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

test('a refusal charges nothing but what it says', async () => {
  const usedNow = async () => ((await service.get('/v1/limits')).json.credits as { used: number }).used
  const used = await usedNow()
  const refused = MARKET_CALLS.filter(({ error }) => error !== undefined)
  const answers = await answersOf(clients['2026'], refused)
  const said = answers.map(({ price }) => price?.credits_charged ?? 0)
  // The proof of a perpetual: the record of the market says that it is one.
  assert.deepEqual(
    said.filter((credits) => credits > 0),
    [25],
  )
  assert.equal(await usedNow(), used + 25)
})

test('every call that a tool makes is booked, not only the first', async () => {
  const usedNow = async () => ((await service.get('/v1/limits')).json.credits as { used: number }).used
  const used = await usedNow()
  const args = {
    symbol: 'BTC',
    sources: 'cexa,perpdex',
    start: iso(FINAL - 6 * HOUR),
    end: iso(FINAL),
    limit: 5,
  }
  const { price } = await call('compare_sources', args)
  assert.ok(price.credits_charged >= 2 * 53, String(price.credits_charged))
  // What was charged is settled within a moment.
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.equal(await usedNow(), used + price.credits_charged)
})

test('dry_run gives the price of the very call and charges nothing', async () => {
  const args = { dataset: 'trades', symbol: 'BTC', limit: 20 }
  const dry = await call('get_history', { ...args, dry_run: true })
  assert.equal(dry.price.credits_charged, 0)
  const { credits } = dry.json.dry_run as { credits: number }
  assert.equal((await call('get_history', args)).price.credits_charged, credits)
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
