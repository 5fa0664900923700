/** POST /rpc over real sockets: every method with its price, what is refused, batches, limits. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseExact } from '../../src/kit/exact-json.ts'
import { assertRefused, goodParams } from '../fakes/all-methods.ts'
import { type ChainService, exactText, type RpcReply, startChainService } from '../fakes/chain-service.ts'
import { type Answer, assertError } from '../fakes/client.ts'
import { ADDRESS, type Coin, funds, payment } from '../fakes/real-client.ts'
import { WIDE_PLAN } from '../fakes/service.ts'
import { until } from '../until.ts'

/** Typed from the contract, not taken from the table of the service. */
const LIGHT =
  'ping, getServerInfo, getInfo, getSyncStatus, getCurrentNetwork, getSystemInfo, getConnections, getMetrics, getPeerAddresses, getConnectedPeerInfo, getBlockDagInfo, getSink, getSinkBlueScore, getBlockCount, getCurrentBlockColor, getBlockRewardInfo, getSeqCommitLaneProof, getBalanceByAddress, getUtxoReturnAddress, getFeeEstimate, getFeeEstimateExperimental, getCoinSupply, getDaaScoreTimestampEstimate, estimateNetworkHashesPerSecond, getSubnetwork'.split(
    ', ',
  )
const HEAVY =
  'getBlock, getBlocks, getHeaders, getVirtualChainFromBlock, getVirtualChainFromBlockV2, getBlockTemplate, submitBlock, getBalancesByAddresses, getUtxosByAddresses, getMempoolEntry, getMempoolEntries, getMempoolEntriesByAddresses, submitTransaction, submitTransactionReplacement'.split(
    ', ',
  )
const BLOCKED =
  'addPeer, ban, unban, shutdown, resolveFinalityConflict, subscribe, unsubscribe, notifyBlockAdded, notifyUtxosChanged, notifyAnything'.split(
    ', ',
  )
const UNKNOWN = ['', 'getsink', 'getSink ', '__proto__', 'constructor', 'getBlock\u0000', 'x'.repeat(10_000)]
/** The same limit per minute as per second, so that it is reached however long the calls of a test take. */
const NARROW = { name: 'narrow', extends: 'free', requestsPerSecond: 5, requestsPerMinute: 5 }
/** The free plan's limit of heavy calls without its rate limit. */
const TWO_HEAVY = { ...WIDE_PLAN, name: 'two-heavy', heavyCallsInFlight: 2 }
const NO_HEAVY = { ...WIDE_PLAN, name: 'no-heavy', heavyCallsInFlight: 0 }

/** Long enough for another call in the meantime, on a shared machine. */
const LATE_MS = 3_000

let chain: ChainService
let key: string
const received = (method: string) =>
  chain.nodes.reduce((sum, node) => sum + (node.log.counts()[method] ?? 0), 0)
before(async () => {
  chain = await startChainService({
    chain: { transactionsPerSecond: 20, dwellBlocks: 30, fund: funds(1) },
    plans: [WIDE_PLAN, NARROW, TWO_HEAVY, NO_HEAVY],
  })
  key = await chain.key()
  await chain.healthy(2)
  // The index requests blocks when it starts, and the chain afterwards.
  await until('the index begins', () =>
    chain.nodes.some(({ log }) => Number(log.counts().getVirtualChainFromBlock) > 0),
  )
})
after(() => chain.stop())

const charged = (answer: Answer) => Number(answer.headers.get('x-credits-charged'))
const calls = (...methods: string[]) =>
  JSON.stringify(methods.map((method, index) => ({ jsonrpc: '2.0', id: index, method })))
const replies = (answer: Answer) => answer.json as unknown as RpcReply[]

async function result(method: string, params: unknown = {}): Promise<Record<string, unknown>> {
  const { answer, reply } = await chain.call(key, method, params)
  assert.ok(reply.result, answer.text)
  return reply.result
}

/** The same with exact integers. */
async function exactResult(method: string, params: unknown = {}): Promise<Record<string, unknown>> {
  const { answer } = await chain.call(key, method, params)
  const read = parseExact(answer.text)
  assert.ok(read.ok, answer.text)
  const { result: found } = read.value as { result?: Record<string, unknown> }
  assert.ok(found, answer.text)
  return found
}

test('all 39 methods are answered at their price; a refusal of the node costs nothing', async () => {
  const params = await goodParams(exactResult)
  const owned = await exactResult('getUtxosByAddresses', { addresses: [ADDRESS] })
  const [coin] = owned.entries as Coin[]
  assert.ok(coin)
  const refused: string[] = []
  for (const [methods, price] of [
    [LIGHT, 1],
    [HEAVY, 5],
  ] as const) {
    for (const method of methods) {
      if (method === 'submitTransactionReplacement') {
        await result('submitTransaction', { transaction: payment(coin, 250_000n).json })
        params[method] = { transaction: payment(coin, 900_000n).json }
      }
      const { answer, reply } = await chain.call(key, method, params[method] ?? {})
      assert.equal(answer.status, 200, answer.text)
      assert.equal(reply.jsonrpc, '2.0')
      assert.equal(reply.id, 1)
      if (reply.error === undefined) {
        assert.ok(reply.result, method)
        assert.equal(charged(answer), price, method)
      } else {
        assert.equal(reply.error.code, -32000, `${method}: ${answer.text}`)
        assert.equal(charged(answer), 0, method)
        refused.push(method)
      }
    }
  }
  assertRefused(refused)
  assert.ok(!refused.includes('submitTransactionReplacement'), 'a replacement is answered at its price')
  assert.equal(LIGHT.length + HEAVY.length, 39)
})

test('blocked and unknown methods and wrong params are refused for nothing, and no node hears of them', async () => {
  for (const node of chain.nodes) node.log.clear()
  const address = 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
  const wrong: [string, unknown][] = [
    ['getBlock', { hash: 'xyz' }],
    ['getBlock', {}],
    ['getSink', { surprise: 1 }],
    ['getBalanceByAddress', { address }],
    ['getBalanceByAddress', { address: 'kaspatest:qqqq' }],
    ['getUtxosByAddresses', { addresses: Array.from({ length: 1_001 }, () => address) }],
    ['getDaaScoreTimestampEstimate', { daaScores: [18446744073709551616n] }],
    ['submitTransaction', { transaction: { version: 0 } }],
    ['getSink', [1]],
    ['getSink', 'text'],
  ]
  for (const [method, params, code] of [
    ...BLOCKED.map((name) => [name, {}, -32010] as const),
    ...UNKNOWN.map((name) => [name, {}, -32601] as const),
    ...wrong.map(([name, given]) => [name, given, -32602] as const),
  ]) {
    const { answer, reply } = await chain.call(key, method, params)
    assert.equal(answer.status, 200)
    assert.equal(reply.error?.code, code, `${method}: ${answer.text}`)
    assert.equal(reply.id, 1)
    assert.equal(charged(answer), 0)
    if (code === -32602) assert.ok(Object(reply.error?.data?.faults).length > 0, answer.text)
  }
  // The index calls nodes all the time; those calls are not from this test.
  const asked = [...BLOCKED, ...UNKNOWN, ...wrong.map(([method]) => method), '(malformed)']
  for (const node of chain.nodes) {
    const arrived = Object.keys(node.log.counts()).filter((name) => asked.includes(name))
    assert.deepEqual(arrived, [])
  }
})

test('what is no JSON-RPC 2.0 request gets its code, with the id where it can be told', async () => {
  const cases: [string, number, unknown][] = [
    ['', -32700, null],
    ['{', -32700, null],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700, null],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700, null],
    ['"ping"', -32600, null],
    ['null', -32600, null],
    ['[]', -32600, null],
    [JSON.stringify(Array.from({ length: 51 }, () => ({}))), -32600, null],
    ['{"jsonrpc":"2.0","method":"ping"}', -32600, null],
    ['{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7],
    ['{"id":7,"method":"ping"}', -32600, 7],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, null],
    ['{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, null],
    ['{"jsonrpc":"2.0","id":"x","method":5}', -32600, 'x'],
    ['{"jsonrpc":"2.0","id":"x"}', -32600, 'x'],
  ]
  for (const [body, code, id] of cases) {
    const answer = await chain.post(body, key)
    const reply = answer.json as unknown as RpcReply
    assert.equal(answer.status, 200)
    assert.equal(reply.error?.code, code, `${body}: ${answer.text}`)
    assert.equal(reply.id, id, body)
    assert.equal(charged(answer), 0)
  }
  for (const id of ['null', '0', '-1.5', '"ü"', '18446744073709551615']) {
    const answer = await chain.post(`{"jsonrpc":"2.0","id":${id},"method":"ping","params":[]}`, key)
    assert.equal(answer.text, `{"jsonrpc":"2.0","id":${id},"result":{}}`)
  }
})

test('18446744073709551615 survives in both directions', async () => {
  const max = 18446744073709551615n
  const asked = await chain.call(key, 'getDaaScoreTimestampEstimate', { daaScores: [max, String(max)] })
  assert.ok(asked.reply.result, asked.answer.text)
  const { sink } = await result('getSink')
  // A block is validated in the context of its parents, so one that the chain has passed is still valid.
  const { block } = (await goodParams(exactResult)).submitBlock as { block: { header: object } }
  const header = { ...block.header, nonce: max }
  const sent = await chain.call(key, 'submitBlock', { block: { ...block, header } })
  assert.deepEqual(sent.reply.result, { report: { type: 'success' } }, sent.answer.text)
  const endsAt = performance.now() + 60_000
  for (;;) {
    const blocks = await chain.call(key, 'getBlocks', { lowHash: sink, includeBlocks: true })
    if (blocks.answer.text.includes('"nonce":18446744073709551615')) break
    assert.ok(performance.now() < endsAt, 'the nonce does not come back with all its digits')
  }
})

test('a batch keeps its order, one failure spoils nothing, and each item has its own price', async () => {
  const body = [
    { jsonrpc: '2.0', id: 'a', method: 'getSink' },
    { jsonrpc: '2.0', id: 'b', method: 'shutdown' },
    { jsonrpc: '2.0', id: 'c', method: 'getMempoolEntries' },
    { jsonrpc: '2.0', method: 'ping' },
    { jsonrpc: '2.0', id: 'e', method: 'getSubnetwork', params: { subnetworkId: '00'.repeat(20) } },
    5,
    { jsonrpc: '2.0', id: 'g', method: 'ping' },
  ]
  const answer = await chain.post(JSON.stringify(body), key)
  assert.equal(answer.status, 200)
  assert.deepEqual(
    replies(answer).map(({ id, error }) => [id, error?.code]),
    [
      ['a', undefined],
      ['b', -32010],
      ['c', undefined],
      [null, -32600],
      ['e', -32000],
      [null, -32600],
      ['g', undefined],
    ],
  )
  assert.equal(charged(answer), 1 + 5 + 1)
})

test('a batch of n counts n requests; what the rate cannot take is refused whole', async () => {
  const narrow = await chain.key({ plan: 'narrow' })
  const four = await chain.post(calls('ping', 'ping', 'ping', 'ping'), narrow)
  assert.equal(four.status, 200)
  assert.equal(four.headers.get('x-ratelimit-remaining'), '1')
  const refused = await chain.post(calls('ping', 'ping'), narrow)
  const body = assertError(refused, 429, 'rate_limited')
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  assert.equal(body.retry_after, Number(refused.headers.get('retry-after')))
  assert.equal((await chain.post(calls('ping'), narrow)).status, 200, 'what was refused did not count')
  const never = await chain.post(
    calls('ping', 'ping', 'ping', 'ping', 'ping', 'ping'),
    await chain.key({ plan: 'narrow' }),
  )
  const told = assertError(never, 429, 'rate_limited')
  assert.equal(told.reason, 'batch_above_rate')
  assert.equal(told.max_batch, 5)
  assert.match(
    String(told.message),
    /more than the rate .* ever allows at once\. Send at most 5 in a batch\. Try again in 1 s\.$/,
  )
  // As with every 429: after that time, a batch of the largest size passes.
  assert.equal(told.retry_after, 1)
  assert.equal(never.headers.get('retry-after'), '1')
})

test('a balance that cannot take the whole batch refuses it whole; at 0 refusals still answer', async () => {
  for (const node of chain.nodes) node.log.clear()
  const poor = await chain.key({ credits: 6 })
  const refused = await chain.post(calls('getSink', 'getSink', 'getMempoolEntries'), poor)
  assertError(refused, 402, 'credits_exhausted')
  assert.equal(charged(refused), 0)
  for (const node of chain.nodes) assert.equal(node.log.counts().getSink, undefined)
  const taken = await chain.post(calls('getSink', 'getMempoolEntries', 'nonsense'), poor)
  assert.equal(charged(taken), 6)
  assert.equal(taken.headers.get('x-credits-remaining'), '0')
  assertError(await chain.post(calls('ping'), poor), 402, 'credits_exhausted')
  const free = await chain.post(calls('shutdown', 'nonsense'), poor)
  assert.deepEqual(
    replies(free).map(({ error }) => error?.code),
    [-32010, -32601],
  )
})

/** Late probes may have made the nodes count as down. */
async function quickAgain(): Promise<void> {
  for (const node of chain.nodes) node.setFaults({ latencyMs: 0 })
  await chain.healthy(2)
}

test('credits of a call in flight cannot be spent twice, and what runs is never refused afterwards', async () => {
  const poor = await chain.key({ credits: 5 })
  for (const node of chain.nodes) node.setFaults({ latencyMs: LATE_MS })
  const before = received('getMempoolEntries')
  const first = chain.post(calls('getMempoolEntries'), poor)
  await until('it is under way', () => received('getMempoolEntries') > before)
  const second = await chain.post(calls('ping'), poor)
  assertError(second, 402, 'credits_exhausted')
  assert.equal(second.headers.get('x-credits-charged'), '0')
  assert.equal(charged(await first), 5)
  await quickAgain()
})

test('heavy calls in flight are bounded per account; a batch runs its own one after another', async () => {
  const account = await chain.service.account('two-heavy')
  const [one, two] = [await chain.key({ accountId: account }), await chain.key({ accountId: account })]
  for (const node of chain.nodes) node.setFaults({ latencyMs: LATE_MS })
  const before = received('getMempoolEntries')
  const flying = [one, two].map((each) => chain.post(calls('getMempoolEntries'), each ?? ''))
  await until('both are under way', () => received('getMempoolEntries') >= before + 2)
  const third = await chain.post(calls('getMempoolEntries'), one ?? '')
  const body = assertError(third, 429, 'rate_limited')
  assert.equal(body.reason, 'heavy_calls_in_flight')
  assert.equal(third.headers.get('retry-after'), '1')
  const light = await chain.post(calls('ping'), one ?? '')
  assert.equal(light.status, 200, 'light calls are not held up')
  for (const answer of await Promise.all(flying)) assert.equal(charged(answer), 5)
  await quickAgain()
  const batch = await chain.post(
    calls('getMempoolEntries', 'getMempoolEntries', 'getMempoolEntries'),
    one ?? '',
  )
  assert.equal(charged(batch), 15)
})

test('what is asked of an address counts as a heavy call in flight, also where it costs nothing', async () => {
  const two = await chain.key({ accountId: await chain.service.account('two-heavy') })
  const path = `/v1/addresses/${ADDRESS}`
  const head = (tail: string) =>
    fetch(`${chain.service.url}${path}/${tail}`, { method: 'HEAD', headers: { 'X-API-Key': two } })
  for (const node of chain.nodes) node.setFaults({ latencyMs: LATE_MS })
  const before = received('getUtxosByAddresses')
  const flying = [head('activity'), chain.get(`${path}/utxos?dry_run=true`, two)]
  await until('both are under way', () => received('getUtxosByAddresses') > before)
  for (const tail of ['activity', 'utxos', 'balance', 'activity?dry_run=true']) {
    const refused = assertError(await chain.get(`${path}/${tail}`, two), 429, 'rate_limited')
    assert.equal(refused.reason, 'heavy_calls_in_flight', tail)
  }
  assert.equal((await head('utxos')).status, 429)
  for (const { status } of await Promise.all(flying)) assert.equal(status, 200)
  await quickAgain()
  assert.equal((await chain.get(`${path}/activity`, two)).status, 200)
})

test('a plan without heavy calls has none of /rpc, and the answers about an address', async () => {
  const none = await chain.key({ accountId: await chain.service.account('no-heavy') })
  const refused = assertError(await chain.post(calls('getMempoolEntries'), none), 429, 'rate_limited')
  assert.equal(refused.reason, 'heavy_calls_in_flight')
  for (const tail of ['activity', 'utxos', 'balance'])
    assert.equal((await chain.get(`/v1/addresses/${ADDRESS}/${tail}`, none)).status, 200, tail)
})

/** The same value as in `src/upstreams/methods.ts`. */
const FEE_KEPT_MS = 500

test('what the node itself keeps is asked for once and shared; each caller pays', async () => {
  for (const node of chain.nodes) node.log.clear()
  const startedMs = performance.now()
  const answers = await Promise.all(Array.from({ length: 20 }, () => chain.call(key, 'getFeeEstimate')))
  // On a busy machine the calls take longer than an answer is kept: once for each time, and once more if that is slow.
  const kept = 1 + Math.ceil((performance.now() - startedMs) / FEE_KEPT_MS)
  for (const { answer } of answers) assert.equal(charged(answer), 1)
  const asked = chain.nodes.reduce((sum, node) => sum + (node.log.counts().getFeeEstimate ?? 0), 0)
  assert.ok(asked <= Math.min(2 * kept, 15), `${asked} calls reached the nodes in ${kept} times`)
})

test('the fee estimate has the form of the contract', async () => {
  for (const [query, experimental] of [
    ['', false],
    ['?experimental=true', true],
  ] as const) {
    const answer = await chain.get(`/v1/fees/estimate${query}`, key)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(charged(answer), 1)
    const { json } = answer
    assert.deepEqual(Object.keys(json), [
      'network',
      'priority',
      'normal',
      'low',
      'experimental',
      'credits_used',
      'guidance',
    ])
    assert.equal(json.network, 'testnet-10')
    assert.equal(json.experimental, experimental)
    assert.equal(json.credits_used, 1)
    for (const bucket of [json.priority, ...(json.normal as object[]), ...(json.low as object[])]) {
      const { feerate, estimated_seconds } = bucket as Record<string, number>
      assert.ok((feerate ?? 0) >= 100 && (estimated_seconds ?? -1) >= 0)
    }
  }
  const preview = await chain.get('/v1/fees/estimate?dry_run=true', key)
  assert.equal(preview.json.credits, 1)
})

test('other content types are refused, and a large answer arrives whole, plain and compressed', async () => {
  const plain = await chain.post('{}', key, { 'Content-Type': 'text/plain' })
  assertError(plain, 415, 'unsupported_media_type')
  for (const node of chain.nodes) node.setFaults({ hugeBlocksBytes: 3_000_000 })
  const { pruningPointHash } = await result('getBlockDagInfo')
  const body = exactText({
    jsonrpc: '2.0',
    id: 9,
    method: 'getBlocks',
    params: { lowHash: pruningPointHash, includeBlocks: true, includeTransactions: true },
  })
  for (const encoding of ['identity', 'gzip', 'br']) {
    const answer = await chain.post(body, key, { 'Accept-Encoding': encoding })
    assert.ok(answer.text.length > 3_000_000)
    assert.ok((answer.json as unknown as RpcReply).result, encoding)
    assert.equal(charged(answer), 5)
  }
  for (const node of chain.nodes) node.setFaults({ hugeBlocksBytes: 0 })
})
