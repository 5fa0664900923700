/** A page that was called sealed never changes, whatever the sweeps after the close of a long market find. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PacedClock, pacedClock } from '../../test/predictions/paced-clock.ts'
import {
  type PredictionsRecording,
  type PredictionsWorld,
  startPredictionsRecording,
  startPredictionsWorld,
} from '../../test/predictions/recording.ts'
import type { Feed } from '../core/feed.ts'
import type { TradeRow } from '../core/rows/trade.ts'
import { candleFeed, feedOf } from './plans.ts'

const MINUTE_MS = 60_000
const at = (text: string) => Date.parse(`2026-11-15T${text}:00Z`)
const START_MS = at('10:38')
const LOST_MS = at('10:40')
const LOST_END_MS = at('10:43')
/** The market of the hour is swept a minute after it was seen closed. */
const END_MS = at('11:04')
const FEEDS: Feed[] = [feedOf('trades', 'predmkt_a', 'BTC'), candleFeed('predmkt_a', 'BTC', '5m')]

interface Sealed {
  readonly feed: Feed
  readonly range: { from: number; to: number }
  readonly text: string
}

let world: PredictionsWorld<PacedClock>
let recording: PredictionsRecording
const sealed: Sealed[] = []
const watermarks: number[] = []

const read = async (feed: Feed, range: Sealed['range']) =>
  (await recording.store.series.page({ feeds: [feed], range, order: 'asc', limit: 100_000, separator: '\n' }))
    .text

/** As the service decides it: before the watermark, and covered. */
async function seal(): Promise<void> {
  for (const feed of FEEDS) {
    const [finality] = await recording.store.series.finality([feed])
    const range = { from: START_MS + MINUTE_MS, to: finality?.before ?? 0 }
    watermarks.push(range.to)
    if (range.to <= range.from) continue
    const { complete } = await recording.store.coverage.read([feed], range.from, range.to)
    if (complete) sealed.push({ feed, range, text: await read(feed, range) })
  }
}

before(async () => {
  world = await startPredictionsWorld(pacedClock(START_MS, 1_000), { slotMs: 10_000 })
  const { clock, sandbox } = world
  recording = await startPredictionsRecording(world, { venues: ['polymarket'], symbols: ['BTC'] })
  await clock.runUntil(LOST_MS)
  // Prints are lost one by one while the books go on: nothing tells that they are missing.
  const durationMs = LOST_END_MS - LOST_MS
  sandbox.faults.set({ kind: 'mute', venue: 'polymarket', channel: 'last_trade_price', durationMs })
  for (let atMs = LOST_END_MS; atMs < END_MS; atMs += 4 * MINUTE_MS) {
    await clock.runUntil(atMs)
    await seal()
  }
  await clock.runUntil(END_MS)
  await clock.during(recording.stop())
})

after(async () => {
  await recording?.close()
  await world?.close()
})

test('the sweep of the hour found prints that were lost long ago', async () => {
  const [market] = world.sandbox.truth
    .markets('polymarket', at('11:00'), at('11:00') + 1)
    .filter(({ symbol, kind }) => symbol === 'BTC' && kind === '1h')
  assert.ok(market)
  const prints = world.sandbox.truth.prints(market.name, LOST_MS, LOST_END_MS) ?? []
  const text = await read(FEEDS[0] as Feed, { from: LOST_MS, to: LOST_END_MS })
  const rows = text.split('\n').map((line) => JSON.parse(line) as TradeRow)
  assert.ok(prints.length > 0)
  for (const { id } of prints) assert.ok(rows.some(({ trade_id }) => trade_id.startsWith(id)))
})

test('no page that was sealed meanwhile has changed', async () => {
  for (const { feed, range, text } of sealed) assert.equal(await read(feed, range), text, feed.dataset)
})

test('the watermark follows: it is never more than the longest market and a day of early prints behind', () => {
  assert.ok(watermarks.at(-1) !== undefined && (watermarks.at(-1) ?? 0) > END_MS - 51 * 60 * MINUTE_MS)
})
