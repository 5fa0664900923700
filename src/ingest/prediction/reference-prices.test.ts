import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SettlementPrice } from '../../core/settlement.ts'
import { polymarketPlan } from '../../venues/polymarket/plan.ts'
import { createReferencePrices } from './reference-prices.ts'

const NOW_MS = Date.UTC(2026, 10, 15)
const EXCHANGE: SettlementPrice = { of: 'binance', windowSeconds: null }
const SPOT: SettlementPrice = { of: 'chainlink', windowSeconds: null }
const HALF_MINUTE: SettlementPrice = { of: 'chainlink', windowSeconds: 30 }
const MINUTE: SettlementPrice = { of: 'chainlink', windowSeconds: 60 }

function heardAll() {
  const prices = createReferencePrices(polymarketPlan.usualSettlement)
  const ticks: [SettlementPrice, string][] = [
    [EXCHANGE, '1'],
    [SPOT, '2'],
    [HALF_MINUTE, '3'],
    [MINUTE, '4'],
  ]
  for (const [settlement, price] of ticks)
    prices.receive({
      kind: 'reference_price',
      source: 'predmkt_a',
      symbol: 'BTC',
      instrument: '',
      venueTimeMs: NOW_MS,
      receivedMs: NOW_MS,
      key: null,
      price,
      settlement,
    })
  return prices
}

test('each market gets the price that it is settled on, and no other', () => {
  const prices = heardAll()
  assert.equal(prices.before({ marketType: '5m', settlement: SPOT }, NOW_MS), '2')
  assert.equal(prices.before({ marketType: '5m', settlement: HALF_MINUTE }, NOW_MS), '3')
  assert.equal(prices.at({ marketType: '4h', settlement: MINUTE }, NOW_MS), '4')
  assert.equal(prices.at({ marketType: '1h', settlement: EXCHANGE }, NOW_MS), '1')
  assert.equal(
    prices.before({ marketType: '5m', settlement: { ...MINUTE, windowSeconds: 300 } }, NOW_MS),
    null,
  )
})

test('a market that names no price: hours and days on the exchange, the others on the mean over a minute', () => {
  const prices = heardAll()
  for (const marketType of ['1h', '24h'] as const) assert.equal(prices.before({ marketType }, NOW_MS), '1')
  for (const marketType of ['5m', '15m', '4h'] as const)
    assert.equal(prices.before({ marketType }, NOW_MS), '4')
})

test('a price that is not of this moment, or not of that second, is none', () => {
  const prices = heardAll()
  assert.equal(prices.before({ marketType: '5m' }, NOW_MS + 10_001), null)
  assert.equal(prices.at({ marketType: '5m' }, NOW_MS + 1_000), null)
})
