/** A node that lost the chain for a while catches up again, and newer wire features work end to end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainClient, stringify } from '../../test/fakes/plain-node-client.ts'
import { until } from '../../test/until.ts'
import { Chain } from './chain.ts'
import { type ChainMessage, localConnection, startOf } from './chain-connection.ts'
import { type ChainOptions, chainOptions } from './chain-options.ts'
import { payToScriptHash } from './consensus/address.ts'
import { buildBlock } from './consensus/build-block.ts'
import { blockOf, genesisCovenantId } from './consensus/hashing.ts'
import { outpointKey, parseOutpointKey, type Tx } from './consensus/model.ts'
import { NO_FAULTS } from './faults.ts'
import { SandboxNode } from './node.ts'
import { createWire } from './rpc/wire.ts'
import { startSandboxChain, startSandboxNode } from './run.ts'
import { vaultCovenant } from './traffic/programs.ts'
import { type Coin, pay, sign } from './traffic/wallet.ts'

const NOW = 1_760_000_000_000

function followed(given: Partial<ChainOptions>) {
  const chain = new Chain(
    chainOptions({ seed: 61, startTimeMs: NOW, warmUpBlocks: 30, reorgsPerMinute: 20, ...given }, NOW),
  )
  const node = new SandboxNode({
    id: 'node',
    connection: localConnection(chain),
    options: chain.options,
    start: startOf(chain),
    faults: () => NO_FAULTS,
    nowMs: () => NOW,
  })
  const events: string[] = []
  node.on((event) => void events.push(event.kind))
  return { chain, node, events }
}

test('after a short loss of the chain a node applies what it missed and publishes it', () => {
  const { chain, node, events } = followed({})
  let missed = 0
  chain.on((event) => {
    if (event.kind === 'block') missed += 1
  })
  for (let i = 0; i < 50; i++) chain.step()
  node.receive({ kind: 'start', start: startOf(chain) })
  assert.equal(node.ledger.sink.header.hash, chain.ledger.sink.header.hash)
  assert.equal(events.filter((kind) => kind === 'update').length, missed)
  assert.ok(missed >= 49)
})

test('after a loss longer than what is kept it starts from scratch and publishes that the outputs were replaced', () => {
  const { chain, node, events } = followed({ keepBlocks: 50, transactionsPerSecond: 1 })
  for (let i = 0; i < 800; i++) chain.step()
  node.receive({ kind: 'start', start: startOf(chain) })
  assert.equal(node.ledger.sink.header.hash, chain.ledger.sink.header.hash)
  assert.deepEqual(events, ['utxo_set_override'])
  const follow: ChainMessage[] = []
  chain.on((event) => void follow.push(event))
  chain.step()
  for (const event of follow) node.receive(event)
  assert.equal(node.ledger.sink.header.hash, chain.ledger.sink.header.hash)
})

test('a version 1 covenant and a sequence of 2^64-1 survive submission and come back exactly', async (t) => {
  const chain = await startSandboxChain({
    seed: 62,
    transactionsPerSecond: 0,
    warmUpBlocks: 20,
    dwellBlocks: 1000,
  })
  const node = await startSandboxNode({ chain })
  const client = await plainClient(node.url)
  t.after(async () => {
    client.close()
    await node.close()
    await chain.close()
  })
  const [user] = chain.chain.users
  assert.ok(user)
  const coins: Coin[] = [...chain.chain.ledger.utxos.ofScript(user.script)]
    .slice(0, 2)
    .map(([key, entry]) => ({ key, entry, owner: user }))
  const [first, second] = coins
  assert.ok(first && second)
  const output = {
    value: 1_000_000_000n,
    scriptPublicKey: payToScriptHash(vaultCovenant(user.key.publicKey)),
    covenant: null,
  }
  const covenantId = genesisCovenantId(parseOutpointKey(first.key), [{ index: 0, output }])
  const born = pay({
    version: 1,
    coins: [first],
    outputs: [{ ...output, covenant: { authorizingInput: 0, covenantId } }],
    change: user.script,
    feerate: 100,
  })
  const plain = pay({ version: 0, coins: [second], outputs: [], change: user.script, feerate: 100 })
  assert.ok(born && plain)
  const inputs = plain.inputs.map((input) => ({ ...input, sequence: 0xffffffffffffffffn }))
  const final = sign({ ...plain, inputs }, [second])
  const wire = createWire('kaspatest')
  const submit = async (tx: Tx) =>
    client.call('submitTransaction', {
      transaction: JSON.parse(JSON.stringify(wire.transaction(tx, undefined))),
      allowOrphan: true,
    })
  assert.equal((await submit(born)).transactionId, born.id)
  client.send(
    `{"id":77,"method":"submitTransaction","params":{"allowOrphan":false,"transaction":${JSON.stringify(wire.transaction(final, undefined))}}}`,
  )
  await until('the answer', () => client.frames.some((frame) => frame.startsWith('{"id":77,')))
  assert.equal(
    client.frames.at(-1),
    `{"id":77,"method":"submitTransaction","params":{"transactionId":"${final.id}"}}`,
  )
  const query = { transactionId: final.id, includeOrphanPool: false, filterTransactionPool: false }
  await client.call('getMempoolEntry', query)
  assert.match(client.frames.at(-1) ?? '', /"sequence":18446744073709551615,/)
  await client.call('getMempoolEntry', { ...query, transactionId: born.id })
  assert.ok(client.frames.at(-1)?.includes(stringify({ authorizingInput: 0, covenantId })))
  const address = node.truth.address(wire.addressOf(user.script) ?? '').address
  const { entries } = (await client.call('getMempoolEntriesByAddresses', {
    addresses: [address, address],
    includeOrphanPool: true,
    filterTransactionPool: false,
  })) as { entries: { sending: unknown[]; receiving: unknown[] }[] }
  assert.deepEqual([entries.length, entries[0]?.sending.length, entries[0]?.receiving.length], [1, 2, 2])
  await node.setDwell(0)
  await until('acceptance', () => node.truth.transaction(born.id) !== undefined)
  const { utxos } = node.truth.address(wire.addressOf(output.scriptPublicKey) ?? '')
  assert.equal(utxos[0]?.covenantId, covenantId)
})

test('the methods that the older client does not know answer with the members of the interface', async (t) => {
  const node = await startSandboxNode({
    seed: 63,
    transactionsPerSecond: 20,
    lateRate: 0.05,
    warmUpBlocks: 150,
  })
  const client = await plainClient(node.url)
  t.after(async () => {
    client.close()
    await node.close()
  })
  const chain = node.truth.chain()
  const [, second] = chain
  assert.ok(second)
  const members = async (method: string, params: unknown) =>
    Object.keys(await client.call(method, params)).join()
  assert.equal(
    await members('getSystemInfo', {}),
    'version,systemId,gitHash,cpuPhysicalCores,totalMemory,fdLimit,proxySocketLimitPerCpuCore',
  )
  assert.equal(
    await members('getSeqCommitLaneProof', { blockHash: second.hash, laneKey: '00'.repeat(32) }),
    'smtProof,lane,payloadAndCtxDigest,parentSeqCommit,inactivityShortcut',
  )
  const reward = await client.call('getBlockRewardInfo', { hash: second.hash })
  assert.equal(
    Object.keys(reward).join(),
    'header,blockColor,confirmationCount,mergingChainBlockHash,rewardAmount',
  )
  assert.equal(reward.blockColor, 'blue')
  assert.equal(reward.mergingChainBlockHash, chain[2]?.hash)
  assert.ok(Number(reward.rewardAmount) >= 300_000_000)
  const sink = await client.call('getBlockRewardInfo', { hash: node.truth.sink() })
  assert.equal(sink.blockColor === 'unknown' || sink.blockColor === 'blue', true)
  const spend = chain
    .flatMap(({ daaScore, accepted }) => accepted.map(({ transactionId }) => ({ daaScore, transactionId })))
    .find(({ transactionId }) =>
      node
        .wallets()
        .some(
          ({ address }) =>
            (node.truth.address(address).transactions.find((tx) => tx.transactionId === transactionId)
              ?.sent ?? 0n) > 0n,
        ),
    )
  assert.ok(spend)
  const { returnAddress } = await client.call('getUtxoReturnAddress', {
    txid: spend.transactionId,
    acceptingBlockDaaScore: Number(spend.daaScore),
  })
  assert.ok(node.wallets().some(({ address }) => address === returnAddress))
  const wrong = await client.ask('getUtxoReturnAddress', {
    txid: spend.transactionId,
    acceptingBlockDaaScore: 5,
  })
  assert.equal(
    wrong.error?.message,
    'utxo inquirer error: Transaction not found at given accepting daa score',
  )
  const { timestamps } = await client.call('getDaaScoreTimestampEstimate', {
    daaScores: [0, 0xffffffffffffffffn],
  })
  assert.equal((timestamps as unknown[]).length, 2)
})

test('a chain with default traffic and two nodes that follow it cost a small share of a core', async () => {
  const chain = await startSandboxChain({ seed: 64, paced: false })
  const nodes = [await startSandboxNode({ name: 'a', chain }), await startSandboxNode({ name: 'b', chain })]
  const seconds = 60
  const before = process.cpuUsage()
  for (let i = 0; i < seconds * 10; i++) chain.chain.step()
  const { user, system } = process.cpuUsage(before)
  const share = (user + system) / 1e6 / seconds
  assert.equal(nodes[0]?.truth.sink(), nodes[1]?.truth.sink())
  for (const node of nodes) await node.close()
  await chain.close()
  assert.ok(share < 0.1, `${(share * 100).toFixed(1)} % of a core for the chain and both nodes`)
})

test('a block from a template is a good one after the chain has accepted what is in it', () => {
  const { chain, node } = followed({ reorgsPerMinute: 0, transactionsPerSecond: 20, dwellBlocks: 3 })
  chain.on((event) => node.receive(event))
  for (let i = 0; i < 5; i++) chain.step()
  const transactions = node.mempool.ready().map(({ tx }) => tx)
  assert.ok(transactions.length > 0)
  const block = buildBlock(node.ledger, {
    parents: node.ledger.virtual.parents,
    transactions,
    timestamp: node.ledger.sink.header.timestamp + 1,
    nonce: 18446744073709551615n,
    minerScript: chain.faucet.script,
    extraData: '',
  })
  for (let i = 0; i < 10; i++) chain.step()
  const spent = transactions.filter((tx) =>
    tx.inputs.some(
      ({ previousOutpoint }) => node.ledger.utxos.get(outpointKey(previousOutpoint)) === undefined,
    ),
  )
  assert.ok(spent.length > 0, 'the chain accepted some of them meanwhile')
  assert.equal(node.submitBlock(block), true)
  assert.ok(chain.ledger.record(block.header.hash))
  const twice = { ...block.header, nonce: 1n }
  const [coinbase, first] = block.transactions
  assert.ok(coinbase && first)
  const doubled = [coinbase, { ...first, id: '00'.repeat(32) }]
  assert.equal(node.submitBlock(blockOf(twice, doubled)), false, 'other transactions than the header says')
})
