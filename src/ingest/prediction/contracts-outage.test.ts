/** After hours without a recorder, the candles and trades of every contract that ran meanwhile are requested. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import {
  FEW_STRIKES,
  type PredictionsRecording,
  type PredictionsWorld,
  startPredictionsRecording,
  startPredictionsWorld,
} from '../../../test/predictions/recording.ts'
import type { TrueMarket } from '../../../test/sandbox/prediction-truth.ts'
import type { CandleRow, TradeRow } from '../../core/rows/schemas.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'

const CANDLE_MS = 300_000
const at = (text: string) => Date.parse(`2026-11-15T${text}:00Z`)
const STOP_MS = at('10:06')
const BACK_MS = at('12:42')
const END_MS = at('12:47')
const TRADES = feedOf('trades', 'predmkt_b', 'BTC')

let world: PredictionsWorld<PacedClock>
let recording: PredictionsRecording
let folder: string
let markets: TrueMarket[]

async function start(startMs: number) {
  world = await startPredictionsWorld(pacedClock(startMs, 1_000), { slotMs: 20_000, ...FEW_STRIKES })
  recording = await startPredictionsRecording(world, { venues: ['kalshi'], symbols: ['BTC'], folder })
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapeline-outage-'))
  await start(at('10:04'))
  await world.clock.runUntil(STOP_MS)
  await world.clock.during(recording.close())
  await world.close()
  await start(BACK_MS)
  await world.clock.runUntil(END_MS)
  await world.clock.during(recording.stop())
  markets = world.sandbox.truth
    .markets('kalshi', STOP_MS, BACK_MS + 86_400_000)
    .filter(({ symbol, startMs }) => symbol === 'BTC' && startMs < BACK_MS)
})

after(async () => {
  await recording?.close()
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

test('the trades of the outage are those of the venue, and it is no gap any more', async () => {
  const { gaps } = await recording.store.coverage.read([TRADES], at('10:05'), BACK_MS)
  assert.deepEqual(gaps, [])
  const lacking: string[] = []
  let trades = 0
  for (const market of markets) {
    const real = world.sandbox.truth.trades(market.name, STOP_MS, BACK_MS) ?? []
    const range = { from: STOP_MS - CANDLE_MS, to: END_MS }
    const rows = await readRows<TradeRow>(recording.store, TRADES, [market.name], range)
    const stored = new Set(rows.map((row) => row.trade_id))
    trades += real.length
    for (const { id } of real) if (!stored.has(id)) lacking.push(`${market.name} ${id}`)
  }
  assert.ok(trades > 100, `${trades} trades`)
  assert.deepEqual(lacking.slice(0, 5), [])
})

test('every candle of the outage in which a running contract was traded is there', async () => {
  const lacking: string[] = []
  let candles = 0
  for (const market of markets.filter(({ endMs, startMs }) => endMs > END_MS && startMs < STOP_MS)) {
    const feed = candleFeed('predmkt_b', 'BTC', '5m')
    const rows = await readRows<CandleRow>(recording.store, feed, [market.name], {
      from: STOP_MS,
      to: BACK_MS,
    })
    const stored = new Map(rows.map((row) => [Date.parse(row.timestamp), row]))
    const traded = new Map<number, number>()
    for (const { timeMs, size } of world.sandbox.truth.trades(market.name, at('10:10'), at('12:40')) ?? []) {
      const openMs = Math.floor(timeMs / CANDLE_MS) * CANDLE_MS
      traded.set(openMs, (traded.get(openMs) ?? 0) + Number(size))
    }
    for (const [openMs, volume] of traded) {
      candles += 1
      if (Math.abs((stored.get(openMs)?.volume ?? 0) - volume) > 0.001)
        lacking.push(`${market.name} ${new Date(openMs).toISOString()}`)
    }
  }
  assert.ok(candles > 20, `${candles} candles`)
  assert.deepEqual(lacking.slice(0, 5), [])
})
