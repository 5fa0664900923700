/**
 * Trades and their candles are sealed within minutes, although markets of an hour and of a day are running, because
 * rounds over all markets find what the stream lost. A page that was called sealed never changes, whatever later sweeps
 * find.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idOf } from '../../../test/predictions/compare.ts'
import { FEW_STRIKES, type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { TrueMarket } from '../../../test/sandbox/prediction-truth.ts'
import type { Feed } from '../../core/feed.ts'
import type { TradeRow } from '../../core/rows/schemas.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'

const MINUTE_MS = 60_000
const at = (text: string) => Date.parse(`2026-11-15T${text}:00Z`)
const START_MS = at('10:38')
const LOST_MS = at('10:40')
const LOST_END_MS = at('10:43')
/** The one-hour market is swept a minute after it was seen closed. */
const END_MS = at('11:04')
/** A quarter of an hour, plus one round. */
const SEALED_WITHIN_MS = 21 * MINUTE_MS
const SOURCES = ['predmkt_a', 'predmkt_b'] as const
const TRADES = SOURCES.map((source): Feed => feedOf('trades', source, 'BTC'))
const FEEDS: Feed[] = [...TRADES, ...SOURCES.map((source) => candleFeed(source, 'BTC', '5m'))]

interface Sealed {
  readonly feed: Feed
  readonly range: { from: number; to: number }
  readonly text: string
}

const sealed: Sealed[] = []
/** Per feed, how far finality was behind the present. */
const behindMs = new Map<Feed, number[]>(FEEDS.map((feed) => [feed, []]))

const read = async (feed: Feed, range: Sealed['range']) =>
  (
    await made.recording.store.series.page({
      feeds: [feed],
      range,
      order: 'asc',
      limit: 100_000,
      separator: '\n',
    })
  ).text

/** Uses the same rule as the service: a range is sealed if it is final and covered. */
async function seal(): Promise<void> {
  for (const feed of FEEDS) {
    const [finality] = await made.recording.store.series.finality([feed])
    const range = { from: START_MS + MINUTE_MS, to: finality?.before ?? 0 }
    behindMs.get(feed)?.push(made.world.clock.now() - range.to)
    if (range.to <= range.from) continue
    const { complete } = await made.recording.store.coverage.read([feed], range.from, range.to)
    if (complete) sealed.push({ feed, range, text: await read(feed, range) })
  }
}

const running = (market: TrueMarket) =>
  market.symbol === 'BTC' && market.startMs < LOST_MS && market.endMs > LOST_END_MS

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 1_000, slotMs: 10_000, ...FEW_STRIKES, venues: ['polymarket', 'kalshi'] },
  async ({ clock, sandbox }) => {
    await clock.runUntil(LOST_MS)
    // Trades are lost one by one while books keep arriving, so nothing shows that trades are missing.
    const durationMs = LOST_END_MS - LOST_MS
    sandbox.faults.set({ kind: 'mute', venue: 'polymarket', channel: 'last_trade_price', durationMs })
    sandbox.faults.set({ kind: 'mute', venue: 'kalshi', channel: 'trade', durationMs })
    for (let atMs = LOST_END_MS; atMs < END_MS; atMs += 3 * MINUTE_MS) {
      await clock.runUntil(atMs)
      await seal()
    }
    await clock.runUntil(END_MS)
    await seal()
  },
)

test('what the stream lost of every running market is there before it is sealed', async () => {
  const { truth } = made.world.sandbox
  for (const [index, venue] of (['polymarket', 'kalshi'] as const).entries()) {
    const feed = TRADES[index] as Feed
    const first = sealed.find((each) => each.feed === feed && each.range.to >= LOST_END_MS)
    assert.ok(first, `${venue}: nothing was sealed`)
    const stored = new Set(
      first.text.split('\n').map((line) => {
        const { trade_id: id } = JSON.parse(line) as TradeRow
        return venue === 'polymarket' ? id.slice(0, id.indexOf('-')) : id
      }),
    )
    const trades = truth
      .markets(venue, LOST_END_MS, LOST_END_MS + 48 * 60 * MINUTE_MS)
      .filter(running)
      .flatMap((market) => truth.trades(market.name, LOST_MS, LOST_END_MS) ?? [])
    assert.ok(trades.length > 5, `${venue}: ${trades.length} trades`)
    assert.deepEqual(
      trades.filter(({ id }) => !stored.has(id)),
      [],
      venue,
    )
  }
})

test('no page that was sealed has changed since', async () => {
  for (const feed of FEEDS) assert.ok(sealed.filter((each) => each.feed === feed).length >= 2, feed.source)
  for (const { feed, range, text } of sealed) assert.equal(await read(feed, range), text, feed.dataset)
})

test('trades are sealed within minutes, candles with the five minutes they belong to', () => {
  for (const [feed, behind] of behindMs) {
    const allowedMs = SEALED_WITHIN_MS + (feed.dataset === 'candles' ? 5 * MINUTE_MS : 0)
    // Before the first quarter of an hour nothing can be final, so only the last values count.
    const late = behind.slice(-2).filter((ms) => ms > allowedMs)
    assert.deepEqual(
      late,
      [],
      `${feed.source} ${feed.dataset}: ${behind.map((ms) => Math.round(ms / 1_000))}`,
    )
  }
})

test('a window of five minutes that has closed is sealed whole while those of an hour and a day run on', async () => {
  const [market] = made.world.sandbox.truth
    .markets('polymarket', at('10:45'), at('10:45') + 1)
    .filter(({ symbol, kind }) => symbol === 'BTC' && kind === '5m')
  assert.ok(market)
  const page = sealed.findLast(({ feed }) => feed === TRADES[0])
  assert.ok(page && page.range.to >= at('10:45'), new Date(page?.range.to ?? 0).toISOString())
  const rows = page.text.split('\n').map((line) => JSON.parse(line) as TradeRow)
  const own = rows.filter(({ market_id: id }) => id === idOf(market)).map(({ trade_id: id }) => id)
  const real = made.world.sandbox.truth.trades(market.name, page.range.from, page.range.to) ?? []
  assert.ok(real.length > 0)
  for (const { id } of real) assert.ok(own.some((stored) => stored.startsWith(id)))
})
