/** What follows from the declarations alone, without a service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filledPath } from '../../contract/filled-path.ts'
import { source } from '../../contract/params.ts'
import type { SourceName } from '../../core/source.ts'
import { ENDPOINTS } from '../endpoints/list.ts'
import type { EndpointRequest, ToolEndpoint } from './endpoint-call.ts'
import type { McpTool, ToolContext } from './tool.ts'
import { mcpTools } from './tools.ts'

function contextOf(answer: (request: EndpointRequest) => object, headers: Record<string, string> = {}) {
  const asked: EndpointRequest[] = []
  const context: ToolContext = {
    isOver: () => false,
    wait: async () => {},
    call: async (request) => {
      asked.push(request)
      return { status: 200, header: (name) => headers[name], text: JSON.stringify(answer(request)) }
    },
  }
  return { asked, context }
}

function toolOf(endpoints: readonly ToolEndpoint[], name: string): McpTool {
  const tool = mcpTools(endpoints).find((each) => each.name === name)
  assert.ok(tool)
  return tool
}

test('a new source, field, parameter and part of a market appear without a change', async () => {
  const endpoints = ENDPOINTS.map((endpoint): ToolEndpoint => {
    if (endpoint.path !== '/v1/candles') return endpoint
    const { params } = endpoint
    const names = [...(params.source?.allowed ?? []), 'newvenue'] as SourceName[]
    return { ...endpoint, params: { ...params, source: source(...names), session: source('cexa') } }
  })
  const market = ENDPOINTS.find(({ path }) => path === '/v1/markets/{identifier}')
  assert.ok(market)
  const history = toolOf(endpoints, 'get_history')
  const { properties } = history.inputSchema
  assert.match(JSON.stringify(properties.source), /"newvenue"/)
  assert.ok(properties.session)
  const { context } = contextOf(() => ({
    data: [
      { timestamp: '2026-06-10T00:00:00.000Z', close: 1, new_field: 5 },
      { timestamp: '2026-06-10T01:00:00.000Z', close: 2, new_field: 6 },
    ],
    meta: { coverage: { gaps: [], new_fact: true } },
  }))
  const args = { dataset: 'candles', symbol: 'BTC', source: 'newvenue' }
  const rows = await history.run(args, context)
  assert.deepEqual(rows.columns, ['timestamp', 'close', 'new_field'])
  assert.deepEqual(rows.coverage, { gaps: [], new_fact: true })
  const summary = await history.run({ ...args, buckets: 1 }, context)
  assert.ok((summary.columns as string[]).includes('new_field.mean'))
  assert.equal(properties.part, undefined)
  assert.equal(toolOf(endpoints, 'get_market').inputSchema.properties.part, undefined)
  const withProof = [...endpoints, { ...market, path: '/v1/markets/{identifier}/proof' }]
  assert.deepEqual(toolOf(withProof, 'get_market').inputSchema.properties.part?.enum, ['record', 'proof'])
})

test('tools reach declared reads only: every request is a GET but two calls that read the node', async () => {
  for (const tool of mcpTools(ENDPOINTS)) {
    const { asked, context } = contextOf(() => ({
      data: [],
      symbols: [],
      start_time: '2026-06-10',
      end_time: '2026-06-11',
    }))
    const values = { dataset: 'trades', symbol: 'BTC', sources: 'cexa,oracle', identifier: 'x', time: '0' }
    const all = { ...values, source: 'predmkt_a', tx_id: 'x', address: 'x', covenant_id: 'x' }
    const known = Object.entries(all).filter(([name]) => Object.hasOwn(tool.inputSchema.properties, name))
    await tool.run(Object.fromEntries(known), context)
    assert.ok(asked.length > 0, tool.name)
    const writes = asked.filter(({ endpoint }) => endpoint.method !== 'GET')
    const methods = writes.map(({ body }) => (JSON.parse(body ?? '{}') as { method: string }).method)
    const expected = tool.name === 'get_chain_status' ? ['getServerInfo', 'getBlockDagInfo'] : []
    assert.deepEqual(methods, expected, tool.name)
  }
})

test('every tool that can cost something takes max_credits', () => {
  const free = ['find_sources', 'explain_cost']
  for (const { name, inputSchema } of mcpTools(ENDPOINTS)) {
    assert.equal(Object.hasOwn(inputSchema.properties, 'max_credits'), !free.includes(name), name)
  }
})

test('a value in a path cannot leave it', async () => {
  const { asked, context } = contextOf(() => ({}))
  await toolOf(ENDPOINTS, 'lookup_transaction').run({ tx_id: '../../v1/webhooks?x=1' }, context)
  assert.deepEqual(
    asked.map(({ endpoint, pathParams }) => filledPath(endpoint.path, pathParams)),
    ['/v1/transactions/..%2F..%2Fv1%2Fwebhooks%3Fx%3D1'],
  )
})

test('integers above 2^53 keep their digits', async () => {
  const { context } = contextOf(() => ({ balance: 1 }))
  const call: ToolContext['call'] = async (request) => ({
    ...(await context.call(request)),
    text: '{"balance_sompi":18446744073709551615}',
  })
  const answer = await toolOf(ENDPOINTS, 'lookup_address').run(
    { part: 'balance', address: 'x' },
    { ...context, call },
  )
  assert.match(JSON.stringify(answer), /"balance_sompi":18446744073709551615\}/)
})

test('waits for the rate once, and only for a short time', async () => {
  for (const [seconds, calls] of [
    ['1', 2],
    ['30', 1],
  ] as const) {
    let asked = 0
    const context: ToolContext = {
      isOver: () => false,
      wait: async () => {},
      call: async () => {
        asked++
        return { status: 429, header: () => seconds, text: '{"error":"rate_limited","message":"Too many."}' }
      },
    }
    await assert.rejects(toolOf(ENDPOINTS, 'find_markets').run({}, context), /Too many/)
    assert.equal(asked, calls)
  }
})

for (const order of ['asc', 'desc'] as const) {
  test(`rows that do not fit are left out, and rest says where they begin (${order})`, async () => {
    const minute = (index: number) => new Date(index * 60_000).toISOString()
    const rows = Array.from({ length: 100 }, (_, index) => ({
      timestamp: minute(order === 'asc' ? index : 100 - index),
      book: `${index} `.repeat(300),
    }))
    const { context } = contextOf(() => ({
      data: rows,
      meta: { coverage: { gaps: Array(500).fill('a gap') } },
    }))
    const args = { dataset: 'snapshots', symbol: 'BTC', source: 'perpdex', limit: 100 }
    const answer = await toolOf(ENDPOINTS, 'get_history').run(args, context)
    assert.ok(JSON.stringify(answer).length <= 20_000)
    const shown = (answer.rows as unknown[]).length
    assert.ok(shown > 10 && shown < 40, String(shown))
    assert.equal(answer.rows_shown, shown)
    const { add } = answer.rest as { add: { start?: string; end?: string } }
    const first = rows[shown]?.timestamp ?? ''
    if (order === 'asc') assert.deepEqual(add, { start: first })
    else assert.deepEqual(add, { end: new Date(Date.parse(first) + 1).toISOString() })
  })
}

test('an object that is too long loses items of its lists, and says how many', async () => {
  const outputs = Array.from({ length: 5_000 }, (_, index) => ({ index, script: 'ab'.repeat(60) }))
  const { context } = contextOf(() => ({ tx_id: 'x', outputs }))
  const answer = await toolOf(ENDPOINTS, 'lookup_transaction').run({ tx_id: 'x' }, context)
  const text = JSON.stringify(answer)
  assert.ok(text.length <= 20_000)
  assert.match(text, /… 49\d\d more/)
})

/** Pages of a thousand trades, one second apart, with a gap in each. */
function tradePages(more: (row: number) => object = () => ({})) {
  let row = 0
  const time = (seconds: number) => new Date(seconds * 1_000).toISOString()
  return contextOf(
    () => {
      const from = time(row)
      const data = Array.from({ length: 1_000 }, () => ({ timestamp: time(row), price: row, ...more(row++) }))
      return { data, meta: { coverage: { from, to: time(row), complete: false, gaps: [{ from }] } } }
    },
    { 'x-next-cursor': 'more' },
  )
}

test('a summary stops at 5,000 rows, says how to go on, and has the gaps of all of them', async () => {
  const { asked, context } = tradePages()
  const args = { dataset: 'trades', symbol: 'BTC', buckets: 2, max_credits: 1_000_000 }
  const answer = await toolOf(ENDPOINTS, 'get_history').run(args, context)
  assert.equal(asked.length, 5)
  assert.deepEqual((answer.rest as { add: object }).add, { after: 'more' })
  const { gaps, from, to, complete } = answer.coverage as Record<string, unknown[]>
  assert.equal(gaps?.length, 5)
  const ends = ['1970-01-01T00:00:00.000Z', '1970-01-01T01:23:20.000Z']
  assert.deepEqual([from, to, complete], [...ends, false])
  const columns = answer.columns as string[]
  const [first, last] = answer.rows as number[][]
  assert.deepEqual(
    [first?.[columns.indexOf('price.max')], last?.[columns.indexOf('price.max')]],
    [2_499, 4_999],
  )
})

test('a summary of many series is refused after one page', async () => {
  const { asked, context } = tradePages((row) => ({ market_id: `m${row % 50}` }))
  const args = { dataset: 'trades', symbol: 'BTC', buckets: 2, max_credits: 1_000_000 }
  await assert.rejects(toolOf(ENDPOINTS, 'get_history').run(args, context), /50 series/)
  assert.equal(asked.length, 1)
})

test('a summary that is too long has fewer steps, not fewer of them', async () => {
  const wide = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`number_${index}`, index / 3]))
  const { context } = tradePages((row) => ({ ...wide, number_0: row, number_1: row / 7 }))
  const args = { dataset: 'trades', symbol: 'BTC', buckets: 60, max_credits: 1_000_000 }
  const answer = await toolOf(ENDPOINTS, 'get_history').run(args, context)
  assert.ok(JSON.stringify(answer).length <= 20_000)
  const columns = answer.columns as string[]
  const counts = (answer.rows as number[][]).map((row) => row[columns.indexOf('rows')] ?? 0)
  const shared = (answer.same_in_all_rows as { rows?: number }).rows
  const sum = shared === undefined ? counts.reduce((all, each) => all + each, 0) : shared * counts.length
  assert.equal(sum, 5_000)
})

test('what dry_run names for the chain is enough for it', async () => {
  const tool = toolOf(ENDPOINTS, 'get_chain_status')
  const { asked, context } = contextOf(() => ({ result: {} }), { 'x-credits-charged': '1' })
  const { dry_run: price } = await tool.run({ dry_run: true }, context)
  const { credits } = price as { credits: number }
  await tool.run({ max_credits: credits }, context)
  assert.equal(asked.length, 3)
  const tooLittle = await tool.run({ max_credits: credits - 1 }, context)
  assert.equal(asked.length, 5, 'the last call is not made')
  assert.match(JSON.stringify(tooLittle), new RegExp(`"needed":${credits}`))
})
