/**
 * The real Rust client (its WASM build, JSON encoding) against the simulated node. Its types prove that answers and
 * notifications have the right form. The client is older than the simulated node: it knows neither version 1
 * transactions nor the later methods, which are checked elsewhere.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import type * as Sdk from 'kaspa-wasm32-sdk'
import { WebSocket } from 'ws'
import { until } from '../../test/until.ts'
import { type RunningSandboxNode, startSandboxNode } from './run.ts'

const nativeWebSocket = globalThis.WebSocket
Object.assign(globalThis, { WebSocket })
const sdk = createRequire(import.meta.url)('kaspa-wasm32-sdk') as typeof Sdk

const KEY = 'b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfef'
const ADDRESS = new sdk.PrivateKey(KEY).toAddress('testnet-10').toString()
const COIN = 5_000_000_000n

/** Members of the client that do not call a node. */
const LOCAL =
  'constructor toJSON toString __destroy_into_raw free url resolver setResolver setNetworkId isConnected encoding nodeId connect disconnect start stop triggerAbort addEventListener removeEventListener clearEventListener removeAllEventListeners'.split(
    ' ',
  )
/** Methods that were called on a node other than the common one. */
const elsewhere = new Set<string>()

let node: RunningSandboxNode
let rpc: Sdk.RpcClient

before(async () => {
  const fund = Array.from({ length: 5 }, () => ({ address: ADDRESS, amount: COIN }))
  node = await startSandboxNode({
    seed: 11,
    fund,
    reorgsPerMinute: 30,
    transactionsPerSecond: 20,
    dwellBlocks: 5,
  })
  rpc = new sdk.RpcClient({ url: node.url, encoding: sdk.Encoding.SerdeJson, networkId: 'testnet-10' })
  await rpc.connect({ strategy: sdk.ConnectStrategy.Fallback, blockAsyncConnect: true })
})

after(async () => {
  await rpc.disconnect()
  await node.close()
  Object.assign(globalThis, { WebSocket: nativeWebSocket })
})

/** A signed payment from one of the funded coins; the client still assumes the old, lower relay fee. */
async function payment(skip: number, fee: bigint): Promise<Sdk.Transaction> {
  const { entries } = await rpc.getUtxosByAddresses([ADDRESS])
  const coins = entries.filter((entry) => entry.amount === COIN)
  const coin = coins[skip]
  assert.ok(coin)
  const half = (COIN - fee) / 2n
  const outputs = [
    { address: ADDRESS, amount: half },
    { address: ADDRESS, amount: COIN - fee - half },
  ]
  return sdk.signTransaction(
    sdk.createTransaction([coin as unknown as Sdk.IUtxoEntry], outputs, 0n, undefined, 1),
    [KEY],
    true,
  )
}

test('every method of the client that a node serves is answered and parsed', async () => {
  const { sink, pruningPointHash } = await rpc.getBlockDagInfo()
  const answers = {
    ping: await rpc.ping(),
    info: await rpc.getInfo(),
    server: await rpc.getServerInfo(),
    sync: await rpc.getSyncStatus(),
    network: await rpc.getCurrentNetwork({} as never),
    connections: await rpc.getConnections({ includeProfileData: true } as never),
    metrics: await rpc.getMetrics({
      processMetrics: true,
      connectionMetrics: true,
      bandwidthMetrics: true,
      consensusMetrics: true,
      storageMetrics: true,
      customMetrics: true,
    } as never),
    peers: await rpc.getPeerAddresses(),
    connected: await rpc.getConnectedPeerInfo(),
    sink: await rpc.getSink(),
    blueScore: await rpc.getSinkBlueScore(),
    count: await rpc.getBlockCount(),
    balance: await rpc.getBalanceByAddress({ address: ADDRESS }),
    balances: await rpc.getBalancesByAddresses([ADDRESS]),
    utxos: await rpc.getUtxosByAddresses([ADDRESS]),
    fees: await rpc.getFeeEstimate({} as never),
    feesVerbose: await rpc.getFeeEstimateExperimental({ verbose: true }),
    supply: await rpc.getCoinSupply(),
    times: await rpc.getDaaScoreTimestampEstimate({ daaScores: [500_000_000n, 500_000_100n] } as never),
    hashes: await rpc.estimateNetworkHashesPerSecond({ windowSize: 1000 } as never),
    block: await rpc.getBlock({ hash: sink, includeTransactions: true }),
    blocks: await rpc.getBlocks({
      lowHash: pruningPointHash,
      includeBlocks: true,
      includeTransactions: true,
    }),
    chain: await rpc.getVirtualChainFromBlock({
      startHash: pruningPointHash,
      includeAcceptedTransactionIds: true,
    }),
    template: await rpc.getBlockTemplate({ payAddress: ADDRESS, extraData: 'tape' }),
    pool: await rpc.getMempoolEntries({ includeOrphanPool: true, filterTransactionPool: false } as never),
    poolOf: await rpc.getMempoolEntriesByAddresses({
      addresses: [ADDRESS],
      includeOrphanPool: true,
      filterTransactionPool: false,
    } as never),
  }
  assert.equal(answers.balance.balance, 5n * COIN)
  assert.equal(answers.utxos.entries.length, 5)
  assert.equal(answers.supply.maxSompi, 2_900_000_000_000_000_000n)
  assert.ok(answers.supply.circulatingSompi > 2n ** 53n)
  assert.ok(answers.hashes.networkHashesPerSecond > 2n ** 53n)
  assert.ok(answers.chain.addedChainBlockHashes.length > 100)
  assert.ok(answers.blocks.blocks.length > 100)
  const merged = await rpc.getCurrentBlockColor({ hash: pruningPointHash } as never)
  assert.equal(merged.blue, true)
})

test('methods that a safe node refuses are refused with its texts', async () => {
  await assert.rejects(() => rpc.getSubnetwork({ subnetworkId: '00'.repeat(20) } as never), /Not implemented/)
  await assert.rejects(
    () => rpc.getHeaders({ startHash: '00'.repeat(32), limit: 1n, isAscending: true } as never),
    /Not implemented/,
  )
  for (const call of [
    () => rpc.shutdown(),
    () => rpc.ban({ ip: '1.2.3.4' } as never),
    () => rpc.unban({ ip: '1.2.3.4' } as never),
    () => rpc.addPeer({ peerAddress: { ip: '1.2.3.4', port: 1 }, isPermanent: false } as never),
    () => rpc.resolveFinalityConflict({ finalityBlockHash: '00'.repeat(32) } as never),
  ]) {
    await assert.rejects(call, /Method unavailable in safe mode/)
  }
})

test('a transaction built and signed with the client is accepted, mined and confirmed', async () => {
  const tx = await payment(0, 300_000n)
  const { transactionId } = await rpc.submitTransaction({ transaction: tx, allowOrphan: false })
  assert.equal(transactionId, tx.id)
  await assert.rejects(
    () => rpc.submitTransaction({ transaction: tx }),
    /is already in the mempool|already accepted/,
  )
  await until('acceptance', () => node.truth.transaction(transactionId) !== undefined)
  const { balance } = await rpc.getBalanceByAddress({ address: ADDRESS })
  assert.equal(balance, 5n * COIN - 300_000n)
  await assert.rejects(
    () => rpc.submitTransaction({ transaction: tx }),
    /was already accepted by the consensus/,
  )
})

test('a replacement with a higher fee takes the place of the first, which is named', async () => {
  await node.setDwell(1000)
  const first = await payment(0, 210_000n)
  await rpc.submitTransaction({ transaction: first })
  const second = await payment(0, 250_000n)
  await assert.rejects(
    () => rpc.submitTransaction({ transaction: second }),
    new RegExp(`already spent by transaction ${first.id} in the mempool`),
  )
  const answer = await rpc.submitTransactionReplacement({ transaction: second })
  assert.equal(String(answer.transactionId), second.id)
  const cheaper = await payment(0, 220_000n)
  await assert.rejects(
    () => rpc.submitTransactionReplacement({ transaction: cheaper }),
    /fee rate per contextual mass gram/,
  )
  await assert.rejects(
    () =>
      rpc.getMempoolEntry({
        transactionId: first.id,
        includeOrphanPool: true,
        filterTransactionPool: false,
      } as never),
    new RegExp(`Transaction ${first.id} not found`),
  )
  const entry = await rpc.getMempoolEntry({
    transactionId: second.id,
    includeOrphanPool: true,
    filterTransactionPool: false,
  } as never)
  assert.equal((entry.mempoolEntry as unknown as { fee: bigint }).fee, 250_000n)
  await node.setDwell(5)
  await until('acceptance of the replacement', () => node.truth.transaction(second.id) !== undefined)
})

test('the fee that the client would pay by itself is refused with the required amount', async () => {
  const tx = await payment(0, 10_001n)
  await assert.rejects(
    () => rpc.submitTransaction({ transaction: tx }),
    /is not standard: transaction has 10001 fees which is under the required amount of 203600 for compute mass 2036/,
  )
})

/** The template must have no version 1 transactions, because this client would lose their new members. */
test('a block from the template is accepted by submitBlock', async () => {
  const quiet = await startSandboxNode({ seed: 12, transactionsPerSecond: 0, reorgsPerMinute: 0 })
  const client = new sdk.RpcClient({
    url: quiet.url,
    encoding: sdk.Encoding.SerdeJson,
    networkId: 'testnet-10',
  })
  await client.connect({ strategy: sdk.ConnectStrategy.Fallback, blockAsyncConnect: true })
  try {
    const { block } = await client.getBlockTemplate({ payAddress: ADDRESS, extraData: 'mine' })
    const { report } = await client.submitBlock({ block, allowNonDAABlocks: false } as never)
    assert.deepEqual(report, { type: 'success' })
    await until('the reward of the mined block', () => quiet.truth.address(ADDRESS).balance > 0n)
    const wrong = { ...block, header: { ...block.header, hashMerkleRoot: '00'.repeat(32) } }
    const refused = await client.submitBlock({ block: wrong, allowNonDAABlocks: false } as never)
    assert.deepEqual(refused.report, { type: 'reject', reason: 'blockInvalid' })
    for (const method of Object.keys(quiet.log.counts())) elsewhere.add(method)
  } finally {
    await client.disconnect()
    await quiet.close()
  }
})

test('every notification arrives', async () => {
  const seen = new Map<string, number>()
  rpc.addEventListener((event) => {
    const { type } = event as unknown as { type: string }
    seen.set(type, (seen.get(type) ?? 0) + 1)
  })
  await rpc.subscribeBlockAdded()
  await rpc.subscribeVirtualChainChanged(true)
  await rpc.subscribeVirtualDaaScoreChanged()
  await rpc.subscribeSinkBlueScoreChanged()
  await rpc.subscribeNewBlockTemplate()
  await rpc.subscribeFinalityConflict()
  await rpc.subscribeFinalityConflictResolved()
  await rpc.subscribePruningPointUtxoSetOverride()
  await rpc.subscribeUtxosChanged([ADDRESS])
  const expected = [
    'block-added',
    'virtual-chain-changed',
    'virtual-daa-score-changed',
    'sink-blue-score-changed',
    'new-block-template',
    'finality-conflict',
    'finality-conflict-resolved',
    'pruning-point-utxo-set-override',
    'utxos-changed',
  ]
  await until('nine subscriptions', () => node.log.counts().subscribe === 9)
  node.publish('conflict', '11'.repeat(32))
  node.publish('conflict_resolved', '22'.repeat(32))
  node.publish('utxo_set_override', '')
  await node.pay(ADDRESS, 700_000_000n)
  await until(`all of ${expected}; seen ${[...seen.keys()]}`, () => expected.every((type) => seen.has(type)))
  await rpc.unsubscribeBlockAdded()
  await until('the unsubscription', () => node.log.counts().unsubscribe === 1)
  await rpc.ping()
  const before = seen.get('block-added')
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.equal(seen.get('block-added'), before)
  await rpc.unsubscribeVirtualChainChanged(true)
  await rpc.unsubscribeVirtualDaaScoreChanged()
  await rpc.unsubscribeSinkBlueScoreChanged()
  await rpc.unsubscribeNewBlockTemplate()
  await rpc.unsubscribeFinalityConflict()
  await rpc.unsubscribeFinalityConflictResolved()
  await rpc.unsubscribePruningPointUtxoSetOverride()
  await rpc.unsubscribeUtxosChanged([ADDRESS])
  await until('nine unsubscriptions', () => node.log.counts().unsubscribe === 9)
})

test('no method of the client was left out', () => {
  const called = new Set([...Object.keys(node.log.counts()), ...elsewhere])
  const methods = Object.getOwnPropertyNames(sdk.RpcClient.prototype).filter(
    (name) => !LOCAL.includes(name) && !/^(un)?subscribe/.test(name),
  )
  assert.equal(methods.length, 39)
  assert.deepEqual(
    methods.filter((name) => !called.has(name)),
    [],
  )
})
