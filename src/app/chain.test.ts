import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, loadConfig } from '../config/config.ts'
import { configuredNodes } from './chain.ts'

const nodesOf = (text: string) => configuredNodes(loadConfig({ TAPELINE_NODES: text }).config.nodes)

test('a plain list is primary nodes; backup= makes a backup of one', () => {
  assert.deepEqual(nodesOf('ws://a:1, wss://b,backup=ws://c:3,primary=ws://d'), [
    { name: 'primary-1', url: 'ws://a:1', tier: 'primary' },
    { name: 'primary-2', url: 'wss://b', tier: 'primary' },
    { name: 'backup-1', url: 'ws://c:3', tier: 'backup' },
    { name: 'primary-3', url: 'ws://d', tier: 'primary' },
  ])
  assert.deepEqual(nodesOf(''), [])
})

test('an invalid node address or network is refused at the start', () => {
  for (const text of ['http://a', 'spare=ws://a', 'ws://', 'backup=']) {
    assert.throws(() => nodesOf(text), ConfigError, text)
  }
  assert.equal(loadConfig({}).config.network, 'mainnet')
  assert.equal(loadConfig({ TAPELINE_NETWORK: 'testnet-10' }).config.network, 'testnet-10')
  for (const text of ['testnet', 'Mainnet', 'testnet-x']) {
    assert.throws(() => loadConfig({ TAPELINE_NETWORK: text }), ConfigError, text)
  }
})
