import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkMarketTrade, checkTrade } from './check-trade.ts'

test('a trade counts with a price, a size and a number of fills that can be', () => {
  const good = { price: '1.5', size: '2', firstTradeId: 7, lastTradeId: 9 }
  assert.equal(checkTrade(good), 'good')
  assert.equal(checkTrade({ price: '1.5', size: '2' }), 'good')
  assert.equal(checkTrade({ ...good, price: '0', size: '0.000' }), 'empty')
  for (const wrong of [
    { price: '0' },
    { price: '-1' },
    { price: '' },
    { size: '-2' },
    { size: '' },
    { size: 'NaN' },
    { lastTradeId: 6 },
    { lastTradeId: Number.MAX_SAFE_INTEGER },
  ])
    assert.equal(checkTrade({ ...good, ...wrong }), 'bad', JSON.stringify(wrong))
})

test('the price of a prediction market is a probability', () => {
  for (const price of ['0', '0.5', '1']) assert.equal(checkMarketTrade({ price, size: '1' }), 'good')
  for (const price of ['-0.1', '1.01', '', ' ', 'NaN'])
    assert.equal(checkMarketTrade({ price, size: '1' }), 'bad', price)
})
