/** The catalogue does not answer for longer than its lists look ahead, so windows that were not listed are a gap. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { Feed } from '../../core/feed.ts'
import type { TradeRow } from '../../core/rows/schemas.ts'
import type { Gap } from '../../store/coverage.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'

const at = (text: string) => Date.parse(`2026-11-15T${text}Z`)
const START_MS = at('10:01:00')
const DOWN_MS = at('10:02:00')
/** Only windows that end within twenty minutes are listed, so the one that begins at 10:20 is not. */
const UNKNOWN_MS = at('10:20:00')
const BACK_MS = at('10:26:00')
const END_MS = at('10:29:30')
const BOOKS = feedOf('snapshots', 'predmkt_a', 'BTC', '5m')
const TRADES = feedOf('trades', 'predmkt_a', 'BTC')
const CANDLES = candleFeed('predmkt_a', 'BTC', '5m')

const meanwhile = new Map<Feed, Gap[]>()
const gapsOf = async (feed: Feed, toMs: number) =>
  (await made.recording.store.coverage.read([feed], START_MS + 60_000, toMs)).gaps

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 1_000, slotMs: 4_000, venues: ['polymarket'] },
  async ({ clock, sandbox }) => {
    await clock.runUntil(DOWN_MS)
    const durationMs = BACK_MS - DOWN_MS
    sandbox.faults.set({ kind: 'http-error', venue: 'polymarket', channel: 'gamma', status: 503, durationMs })
    await clock.runUntil(BACK_MS - 10_000)
    for (const feed of [BOOKS, TRADES, CANDLES]) meanwhile.set(feed, await gapsOf(feed, BACK_MS - 20_000))
    await clock.runUntil(END_MS)
  },
)

test('books, trades and candles have a gap from the first window that was not listed, and none before', () => {
  for (const [feed, gaps] of meanwhile) {
    const [first] = gaps
    const shown = `${feed.dataset} ${JSON.stringify(gaps)}`
    assert.ok(first !== undefined && first.reason === 'venue_down', shown)
    assert.ok(first.from <= UNKNOWN_MS && first.from > UNKNOWN_MS - 16_000, shown)
    assert.equal(gaps.at(-1)?.to, BACK_MS - 20_000, shown)
  }
})

test('with the first list the books are received again; the gap of the lost window stays', async () => {
  const gaps = await gapsOf(BOOKS, END_MS - 20_000)
  assert.ok(
    (gaps.at(-1)?.to ?? 0) >= BACK_MS && (gaps.at(-1)?.to ?? 0) < BACK_MS + 90_000,
    JSON.stringify(gaps),
  )
})

test('the window that was not listed is found afterwards, with all of its trades, and the trades are complete', async () => {
  assert.deepEqual(await gapsOf(TRADES, BACK_MS), [])
  const lost = made.world.sandbox.truth
    .markets('polymarket', UNKNOWN_MS + 1, UNKNOWN_MS + 300_001)
    .find(({ symbol, kind }) => symbol === 'BTC' && kind === '5m')
  assert.ok(lost?.conditionId !== undefined)
  const row = await made.recording.store.markets.get(lost.conditionId)
  assert.equal(row?.market.winner, lost.winner)
  const range = { from: lost.startMs, to: lost.endMs }
  const rows = await readRows<TradeRow>(made.recording.store, TRADES, lost.tokens ?? [], range)
  const trades = made.world.sandbox.truth.trades(lost.name, lost.startMs, lost.endMs) ?? []
  assert.ok(trades.length > 0)
  assert.equal(rows.length, trades.length)
})
