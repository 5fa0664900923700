/** The wire as on the real node: frames, ids, refusals, closed connections, one request at a time. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { plainClient } from '../../test/fakes/plain-node-client.ts'
import { until } from '../../test/until.ts'
import { encodeAddress } from './consensus/address.ts'
import { METHODS } from './rpc/dispatch.ts'
import { type RunningSandboxNode, startSandboxNode } from './run.ts'

/** The contract's two lists, copied independently. */
const LIGHT =
  'ping getServerInfo getInfo getSyncStatus getCurrentNetwork getSystemInfo getConnections getMetrics getPeerAddresses getConnectedPeerInfo getBlockDagInfo getSink getSinkBlueScore getBlockCount getCurrentBlockColor getBlockRewardInfo getSeqCommitLaneProof getBalanceByAddress getUtxoReturnAddress getFeeEstimate getFeeEstimateExperimental getCoinSupply getDaaScoreTimestampEstimate estimateNetworkHashesPerSecond getSubnetwork'.split(
    ' ',
  )
const HEAVY =
  'getBlock getBlocks getHeaders getVirtualChainFromBlock getVirtualChainFromBlockV2 getBlockTemplate submitBlock getBalancesByAddresses getUtxosByAddresses getMempoolEntry getMempoolEntries getMempoolEntriesByAddresses submitTransaction submitTransactionReplacement'.split(
    ' ',
  )

let node: RunningSandboxNode

before(async () => {
  node = await startSandboxNode({ seed: 31, transactionsPerSecond: 10, warmUpBlocks: 150 })
})
after(() => node.close())

test('all 39 methods of the contract are served', () => {
  assert.equal(LIGHT.length + HEAVY.length, 39)
  assert.deepEqual(
    [...LIGHT, ...HEAVY].filter((method) => !Object.hasOwn(METHODS, method)),
    [],
  )
})

test('an id above 2^53 comes back digit by digit, and u64 answers are exact', async (t) => {
  const client = await plainClient(node.url)
  t.after(() => client.close())
  client.send('{"id":18446744073709551615,"method":"getCoinSupply","params":{},"jsonrpc":"2.0"}')
  await until('the answer', () => client.frames.length === 1)
  const circulating = /"circulatingSompi":(\d+)/.exec(client.frames[0] ?? '')?.[1]
  assert.match(
    client.frames[0] ?? '',
    /^\{"id":18446744073709551615,"method":"getCoinSupply","params":\{"maxSompi":2900000000000000000,"circulatingSompi":\d+\}\}$/,
  )
  assert.ok(BigInt(circulating ?? 0) > 2n ** 61n)
})

test('a header nonce above 2^53 is exact in a block answer', async (t) => {
  const client = await plainClient(node.url)
  t.after(() => client.close())
  const chain = node.truth.chain().slice(0, 30)
  for (const { hash } of chain) await client.call('getBlock', { hash, includeTransactions: false })
  const nonces = client.frames.flatMap((text) => /"nonce":(\d+)/.exec(text)?.[1] ?? [])
  assert.ok(nonces.some((nonce) => BigInt(nonce) > 2n ** 60n && !nonce.endsWith('000')))
})

for (const [what, frame] of [
  ['an unknown method', '{"id":1,"method":"getEverything","params":{}}'],
  ['an unknown notify method', '{"id":1,"method":"notifyEverything","params":{}}'],
  ['missing params', '{"id":1,"method":"getInfo"}'],
  ['an id that is text', '{"id":"1","method":"getInfo","params":{}}'],
  ['a negative id', '{"id":-1,"method":"getInfo","params":{}}'],
  ['an id with a fraction', '{"id":1.0,"method":"getInfo","params":{}}'],
  ['an id beyond u64', '{"id":18446744073709551616,"method":"getInfo","params":{}}'],
  ['malformed JSON', '{"id":1,'],
  ['a batch', '[{"id":1,"method":"getInfo","params":{}}]'],
] as const) {
  test(`${what} drops the connection without an answer`, async () => {
    const client = await plainClient(node.url)
    client.send(frame)
    await client.closed
    assert.deepEqual(client.frames, [])
  })
}

test('refusals have code 0, null data and the node texts', async (t) => {
  const client = await plainClient(node.url)
  t.after(() => client.close())
  const refused = async (method: string, params: unknown) => {
    const { error } = await client.ask(method, params)
    assert.deepEqual({ ...error, message: '' }, { code: 0, message: '', data: null }, method)
    return error?.message
  }
  const unknown = '12'.repeat(32)
  const sink = node.truth.sink()
  assert.equal(await refused('notifyBlockAdded', {}), 'RPC method not found')
  assert.equal(await refused('connect', {}), 'RPC method not found')
  assert.equal(await refused('blockAddedNotification', {}), 'RPC method not found')
  assert.equal(await refused('getInfo', null), 'request deserialization error')
  assert.equal(await refused('getBlock', { hash: sink }), 'request deserialization error')
  assert.equal(
    await refused('getBlock', { hash: 'zz', includeTransactions: true }),
    'request deserialization error',
  )
  assert.equal(
    await refused('getDaaScoreTimestampEstimate', { daaScores: ['5'] }),
    'request deserialization error',
  )
  assert.equal(
    await refused('getBlock', { hash: unknown, includeTransactions: true }),
    `cannot find header ${unknown}`,
  )
  assert.equal(
    await refused('getVirtualChainFromBlock', { startHash: unknown, includeAcceptedTransactionIds: true }),
    `cannot find header ${unknown}`,
  )
  assert.equal(
    await refused('getBlocks', { lowHash: sink, includeBlocks: false, includeTransactions: true }),
    'If includeTransactions is set, then includeBlockVerboseData must be set as well.',
  )
  assert.equal(
    await refused('getMempoolEntry', {
      transactionId: unknown,
      includeOrphanPool: true,
      filterTransactionPool: false,
    }),
    `Transaction ${unknown} not found`,
  )
  assert.equal(
    await refused('getMempoolEntries', { includeOrphanPool: false, filterTransactionPool: true }),
    'transaction query must either not filter transactions or include orphans',
  )
  assert.equal(
    await refused('getCurrentBlockColor', { hash: unknown }),
    `Block ${unknown} doesn't have any merger block.`,
  )
  assert.equal(
    await refused('estimateNetworkHashesPerSecond', { windowSize: 10001, startHash: null }),
    'Requested window size 10001 is larger than max 10000 allowed in RPC safe mode.',
  )
  assert.equal(await refused('getSubnetwork', { subnetworkId: '00'.repeat(20) }), 'Not implemented')
  assert.equal(await refused('subscribe', { blockAdded: {} }), 'request deserialization error')
})

test('answers come in the order of the requests, and notifications wait behind a running request', async (t) => {
  const slow = await startSandboxNode({ seed: 32, warmUpBlocks: 20, faults: { latencyMs: 400 } })
  t.after(() => slow.close())
  const client = await plainClient(slow.url)
  t.after(() => client.close())
  await client.call('subscribe', { VirtualDaaScoreChanged: {} })
  client.frames.length = 0
  client.send('{"id":100,"method":"ping","params":{}}')
  client.send('{"id":101,"method":"getSink","params":{}}')
  await until('both answers', () => client.frames.some((text) => text.startsWith('{"id":101')))
  const kinds = client.frames.map((text) => /^\{"id":(\d+)/.exec(text)?.[1] ?? 'note')
  assert.ok(kinds.indexOf('100') < kinds.indexOf('101'))
  const between = kinds.slice(kinds.indexOf('100') + 1, kinds.indexOf('101')).length
  assert.ok(between < 3, `${between} notifications were written while a request ran`)
  await until('the notifications that waited', () => client.frames.length > kinds.length + 2)
})

test('a request without id gets no answer', async (t) => {
  const client = await plainClient(node.url)
  t.after(() => client.close())
  client.send('{"id":null,"method":"ping","params":{}}')
  await client.call('ping')
  assert.equal(client.frames.length, 1)
})

test('the two inputs that end the real node end this one too', async () => {
  const fragile = await startSandboxNode({ seed: 33, warmUpBlocks: 20 })
  const address = encodeAddress('kaspatest', 0, new Uint8Array(31))
  const client = await plainClient(fragile.url)
  client.send(JSON.stringify({ id: 1, method: 'getBalanceByAddress', params: { address } }))
  await client.closed
  await assert.rejects(() => plainClient(fragile.url))
  await fragile.close()
})

test('the log names what arrived, also what was not understood', async () => {
  node.log.clear()
  const client = await plainClient(node.url)
  await client.call('ping')
  client.send('{"id":1,"method":"dropMe","params":{}}')
  await client.closed
  assert.deepEqual(node.log.counts(), { ping: 1, dropMe: 1 })
})

test('a chain follower can page from any block to the sink, with resolved inputs', async (t) => {
  const client = await plainClient(node.url)
  t.after(() => client.close())
  const start = node.truth.chain()[3]
  assert.ok(start)
  interface Page {
    addedChainBlockHashes: string[]
    chainBlockAcceptedTransactions: {
      chainBlockHeader: { hash: string }
      acceptedTransactions: {
        inputs: { verboseData: { utxoEntry: { amount: number } } }[]
        verboseData: { transactionId: string }
      }[]
    }[]
  }
  const read = async () => {
    const page = (await client.call('getVirtualChainFromBlockV2', {
      startHash: start.hash,
    })) as unknown as Page
    return { page, truth: node.truth.chain(start.hash).slice(1, page.addedChainBlockHashes.length + 1) }
  }
  let { page, truth } = await read()
  // Another block may have become the sink between the answer and the check.
  for (let turn = 0; turn < 10 && page.addedChainBlockHashes.at(-1) !== truth.at(-1)?.hash; turn++)
    ({ page, truth } = await read())
  assert.deepEqual(
    page.chainBlockAcceptedTransactions.map(({ chainBlockHeader, acceptedTransactions }) => [
      chainBlockHeader.hash,
      acceptedTransactions.map((tx) => tx.verboseData.transactionId),
    ]),
    truth.map(({ hash, accepted }) => [hash, accepted.map(({ transactionId }) => transactionId)]),
  )
  const inputs = page.chainBlockAcceptedTransactions.flatMap((item) =>
    item.acceptedTransactions.flatMap((tx) => tx.inputs),
  )
  assert.ok(inputs.length > 10)
  assert.ok(inputs.every((input) => Number(input.verboseData.utxoEntry.amount) > 0))
  const none = (await client.call('getVirtualChainFromBlockV2', {
    startHash: start.hash,
    dataVerbosityLevel: 'None',
    minConfirmationCount: 1000000,
  })) as unknown as Page
  assert.deepEqual(none.addedChainBlockHashes, [])
})
