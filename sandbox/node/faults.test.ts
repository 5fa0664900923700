/** Each fault over a real socket, switched through the API or the control port while the other node stays healthy. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PlainClient, plainClient } from '../../test/fakes/plain-node-client.ts'
import { until } from '../../test/until.ts'
import type { RunningSandboxChain, RunningSandboxNode } from './run.ts'
import { startSandboxChain, startSandboxNode } from './run.ts'

let chain: RunningSandboxChain
let sick: RunningSandboxNode
let well: RunningSandboxNode
let client: PlainClient

before(async () => {
  chain = await startSandboxChain({ seed: 41, transactionsPerSecond: 2, warmUpBlocks: 1100 })
  sick = await startSandboxNode({ name: 'sick', chain })
  well = await startSandboxNode({ name: 'well', chain })
  client = await plainClient(sick.url)
})

after(async () => {
  client.close()
  await sick.close()
  await well.close()
  await chain.close()
})

const control = async (path: string, init: { method?: string; body?: unknown } = {}) => {
  const { method = 'GET', body } = init
  const response = await fetch(`${sick.controlUrl}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

test('both nodes on one chain know the same sink and relay a submitted payment', async () => {
  const [wallet] = well.wallets()
  assert.ok(wallet)
  const id = await sick.pay(wallet.address, 500_000_000n)
  assert.ok(id)
  await until(
    'acceptance on both',
    () => well.truth.transaction(id) !== undefined && sick.truth.transaction(id) !== undefined,
  )
  await until('the same sink', () => sick.truth.sink() === well.truth.sink())
})

test('hang: requests are taken and not answered; afterwards the answers come', async () => {
  assert.equal((await control('/faults', { method: 'POST', body: { hang: true } })).status, 200)
  let answered = false
  const answer = client.call('ping').then(() => {
    answered = true
  })
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.equal(answered, false)
  const other = await plainClient(well.url)
  await other.call('ping')
  other.close()
  await control('/faults', { method: 'DELETE' })
  await answer
})

test('lag: the node goes back and stays that far behind; afterwards it catches up', async () => {
  const head = await virtualDaa(client)
  await control('/faults', { method: 'POST', body: { lagDaa: 1000 } })
  const behind = await virtualDaa(client)
  assert.ok(head - behind >= 990, `${head - behind} behind`)
  await new Promise((resolve) => setTimeout(resolve, 500))
  const daaOfWell = () => Number(well.status().virtualDaaScore)
  // The chain grows while the node is being asked.
  const [before, later, now] = [daaOfWell(), await virtualDaa(client), daaOfWell()]
  assert.ok(now - later >= 995 && before - later <= 1010, `${before - later} to ${now - later} behind`)
  assert.ok(later > behind, 'it still follows')
  sick.setFaults({ lagDaa: 0 })
  assert.ok((await virtualDaa(client)) >= now)
  await until('the same sink again', () => sick.truth.sink() === well.truth.sink())
})

const virtualDaa = async (from: PlainClient) => Number((await from.call('getServerInfo')).virtualDaaScore)

test('it can claim to be synced or not, be in the middle of a sync, and be on another network', async () => {
  sick.setFaults({ claimSynced: false })
  assert.equal((await client.call('getServerInfo')).isSynced, false)
  assert.equal((await client.call('getSyncStatus')).isSynced, false)
  sick.setFaults({ claimSynced: true, transitional: true })
  assert.equal((await client.call('getServerInfo')).isSynced, true)
  const address = well.wallets()[0]?.address
  const refused = await client.ask('getBalanceByAddress', { address })
  assert.equal(refused.error?.message, 'consensus is currently in a transitional ibd state')
  sick.setFaults({ claimSynced: null, transitional: false, network: 'mainnet' })
  assert.equal((await client.call('getServerInfo')).networkId, 'mainnet')
  const { block } = (await client.call('getBlock', {
    hash: sick.truth.sink(),
    includeTransactions: true,
  })) as {
    block: { transactions: { outputs: { verboseData: { scriptPublicKeyAddress: string } }[] }[] }
  }
  assert.match(block.transactions[0]?.outputs[0]?.verboseData.scriptPublicKeyAddress ?? '', /^kaspa:/)
  sick.setFaults({ network: null })
})

test('without an index whatever needs it is refused, and address notifications never come', async () => {
  sick.setFaults({ utxoIndex: false })
  assert.equal((await client.call('getInfo')).isUtxoIndexed, false)
  const text = 'Method unavailable. Run the node with the --utxoindex argument.'
  const address = well.wallets()[0]?.address
  assert.equal((await client.ask('getBalanceByAddress', { address })).error?.message, text)
  assert.equal((await client.ask('getUtxosByAddresses', { addresses: [address] })).error?.message, text)
  assert.equal((await client.ask('getCoinSupply')).error?.message, text)
  await client.call('subscribe', { UtxosChanged: { addresses: [] } })
  client.frames.length = 0
  await new Promise((resolve) => setTimeout(resolve, 400))
  assert.equal(client.frames.filter((frame) => frame.includes('utxosChanged')).length, 0)
  sick.setFaults({ utxoIndex: true })
  await until('changes again', () =>
    client.frames.some((frame) => frame.includes('utxosChangedNotification')),
  )
  await client.call('unsubscribe', { UtxosChanged: { addresses: [] } })
})

test('it can refuse everything', async () => {
  sick.setFaults({ refuse: 'out of order' })
  assert.equal((await client.ask('ping')).error?.message, 'out of order')
  sick.setFaults({ refuse: null })
})

test('a huge answer is valid JSON of the wanted size', async () => {
  sick.setFaults({ hugeBlocksBytes: 8_000_000 })
  const low = well.truth.chain().at(-20)?.hash
  const answer = (await client.call('getBlocks', {
    lowHash: low,
    includeBlocks: true,
    includeTransactions: true,
  })) as {
    blocks: unknown[]
  }
  assert.ok((client.frames.at(-1)?.length ?? 0) >= 8_000_000)
  assert.ok(answer.blocks.length > 100)
  sick.setFaults({ hugeBlocksBytes: 0 })
})

test('a deep reorganisation on command is sent to subscribers, removed blocks from the tip backwards', async () => {
  await client.call('subscribe', { VirtualChainChanged: { include_accepted_transaction_ids: true } })
  client.frames.length = 0
  await control('/reorganize', { method: 'POST', body: { depth: 25, doubleSpend: true } })
  interface Change {
    params: {
      VirtualChainChanged: {
        removedChainBlockHashes: string[]
        acceptedTransactionIds: unknown[]
        addedChainBlockHashes: string[]
      }
    }
  }
  const deep = () =>
    client.frames
      .map((frame) => (JSON.parse(frame) as Change).params?.VirtualChainChanged)
      .find((change) => (change?.removedChainBlockHashes.length ?? 0) >= 25)
  await until('the reorganisation', () => deep() !== undefined)
  const change = deep()
  assert.equal(change?.acceptedTransactionIds.length, change?.addedChainBlockHashes.length)
  const [tip, next] = change?.removedChainBlockHashes ?? []
  const { block } = (await client.call('getBlock', { hash: tip, includeTransactions: false })) as {
    block: { verboseData: { selectedParentHash: string; isChainBlock: boolean } }
  }
  assert.equal(block.verboseData.selectedParentHash, next)
  assert.equal(block.verboseData.isChainBlock, false)
  await client.call('unsubscribe', { VirtualChainChanged: { include_accepted_transaction_ids: true } })
})

test('control: status, wallets, truth, log, and refusal of what it does not know', async () => {
  const status = await control('/status')
  assert.equal(status.body.name, 'sick')
  const user = sick.wallets()[3]
  const truth = await control(`/truth/address/${user?.address}`)
  assert.match(String(truth.body.balance), /^\d+$/)
  assert.equal((await control('/truth/address/kaspa:nonsense')).status, 400)
  assert.equal((await control('/faults', { method: 'POST', body: { hang: 'yes' } })).status, 400)
  assert.equal((await control('/faults', { method: 'POST', body: { unknown: 1 } })).status, 400)
  assert.equal((await control('/nothing')).status, 404)
  assert.equal((await control('/truth/address/%ZZ')).status, 400)
  assert.equal(
    (await control('/pay', { method: 'POST', body: { address: user?.address, amount: '1000' } })).status,
    400,
  )
  assert.ok(Number(Object((await control('/log')).body.counts).getServerInfo) > 0)
})

test('the truth about an address adds up', () => {
  for (const { address } of sick.wallets().slice(1, 6)) {
    const { balance, utxos } = sick.truth.address(address)
    assert.equal(
      utxos.reduce((sum, utxo) => sum + utxo.amount, 0n),
      balance,
    )
  }
})

test('die: its sockets are cut and nothing listens any more, the other node goes on', async () => {
  await control('/die', { method: 'POST' })
  await client.closed
  await assert.rejects(() => plainClient(sick.url))
  const other = await plainClient(well.url)
  const daa = await virtualDaa(other)
  await until('blocks on the other node', async () => (await virtualDaa(other)) > daa + 3)
  other.close()
})
