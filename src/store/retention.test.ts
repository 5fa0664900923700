import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { until } from '../../test/until.ts'
import type { Feed } from '../core/feed.ts'
import { DAY_MS } from '../core/time.ts'
import { createLogger } from '../kit/log.ts'
import { startRetention } from './retention.ts'

const HOUR_MS = 3_600_000
const NOW = Date.UTC(2026, 5, 15)
const LIQUIDATIONS: Feed<'liquidations'> = {
  dataset: 'liquidations',
  source: 'cexa_futures',
  symbol: 'BTC',
  interval: '',
}
const CANDLES: Feed<'candles'> = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1d' }

test('live liquidations are retained for 90 days, candles forever', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-retention-'))
  const clock = manualClock(NOW - 5 * 60_000)
  const log = createLogger({ level: 'silent' })
  const stores = storesIn(folder, clock)
  const store = await stores.environment('live')
  let end = async () => {}
  try {
    const ages = [91, 90, 89, 1]
    const liquidation = { seq: 0, side: 'long' as const, quantity: 1, price: 10, avgPrice: 10 }
    const candle = { open: 1, high: 1, low: 1, close: 1, volume: 1, closed: true }
    await store.write({
      rows: [
        { feed: LIQUIDATIONS, rows: ages.map((age) => ({ ...liquidation, time: NOW - age * DAY_MS })) },
        { feed: CANDLES, rows: [{ ...candle, time: NOW - 400 * DAY_MS }] },
      ],
    })
    const kept = async (feed: Feed) => {
      const range = { from: 0, to: NOW }
      const page = await store.series.page({ feeds: [feed], range, order: 'asc', limit: 10, separator: ',' })
      return page.count
    }
    end = startRetention(() => stores.environment('live'), { environment: 'live', clock, log })
    assert.equal(await kept(LIQUIDATIONS), 4)
    clock.advance(5 * 60_000)
    await until('the one of 91 days is deleted', async () => (await kept(LIQUIDATIONS)) === 3)
    clock.advance(2 * DAY_MS)
    await until('two more are deleted two days later', async () => {
      clock.advance(HOUR_MS)
      return (await kept(LIQUIDATIONS)) === 1
    })
    assert.equal(await kept(CANDLES), 1)
  } finally {
    await end()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
