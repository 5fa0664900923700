import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { Feed } from '../../core/feed.ts'
import { candle, candleFeed, START, seeded } from './engine.ts'
import { ENGINES } from './engines.ts'
import { drifting } from './snapshots.ts'

const SNAPSHOTS: Feed<'snapshots'> = {
  dataset: 'snapshots',
  source: 'predmkt_a',
  symbol: 'BTC',
  interval: '5m',
}

for (const engine of ENGINES)
  test(`${engine.name}: what a store takes is known by part, and is less after old rows were deleted`, async () => {
    const place = engine.create()
    const clock = manualClock(START)
    const stores = place.open(clock)
    const store = await stores.environment('live')
    try {
      const minutes = Array.from({ length: 9_000 }, (_, minute) => candle(minute))
      await store.write({ rows: [{ feed: candleFeed('cexa'), rows: minutes }] })
      await store.write({ rows: [{ feed: SNAPSHOTS, rows: drifting(seeded(1), ['0xa'], 400) }] })
      await stores.accounts().close()
      const partsOf = async () => {
        const { parts, reusableBytes } = await stores.diskUse()
        const of = (part: string) => parts.find((each) => each.environment === 'live' && each.part === part)
        return { of, parts, reusableBytes }
      }
      const before = await partsOf()
      assert.ok((before.of('candles')?.bytes ?? 0) > 500_000, JSON.stringify(before.parts))
      const snapshots = before.of('snapshots')?.bytes ?? 0
      assert.ok(snapshots > 1_000 && snapshots < (before.of('candles')?.bytes ?? 0) / 4)
      assert.ok(before.parts.some(({ part, environment }) => part === 'accounts' && environment === null))
      if (!stores.isShared) assert.equal(before.of('candles')?.rows, 9_000)

      clock.set(START + 9_000 * 60_000)
      await store.series.retain({ dataset: 'candles' }, 1_000 * 60_000)
      const after = await partsOf()
      if (stores.isShared) return
      assert.equal(after.of('candles')?.rows, 1_000)
      const freed = (before.of('candles')?.bytes ?? 0) - (after.of('candles')?.bytes ?? 0)
      assert.ok(freed > 400_000, `${freed} bytes`)
    } finally {
      await store.close()
      await place.remove()
    }
  })
