/** The tools of the chain over a running node, with the official client over both transports. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { DEFAULT_MIX } from '../../sandbox/node/traffic/traffic.ts'
import { type ChainService, startChainService } from '../fakes/chain-service.ts'
import { covenantsAbove } from '../fakes/covenant-truth.ts'
import { until } from '../until.ts'
import { callTool, connectHttp, connectStdio } from './mcp-client.ts'
import { answersOf, chainCalls, MARKET_CALLS, type OnChain, uncalledTools } from './tool-calls.ts'

let chain: ChainService
let http: Client
let key: string
let calls: ReturnType<typeof chainCalls>
let address: string
before(async () => {
  chain = await startChainService({ nodes: 1, chain: { mix: { ...DEFAULT_MIX, covenant_genesis: 20 } } })
  key = await chain.key()
  http = await connectHttp(chain.service.url, { 'X-API-Key': key }, '2025')
  const found = await onChain()
  address = found.address
  calls = chainCalls(found)
})
after(async () => {
  await http.close()
  await chain.stop()
})

/** An address with two confirmed transactions, and a covenant; both in the index, which began after the chain. */
async function onChain(): Promise<OnChain> {
  const owner = chain.nodes[0]?.wallets().find(({ name }) => name !== 'faucet')?.address ?? ''
  let txId: string | undefined
  const hasHistory = async () => {
    const { json } = await chain.get(`/v1/addresses/${owner}/transactions`, key)
    const items = (json.items ?? []) as { tx_id: string; status: string }[]
    const confirmed = items.filter(({ status }) => status === 'confirmed')
    txId = confirmed[0]?.tx_id
    return confirmed.length >= 2
  }
  await until('two confirmed transactions of an address', hasHistory, 180_000, 100)
  let covenantId: string | undefined
  const hasCovenant = async () => {
    covenantId = [...covenantsAbove(chain.chain, 0).keys()].at(-1)
    return covenantId !== undefined && (await chain.get(`/v1/covenants/${covenantId}`, key)).status === 200
  }
  await until('a covenant', hasCovenant, 180_000, 100)
  assert.ok(txId !== undefined && covenantId !== undefined)
  return { address: owner, txId, covenantId }
}

test('each tool, with good, bad and expensive arguments: the same over both transports', async () => {
  const { tools } = await http.listTools()
  const names = tools.map(({ name }) => name)
  assert.deepEqual(uncalledTools(names, [...MARKET_CALLS, ...calls]), [], 'every tool in every way')
  const part = tools.find(({ name }) => name === 'lookup_address')?.inputSchema.properties?.part
  const parts = (part as { enum: string[] }).enum
  assert.deepEqual(parts.toSorted(), ['activity', 'balance', 'covenants', 'transactions', 'utxos'])

  const { accounts } = chain.service.parts
  const { key: own, record } = await accounts.createKey({
    ...{ accountId: await chain.service.account(), environment: 'live', name: 'a key' },
  })
  const stdio = await connectStdio(chain.service.url, own, { revision: '2025', like: http })
  try {
    assert.deepEqual((await stdio.listTools()).tools, tools)
    const answers = await answersOf(http, calls)
    // The chain goes on, so its rows differ: what is refused, and in which form it answers, does not.
    for (const [n, { json, text }] of (await answersOf(stdio, calls)).entries())
      assert.deepEqual(Object.keys(json), Object.keys(answers[n]?.json ?? {}), text)
    await accounts.revokeKey(record.id)
    const isRefused = async () => (await chain.get('/v1/limits', own)).status === 401
    await until('the key is refused', isRefused)
    assert.equal((await callTool(stdio, 'explain_cost')).json.error, 'unauthorized')
  } finally {
    await stdio.close()
  }
})

test('a page of an address leads to the next one by its cursor', async () => {
  const args = { part: 'transactions', address, limit: 1 }
  const first = await callTool(http, 'lookup_address', args)
  assert.equal(first.price.credits_charged, 11)
  const { rest } = first.json as { rest: { add: { cursor: string } } }
  const next = await callTool(http, 'lookup_address', { ...args, ...rest.add })
  assert.equal(next.isError, false, next.text)
  assert.notEqual(JSON.stringify(next.json.rows), JSON.stringify(first.json.rows))
})

test('fees and node: three reads, two of them JSON-RPC', async () => {
  const answer = await callTool(http, 'get_chain_status')
  const { fees, node } = answer.json as { fees: { network: string }; node: Record<string, object> }
  assert.equal(fees.network, 'testnet-10', answer.text)
  assert.match(JSON.stringify(node.getServerInfo), /testnet-10/)
  assert.match(JSON.stringify(node.getBlockDagInfo), /virtualDaaScore/i)
  assert.equal(answer.price.credits_charged, 3)
})

test('what the plan does not include is said, with the plan that does', async () => {
  const free = await connectHttp(chain.service.url, { 'X-API-Key': await chain.key({ plan: 'free' }) })
  const refused = await callTool(free, 'lookup_address', { address })
  assert.equal(refused.json.error, 'tier_restricted')
  assert.ok(refused.json.required_tier)
  await free.close()
})
