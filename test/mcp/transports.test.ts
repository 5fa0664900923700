/** Who may use the server over HTTP, and its bounds. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask, assertError } from '../fakes/client.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { until } from '../until.ts'
import { callTool, connectHttp } from './mcp-client.ts'

let service: TestService
let key: string
before(async () => {
  service = await startTestService({
    plans: [
      { name: 'wide', extends: 'business', requestsPerSecond: 100_000, requestsPerMinute: 6_000_000 },
      { name: 'slow', extends: 'business', requestsPerSecond: 1, requestsPerMinute: 2 },
    ],
  })
  key = await service.key()
})
after(() => service.stop())

const JSON_TYPE = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
const message = (method: string, id = 1) => ({ jsonrpc: '2.0', id, method, params: {} })
const post = (body: unknown, headers: Record<string, string> = {}, sent = key) =>
  ask(`${service.url}/mcp`, {
    method: 'POST',
    ...(sent === '' ? {} : { key: sent }),
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { ...JSON_TYPE, ...headers },
  })

for (const revision of ['2025', '2026'] as const) {
  test(`a revoked key ends at once (${revision})`, async () => {
    const { accounts } = service.parts
    const { key: own, record } = await accounts.createKey({
      ...{ accountId: await service.account(), environment: 'test', name: 'a key' },
    })
    const client = await connectHttp(service.url, { Authorization: `Bearer ${own}` }, revision)
    assert.equal((await callTool(client, 'explain_cost')).isError, false)
    await accounts.revokeKey(record.id)
    const isRefused = async () => (await ask(`${service.url}/v1/limits`, { key: own })).status === 401
    await until('the key is refused', isRefused)
    await assert.rejects(callTool(client, 'explain_cost'), /revoked|401|Unauthorized/i)
    await client.close()
  })
}

test('without a valid key there is nothing: no list, no tool', async () => {
  for (const sent of ['', 'svc_test_nothing', `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`]) {
    assertError(await post(message('tools/list'), {}, sent), 401, 'unauthorized')
    // The body is not looked at before the key.
    assertError(await post('[[[', {}, sent), 401, 'unauthorized')
  }
})

test('100 sessions at once: each sees its own account, and only its own', async () => {
  const accounts = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const accountId = await service.account()
      const name = `key of session ${index}`
      return { name, key: await service.key({ accountId, name, credits: 10_000 + index }) }
    }),
  )
  const seen = await Promise.all(
    accounts.map(async ({ key: own, name }, index) => {
      const client = await connectHttp(service.url, { 'X-API-Key': own }, index % 2 === 0 ? '2025' : '2026')
      const { json } = await callTool(client, 'explain_cost')
      await client.close()
      const { credits, key: used } = json as { credits: { remaining: number }; key: { name: string } }
      return { name, used: used.name, remaining: credits.remaining }
    }),
  )
  assert.deepEqual(
    seen,
    accounts.map(({ name }, index) => ({ name, used: name, remaining: 10_000 + index })),
  )
})

test('scopes and the rate of the key apply to what tools read', async () => {
  const scoped = await service.key({ scopes: ['node'] })
  const client = await connectHttp(service.url, { 'X-API-Key': scoped })
  const refused = await callTool(client, 'find_markets')
  assert.equal(refused.json.error, 'tier_restricted')
  await client.close()
  const slow = await service.key({ plan: 'slow' })
  const answers = []
  for (let i = 0; i < 3; i++) answers.push(await post(message('tools/list'), {}, slow))
  assert.ok(answers.some(({ status }) => status === 429))
})

test('bodies, batches and methods are bounded', async () => {
  assertError(await post(`"${'x'.repeat(70_000)}"`), 413, 'payload_too_large')
  assertError(await post('{"jsonrpc'), 422, 'invalid_param')
  assertError(await post(Array(9).fill(message('tools/list'))), 422, 'invalid_param')
  assertError(await post([]), 422, 'invalid_param')
  // The answer could not have this id.
  assertError(
    await post('{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/list"}'),
    422,
    'invalid_param',
  )
  assert.equal((await post(message('tools/list'), { 'Content-Encoding': 'gzip' })).status, 415)
  assert.equal((await post(message('tools/list'), { 'Content-Type': 'text/plain' })).status, 415)
  for (const method of ['GET', 'DELETE']) {
    const answer = await ask(`${service.url}/mcp`, { method, key })
    assertError(answer, 405, 'method_not_allowed')
    assert.equal(answer.headers.get('allow'), 'POST, OPTIONS')
  }
  for (const body of [
    'null',
    '1',
    '{}',
    '{"jsonrpc":"2.0","id":1,"method":"__proto__"}',
    '[null]',
    '[[[]]]',
    `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
  ]) {
    const { status } = await post(body)
    assert.ok(status >= 200 && status < 500, `${body}: ${status}`)
  }
})

test('nothing can be subscribed to, so that no request stays open', async () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const listen = {
    ...message('subscriptions/listen'),
    params: { _meta: meta, notifications: { toolsListChanged: true } },
  }
  const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'subscriptions/listen' }
  const answer = await post(listen, headers)
  assert.match(answer.text, /Subscription limit reached/)
})
