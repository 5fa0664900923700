import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import { marketOfStored, mergeKnown } from './merge-market.ts'

const START_MS = Date.parse('2026-11-15T12:00:00Z')

test('figures of a stored market that are left out later keep all digits, even those that a double does not hold', async () => {
  const store = await storesIn(':memory:', manualClock(START_MS)).environment('test')
  const figures = {
    volume: '12345678901.654321987654',
    liquidity: '0.1234567890123456789',
    referencePriceStart: '61234.123456789012345678',
    referencePriceEnd: '61235.123456789012345678',
  }
  const market: MarketInput = {
    ...{ marketId: 'market', source: 'predmkt_a', symbol: 'BTC', active: true, status: 'open' },
    ...{ startTime: START_MS, endTime: START_MS + 300_000 },
  }
  await store.write({ markets: [{ ...market, ...figures }] })
  const stored = await store.markets.get('market')
  assert.ok(stored)
  const { volume, liquidity, referencePriceStart, referencePriceEnd } = mergeKnown(
    market,
    marketOfStored(stored),
  )
  assert.deepEqual({ volume, liquidity, referencePriceStart, referencePriceEnd }, figures)
  await store.close()
})

test('the stored price at the end of a market is not taken for one whose end has moved', async () => {
  const store = await storesIn(':memory:', manualClock(START_MS)).environment('test')
  const market: MarketInput = {
    ...{ marketId: 'market', source: 'predmkt_a', symbol: 'BTC', active: true, status: 'open' },
    ...{ startTime: START_MS, endTime: START_MS + 300_000 },
  }
  await store.write({ markets: [{ ...market, referencePriceStart: '1', referencePriceEnd: '2' }] })
  const stored = await store.markets.get('market')
  assert.ok(stored)
  const prices = ({ referencePriceStart: start, referencePriceEnd: end }: MarketInput) => [start, end]
  assert.deepEqual(prices(mergeKnown(market, marketOfStored(stored))), ['1', '2'])
  const moved = { ...market, endTime: START_MS + 600_000 }
  assert.deepEqual(prices(mergeKnown(moved, marketOfStored(stored))), ['1', null])
  await store.close()
})
