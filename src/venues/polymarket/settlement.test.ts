import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSettlement } from './settlement.ts'

test('a market is settled on the price that its own record names', () => {
  const mean = 'https://data.chain.link/streams/btc-usd-twap-60s-streams'
  const spot = 'https://data.chain.link/streams/btc-usd'
  assert.deepEqual(readSettlement(mean), { of: 'chainlink', windowSeconds: 60 })
  assert.deepEqual(readSettlement(mean.replace('60s', '30s')), { of: 'chainlink', windowSeconds: 30 })
  assert.deepEqual(readSettlement(spot), { of: 'chainlink', windowSeconds: null })
  assert.deepEqual(readSettlement(spot, { twapEnabled: false, twapLookbackSeconds: 60 }), {
    of: 'chainlink',
    windowSeconds: null,
  })
  assert.deepEqual(readSettlement(spot, { twapEnabled: true }), { of: 'chainlink', windowSeconds: 60 })
  assert.deepEqual(readSettlement('https://www.binance.com/en/trade/BTC_USDT'), {
    of: 'binance',
    windowSeconds: null,
  })
  for (const unknown of ['', 'defipulse.com', 'https://example.com/data.chain.link', null, undefined])
    assert.equal(readSettlement(unknown), null)
})
