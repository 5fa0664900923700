/** The feed must leave most of a core to others: 20,000 trades a second may cost only part of one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSymbolMap } from '../adapter/symbol-map.ts'
import { createSpotReader } from '../binance-spot/mapper.ts'
import { createHyperliquidReader } from '../hyperliquid/feed.ts'

const FRAMES = 100_000
/**
 * CPU time, not wall time, because a busy machine changes it very little. The limit is 25 µs per trade, half a core at
 * 20,000 trades a second.
 */
const LIMIT_MS = 2_500

function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

test('reading 20,000 Binance trades a second takes less than half a core', (t) => {
  const reader = createSpotReader(createSymbolMap({ BTC: 'BTCUSDT' }))
  const frames = Array.from({ length: FRAMES }, (_, a) =>
    JSON.stringify({
      stream: 'btcusdt@aggTrade',
      data: {
        e: 'aggTrade',
        E: 1672515782136 + a,
        s: 'BTCUSDT',
        a,
        p: '61837.63000000',
        q: '0.04800000',
        f: a,
        l: a,
        T: 1672515782136 + a,
        m: a % 2 === 0,
        M: true,
      },
    }),
  )
  let read = 0
  const spentMs = cpuMs(() => {
    for (const frame of frames) if (reader.read(frame, 1).kind === 'data') read += 1
  })
  assert.equal(read, FRAMES)
  t.diagnostic(`${((spentMs * 1_000) / FRAMES).toFixed(1)} µs per trade`)
  assert.ok(spentMs < LIMIT_MS, `${spentMs} ms`)
})

test('reading 20,000 Hyperliquid trades a second takes less than half a core', (t) => {
  const reader = createHyperliquidReader(createSymbolMap({ BTC: 'BTC' }))
  const trade = (tid: number) => ({
    coin: 'BTC',
    side: 'A',
    px: '84143.0',
    sz: '0.00036',
    time: 1790232216193,
    hash: `0x${'7'.repeat(64)}`,
    tid,
    users: [`0x${'9'.repeat(40)}`, `0x${'8'.repeat(40)}`],
  })
  const frames = Array.from({ length: FRAMES / 10 }, (_, index) =>
    JSON.stringify({
      channel: 'trades',
      data: Array.from({ length: 10 }, (_unused, k) => trade(index * 10 + k)),
    }),
  )
  let read = 0
  const spentMs = cpuMs(() => {
    for (const frame of frames) {
      const outcome = reader.read(frame, 1)
      if (outcome.kind === 'data') read += outcome.items.length
    }
  })
  assert.equal(read, FRAMES)
  t.diagnostic(`${((spentMs * 1_000) / FRAMES).toFixed(1)} µs per trade`)
  assert.ok(spentMs < LIMIT_MS, `${spentMs} ms`)
})
