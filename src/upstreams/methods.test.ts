import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBlocked, placesOf, RPC_METHODS } from './methods.ts'

/** The contract's lists, copied from its text. */
const LIGHT =
  'ping, getServerInfo, getInfo, getSyncStatus, getCurrentNetwork, getSystemInfo, getConnections, getMetrics, getPeerAddresses, getConnectedPeerInfo, getBlockDagInfo, getSink, getSinkBlueScore, getBlockCount, getCurrentBlockColor, getBlockRewardInfo, getSeqCommitLaneProof, getBalanceByAddress, getUtxoReturnAddress, getFeeEstimate, getFeeEstimateExperimental, getCoinSupply, getDaaScoreTimestampEstimate, estimateNetworkHashesPerSecond, getSubnetwork'.split(
    ', ',
  )
const HEAVY =
  'getBlock, getBlocks, getHeaders, getVirtualChainFromBlock, getVirtualChainFromBlockV2, getBlockTemplate, submitBlock, getBalancesByAddresses, getUtxosByAddresses, getMempoolEntry, getMempoolEntries, getMempoolEntriesByAddresses, submitTransaction, submitTransactionReplacement'.split(
    ', ',
  )

test('the table holds the 25 light and 14 heavy methods of the contract and nothing else', () => {
  assert.equal(LIGHT.length, 25)
  assert.equal(HEAVY.length, 14)
  assert.deepEqual([...RPC_METHODS.keys()].sort(), [...LIGHT, ...HEAVY].sort())
  for (const name of LIGHT) assert.equal(RPC_METHODS.get(name)?.price, 1, name)
  for (const name of HEAVY) assert.equal(RPC_METHODS.get(name)?.price, 5, name)
})

test('blocked methods are blocked, and no served one is caught by their prefix', () => {
  for (const name of [
    'addPeer',
    'ban',
    'unban',
    'shutdown',
    'resolveFinalityConflict',
    'subscribe',
    'unsubscribe',
    'notifyBlockAdded',
    'notifyAnything',
  ]) {
    assert.ok(isBlocked(name), name)
    assert.ok(!RPC_METHODS.has(name), name)
  }
  for (const name of RPC_METHODS.keys()) assert.ok(!isBlocked(name), name)
})

test('only submissions are writes, and no write is cached', () => {
  const writes = [...RPC_METHODS.values()].filter((method) => method.write)
  assert.deepEqual(writes.map(({ name }) => name).sort(), [
    'submitBlock',
    'submitTransaction',
    'submitTransactionReplacement',
  ])
  assert.ok(writes.every(({ cacheMs }) => cacheMs === 0))
})

test('no method that may take half a minute holds up the sockets of light ones', () => {
  const light = [...RPC_METHODS.values()].filter(({ connection }) => connection === 'light')
  assert.ok(Math.max(...light.map(({ timeoutMs }) => timeoutMs)) <= 10_000)
})

test('the table lists which parameters are addresses and transactions', () => {
  const places = (name: string, kind: 'address' | 'transaction') => {
    const method = RPC_METHODS.get(name)
    return method === undefined ? [] : placesOf(method, kind)
  }
  assert.deepEqual(places('getUtxosByAddresses', 'address'), ['addresses[]'])
  assert.deepEqual(places('getBlockTemplate', 'address'), ['payAddress'])
  assert.deepEqual(places('submitBlock', 'transaction'), ['block.transactions[]'])
})

test('every schema survives JSON, so that documents can be made from it', () => {
  for (const { name, params } of RPC_METHODS.values()) {
    assert.equal(JSON.parse(JSON.stringify(params)).type, 'object', name)
  }
})
