import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LatestBefore } from './latest-before.ts'

test('the figure of an instant is the newest at or before it, in whatever order figures came', () => {
  const latest = new LatestBefore<string>()
  assert.equal(latest.at(1_000), undefined)
  latest.received(1_000, 'a')
  latest.received(3_000, 'c')
  latest.received(2_000, 'b')
  latest.received(3_000, 'd')
  assert.deepEqual(
    [999, 1_000, 1_999, 2_500, 3_000, 9_000].map((timeMs) => latest.at(timeMs)),
    [undefined, 'a', 'a', 'b', 'd', 'd'],
  )
})

test('a minute is kept, and the figure that stood at its beginning; a flood is bounded', () => {
  const latest = new LatestBefore<number>()
  for (let timeMs = 0; timeMs <= 300_000; timeMs += 7_000) latest.received(timeMs, timeMs)
  assert.equal(latest.at(240_000), 238_000)
  assert.equal(latest.at(200_000), undefined)
  for (let i = 0; i < 1_000; i++) latest.received(300_000 + i, i)
  assert.equal(latest.at(300_000 + 999), 999)
  assert.equal(latest.at(300_000 + 100), undefined)
})
