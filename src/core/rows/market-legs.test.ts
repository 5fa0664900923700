import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeMarket, type MarketInput } from './market.ts'
import { withLegs } from './market-legs.ts'

const MARKET: MarketInput = {
  marketId: '0x1',
  source: 'predmkt_a',
  symbol: 'BTC',
  active: false,
  status: 'resolved',
  tokens: [
    { tokenId: '7', outcome: 'Up' },
    { tokenId: '8', outcome: 'Down' },
  ],
  createdAt: 0,
  tags: ['a "],"strike":', 'b'],
  volume: 5,
}

test('a market is served with its legs and what the venue files it under', () => {
  const served = JSON.parse(withLegs(encodeMarket(MARKET).text))
  assert.deepEqual(
    [served.clob_token_up, served.clob_token_down, served.final_volume, served.created_at, served.tags],
    ['7', '8', 5, '1970-01-01T00:00:00.000Z', ['a "],"strike":', 'b']],
  )
})

test('a record that was stored before it had them is served with empty ones', () => {
  const stored = encodeMarket(MARKET).text.replace(/"created_at".*?(?="strike":null)/, '')
  assert.ok(!('tags' in JSON.parse(stored)))
  const two = JSON.parse(`[${withLegs(`${stored},${encodeMarket(MARKET).text}`)}]`)
  assert.deepEqual(
    two.map(({ created_at, updated_at, tags }: Record<string, unknown>) => [created_at, updated_at, tags]),
    [
      [null, null, []],
      ['1970-01-01T00:00:00.000Z', null, ['a "],"strike":', 'b']],
    ],
  )
})
