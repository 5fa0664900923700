import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAddress } from '../core/chain/address.ts'
import { createWatchedAddresses } from './addresses.ts'

const address = (n: number, prefix: 'kaspa' | 'kaspatest' = 'kaspatest') =>
  encodeAddress({ prefix, version: 0, payload: new Uint8Array(32).fill(n) })

test('an address is watched until its last watcher releases it; the set changes only with the first and the last', () => {
  const watched = createWatchedAddresses({ network: 'testnet-10', cap: 10 })
  let changes = 0
  watched.onChange(() => changes++)
  const one = watched.watch([address(1), address(2), address(1)])
  const two = watched.watch([address(2)])
  assert.deepEqual([watched.size, changes], [2, 1])
  one()
  one()
  assert.deepEqual([watched.list(10), changes], [[address(2)], 2])
  two()
  assert.deepEqual([watched.size, changes], [0, 3])
})

test('at the limit nobody is refused: what fits is watched', () => {
  const watched = createWatchedAddresses({ network: 'testnet-10', cap: 3 })
  const greedy = watched.watch([address(1), address(2)])
  const other = watched.watch([address(2), address(3), address(4)])
  assert.deepEqual(watched.list(10), [address(1), address(2), address(3)])
  assert.deepEqual(watched.list(2), [address(1), address(2)])
  greedy()
  assert.deepEqual(watched.list(10), [address(2), address(3)])
  watched.watch([address(4)])
  other()
  assert.deepEqual(watched.list(10), [address(4)], 'what was left out is not released either')
})

test('an address of another network changes nothing', () => {
  const watched = createWatchedAddresses({ network: 'testnet-10', cap: 3 })
  const release = watched.watch([address(1), address(2)])
  assert.throws(() => watched.watch([address(3), address(5, 'kaspa')]), RangeError)
  assert.equal(watched.size, 2)
  watched.watch([address(3)])
  release()
  assert.deepEqual(watched.list(10), [address(3)])
})
