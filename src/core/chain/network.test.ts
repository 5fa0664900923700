import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkInfo, parseNetwork } from './network.ts'

test('networks are read as the node writes them, and nothing else', () => {
  for (const text of ['mainnet', 'simnet', 'devnet', 'testnet-10', 'testnet-12']) {
    assert.equal(parseNetwork(text), text)
  }
  for (const text of ['testnet', 'testnet-', 'testnet-010', 'Mainnet', 'testnet-1e1', 'kaspa', '']) {
    assert.equal(parseNetwork(text), undefined, text)
  }
})

test('each network has its prefix and coin', () => {
  const row = (network: Parameters<typeof networkInfo>[0]) => {
    const info = networkInfo(network)
    return [info.addressPrefix, info.coin]
  }
  assert.deepEqual(row('mainnet'), ['kaspa', 'KAS'])
  assert.deepEqual(row('testnet-10'), ['kaspatest', 'TKAS'])
  assert.deepEqual(row('testnet-12'), ['kaspatest', 'TKAS'])
  assert.deepEqual(row('simnet'), ['kaspasim', 'TKAS'])
  assert.deepEqual(row('devnet'), ['kaspadev', 'TKAS'])
})
