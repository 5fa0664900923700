/** A backfill of more than a month gets every candle of a venue that keeps a fixed number of candles per interval. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Range, readGaps, readRows } from '../../../test/ingest/compare.ts'
import { startRecording, startWorld, type World } from '../../../test/ingest/recording.ts'
import { fastClock } from '../../../test/predictions/loopback.ts'
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import { candleFeed } from '../shared/feeds.ts'
import { backfillRange } from './backfill-exchange.ts'

const DAY_MS = 86_400_000
/** Five thousand, minus the open candle and one that may expire while it is requested. */
const VENUE_CANDLES = 4_998

let world: World
let recording: Awaited<ReturnType<typeof startRecording>>

before(async () => {
  world = await startWorld(fastClock(Date.parse('2026-11-10T00:02:10Z'), 1))
  // Only the store is used, so no recorder runs.
  recording = await startRecording(world, { venues: [] })
})

after(async () => {
  await recording.close()
  await world.close()
})

async function fill(symbol: AssetSymbol, { fromMs, toMs }: Range): Promise<void> {
  const { clock, sandbox } = world
  const hosts = { rest: sandbox.perp.restUrl, stream: sandbox.perp.wsUrl }
  const summary = await backfillRange({
    plan: VENUES.hyperliquid.plan,
    venue: VENUES.hyperliquid.create({ clock, hosts }),
    store: recording.store,
    symbols: [symbol],
    ...{ fromMs, toMs, clock, random: Math.random },
    log: createLogger({ level: 'silent' }),
    onProgress: () => {},
  })
  assert.equal(summary.failed, 0)
}

for (const [symbol, toDays] of [
  ['BTC', 0],
  ['ETH', 60],
] as const) {
  test(`from 90 to ${toDays} days ago: as deep as the venue has each length, and the rest is reported as not provided`, async () => {
    const todayMs = Math.floor(world.clock.now() / DAY_MS) * DAY_MS
    const range = { fromMs: todayMs - 90 * DAY_MS, toMs: todayMs - toDays * DAY_MS }
    await fill(symbol, range)
    for (const interval of ['1m', '5m', '15m', '1h', '4h', '1d'] as const satisfies CandleInterval[]) {
      const lengthMs = INTERVAL_MS[interval]
      const feed = candleFeed('perpdex', symbol, interval)
      const oldestMs = Math.floor(world.clock.now() / lengthMs) * lengthMs - VENUE_CANDLES * lengthMs
      const keptMs = Math.min(Math.max(range.fromMs, oldestMs), range.toMs)
      const gaps = await readGaps(recording.store, feed, range)
      const missing = { source: 'perpdex', from: range.fromMs, to: keptMs, reason: 'not_provided' }
      assert.deepEqual(gaps, keptMs > range.fromMs ? [missing] : [], interval)
      const rows = await readRows(recording.store, feed, range)
      assert.equal(rows.length, (range.toMs - keptMs) / lengthMs, interval)
    }
  })
}
