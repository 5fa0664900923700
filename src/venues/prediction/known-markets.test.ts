/** The list of a symbol stays the same array until one of its markets changes; each change is emitted once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketObservation } from '../observation.ts'
import { KnownMarkets } from './known-markets.ts'
import { createMarketChanges } from './market-changes.ts'

const seen = (name: string) => ({ observation: { instrument: name } as MarketObservation })

test('a list stays the same object until a market of its symbol is set or deleted', () => {
  const known = new KnownMarkets<{ observation: MarketObservation }>()
  const [a, b] = [seen('a'), seen('b')]
  known.set('BTC', 'a', a)
  known.set('BTC', 'b', b)
  known.set('ETH', 'c', seen('c'))
  const list = known.of('BTC')
  assert.deepEqual(list, [a, b])
  known.set('ETH', 'c', seen('c'))
  known.set('BTC', 'a', a)
  assert.equal(known.of('BTC'), list)
  const later = seen('a')
  known.set('BTC', 'a', later)
  assert.deepEqual(known.of('BTC'), [later, b], 'in the order in which they became known')
  known.delete('BTC', 'a')
  assert.deepEqual([known.get('a'), known.get('b'), known.of('BTC')], [undefined, b, [b]])
})

test('what changes while it is read is seen', () => {
  const known = new KnownMarkets<number>()
  known.set('BTC', 'a', 1)
  known.set('BTC', 'b', 2)
  const read: number[] = []
  for (const value of known.values('BTC')) {
    read.push(value)
    if (value === 1) known.set('BTC', 'b', 3)
  }
  assert.deepEqual(read, [1, 3])
})

test('a market is emitted once, and again when its observation is another', () => {
  const known = new KnownMarkets<{ observation: MarketObservation; price: number }>()
  const { take } = createMarketChanges((symbol) => known.of(symbol))
  const { observation } = seen('a')
  known.set('BTC', 'a', { observation, price: 1 })
  assert.deepEqual(take('BTC'), [observation])
  assert.deepEqual(take('BTC'), [])
  known.set('BTC', 'a', { observation, price: 2 })
  assert.deepEqual(take('BTC'), [], 'only its figures have changed')
  const other = { ...seen('a'), price: 2 }
  known.set('BTC', 'a', other)
  assert.deepEqual(take('BTC'), [other.observation])
  assert.deepEqual(take('ETH'), [])
})
