import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSymbolMap } from './symbol-map.ts'

test('symbols map both ways, exactly as the venue spells them', () => {
  const map = createSymbolMap({ BTC: 'BTCUSDT', ETH: 'ETHUSDT' })
  assert.equal(map.toVenue('BTC'), 'BTCUSDT')
  assert.equal(map.fromVenue('ETHUSDT'), 'ETH')
  assert.equal(map.toVenue('XRP'), undefined)
  for (const name of ['btcusdt', 'BTC', 'BTCUSD_PERP', 'toString', ''])
    assert.equal(map.fromVenue(name), undefined)
  assert.equal(map.toVenue('toString' as 'BTC'), undefined)
})
