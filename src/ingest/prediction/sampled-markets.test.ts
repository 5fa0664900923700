import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FollowedMarket } from './followed-market.ts'
import { SampledMarkets } from './sampled-markets.ts'

const MINUTE_MS = 60_000

test('markets are listed from before their first sample until after their last one', () => {
  const market = (startMs: number, endMs: number) =>
    ({ recorder: { startMs, endMs } }) as unknown as FollowedMarket
  const markets = new Map([
    ['a', market(100 * MINUTE_MS, 115 * MINUTE_MS)],
    ['b', market(115 * MINUTE_MS, 130 * MINUTE_MS)],
  ])
  const sampled = new SampledMarkets(markets)
  const listed = (minute: number) => sampled.at(minute * MINUTE_MS).map(({ startMs }) => startMs / MINUTE_MS)
  assert.deepEqual(listed(90), [])
  assert.deepEqual(listed(99), [100])
  assert.deepEqual(listed(110), [100, 115])
  assert.deepEqual(listed(107), [100], 'the clock may be set back')
  assert.deepEqual(listed(120), [115])
  assert.deepEqual(listed(140), [])
  markets.set('c', market(139 * MINUTE_MS, 144 * MINUTE_MS))
  sampled.changed()
  assert.deepEqual(listed(140), [139])
})
