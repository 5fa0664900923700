/** The chain tools over a running node: good answers, prices, and what the node cannot answer. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { type ChainService, startChainService } from '../fakes/chain-service.ts'
import { until } from '../until.ts'
import { callTool, connectHttp } from './mcp-client.ts'

let chain: ChainService
let client: Client
let key: string
let address: string
let txId: string
before(async () => {
  chain = await startChainService({ nodes: 1 })
  key = await chain.key()
  client = await connectHttp(chain.service.url, { 'X-API-Key': key })
  address = chain.nodes[0]?.wallets().find(({ name }) => name !== 'faucet')?.address ?? ''
  await until(
    'two confirmed transactions of the address',
    async () => {
      const { json } = await chain.get(`/v1/addresses/${address}/transactions`, key)
      const items = (json.items ?? []) as { tx_id: string; status: string }[]
      const confirmed = items.filter(({ status }) => status === 'confirmed')
      txId = confirmed[0]?.tx_id ?? ''
      return confirmed.length >= 2
    },
    30_000,
  )
})
after(async () => {
  await client.close()
  await chain.stop()
})

test('a transaction and every part of an address are what the endpoints answer, at their price', async () => {
  const found = await callTool(client, 'lookup_transaction', { tx_id: txId })
  assert.equal((found.json.answer as { tx_id: string }).tx_id, txId, found.text)
  assert.equal(found.price.credits_charged, 10)
  const { tools } = await client.listTools()
  const part = tools.find(({ name }) => name === 'lookup_address')?.inputSchema.properties?.part
  const parts = (part as { enum: string[] }).enum
  assert.deepEqual(parts.toSorted(), ['activity', 'balance', 'covenants', 'transactions', 'utxos'])
  for (const each of parts) {
    const answer = await callTool(client, 'lookup_address', { part: each, address })
    assert.equal(answer.isError, false, answer.text)
    assert.ok(answer.text.includes(address), each)
    assert.ok(answer.text.length <= 20_000)
    assert.ok(answer.price.credits_charged >= 10, each)
  }
})

test('a page of an address leads to the next one by its cursor', async () => {
  const args = { part: 'transactions', address, limit: 1 }
  const first = await callTool(client, 'lookup_address', args)
  assert.equal(first.price.credits_charged, 11)
  const { rest } = first.json as { rest: { add: { cursor: string } } }
  const next = await callTool(client, 'lookup_address', { ...args, ...rest.add })
  assert.equal(next.isError, false, next.text)
  assert.notEqual(JSON.stringify(next.json.rows), JSON.stringify(first.json.rows))
})

test('fees and node: three reads, two of them JSON-RPC', async () => {
  const answer = await callTool(client, 'get_chain_status')
  const { fees, node } = answer.json as { fees: { network: string }; node: Record<string, object> }
  assert.equal(fees.network, 'testnet-10', answer.text)
  assert.match(JSON.stringify(node.getServerInfo), /testnet-10/)
  assert.match(JSON.stringify(node.getBlockDagInfo), /virtualDaaScore/i)
  assert.equal(answer.price.credits_charged, 3)
})

test('what is not there or not allowed is said, with what to change', async () => {
  for (const [name, args, words] of [
    ['lookup_transaction', { tx_id: 'ab'.repeat(32) }, /Check the transaction id/],
    ['lookup_transaction', { tx_id: '..' }, /tx_id/],
    ['lookup_address', { address: 'kaspa:nonsense' }, /address/],
    ['lookup_address', { address, part: 'owner' }, /Use one of: transactions/],
    ['lookup_covenant', { covenant_id: 'cd'.repeat(32) }, /covenant/],
  ] as const) {
    const answer = await callTool(client, name, args)
    assert.equal(answer.isError, true, answer.text)
    assert.match(answer.text, words)
  }
  const free = await connectHttp(chain.service.url, { 'X-API-Key': await chain.key({ plan: 'free' }) })
  const refused = await callTool(free, 'lookup_address', { address })
  assert.equal(refused.json.error, 'tier_restricted')
  assert.ok(refused.json.required_tier)
  await free.close()
})
