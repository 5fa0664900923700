/**
 * The record of an Up/Down market: its tokens may come late, its figures may be left out, and its trades come twice.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { microLevels } from '../../../test/predictions/levels.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { TradeRow } from '../../core/rows/schemas.ts'
import { createLogger } from '../../kit/log.ts'
import { observed } from '../../store/coverage.ts'
import type { DataObservation, TradeObservation } from '../../venues/observation.ts'
import { polymarketPlan as plan } from '../../venues/polymarket/plan.ts'
import { createPolymarket } from '../../venues/polymarket/venue.ts'
import type { HistoryPage, Venue } from '../../venues/venue.ts'
import { feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { trackedMarketFeeds } from './market-feeds.ts'
import { recordMarkets } from './record-markets.ts'
import { createMarketWriter } from './write-markets.ts'

const START_MS = Date.parse('2026-11-15T10:00:00Z')
const END_MS = START_MS + 300_000
const BOOKS = feedOf('snapshots', 'predmkt_a', 'BTC', '5m')
const TRADES = feedOf('trades', 'predmkt_a', 'BTC')
const TOKENS = [
  { tokenId: '1100000011', outcome: 'Up' },
  { tokenId: '2200000022', outcome: 'Down' },
]
const market = (more: Partial<MarketInput> = {}): MarketInput => ({
  marketId: '0xaa',
  source: 'predmkt_a',
  symbol: 'BTC',
  slug: 'btc-updown-5m',
  marketType: '5m',
  startTime: START_MS,
  endTime: END_MS,
  active: true,
  status: 'open',
  tokens: TOKENS,
  volume: null,
  liquidity: 100,
  ...more,
})
const about = (instrument: string, timeMs: number) => ({
  source: 'predmkt_a' as const,
  symbol: 'BTC' as const,
  instrument,
  venueTimeMs: timeMs,
  receivedMs: timeMs,
  key: null,
})
const marketSent = (row: MarketInput, atMs: number): DataObservation => ({
  kind: 'market',
  ...about(row.marketId, atMs),
  market: row,
})
const leg = (index: 0 | 1) => ({ marketId: '0xaa', ...(TOKENS[index] as (typeof TOKENS)[0]) })
const bookOf = (index: 0 | 1, atMs: number): DataObservation => ({
  kind: 'book_snapshot',
  ...about(leg(index).tokenId, atMs),
  via: 'stream',
  bids: microLevels([['0.4', '10']]),
  asks: microLevels([['0.42', '5']]),
  leg: leg(index),
})
const trade = (id: string, atMs: number, size: string, isSwept = false): TradeObservation => ({
  kind: 'trade',
  ...about(leg(0).tokenId, atMs),
  id,
  price: '0.5',
  size,
  side: 'buy',
  leg: leg(0),
  ...(isSwept ? { isSwept } : {}),
})

async function setUp(t: TestContext, options: { atMs: number; listed?: readonly TradeObservation[] }) {
  const clock = pacedClock(options.atMs, 250)
  const store = await storesIn(':memory:', clock).environment('test')
  const log = createLogger({ level: 'silent' })
  const stop = new AbortController()
  const real = createPolymarket({ clock })
  async function* history(request: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    const observations = request.topic === 'trades' ? (options.listed ?? []) : []
    yield { observations, covered: request.range, missing: [] }
  }
  /** The parts of one run of the service; the store stays between runs. */
  function run() {
    const writer = createRowWriter({ store, random: Math.random, clock, log })
    const catalogue = createMarketWriter({ store, log })
    const feeds = trackedMarketFeeds(plan, 'BTC')
    const tracker = createCoverageTracker({ feeds, coverage: store.coverage, writer })
    const venue = { ...real, history } as Venue
    const parts = { plan, symbol: 'BTC', venue, store, writer, catalogue, tracker, clock, log } as const
    const recorder = recordMarkets({ ...parts, signal: stop.signal })
    for (const dataset of ['book', 'trades']) tracker.up(`${dataset}:BTC`, clock.now())
    recorder.answered?.('markets', clock.now())
    const pass = async (ms: number) => {
      for (const endMs = clock.now() + ms; clock.now() < endMs; ) {
        await clock.runUntil(clock.now() + 250)
        recorder.answered?.('markets', clock.now())
        recorder.sample(clock.now(), clock.now())
        recorder.judge?.(clock.now())
        recorder.show(clock.now(), clock.now())
        tracker.coverTo(clock.now() - 2_000)
      }
    }
    const save = async () => {
      await clock.during(writer.flush())
      await catalogue.flush()
    }
    return { recorder, tracker, pass, save, close: () => clock.during(writer.close()) }
  }
  t.after(async () => {
    stop.abort()
    await store.close()
  })
  return { clock, store, run }
}

test('a market that is listed without tokens is a gap in its window, and recorded as soon as it has them', async (t) => {
  const { clock, store, run } = await setUp(t, { atMs: START_MS - 30_000 })
  const { recorder, pass, save, close } = run()
  t.after(close)
  recorder.observe(marketSent(market({ tokens: [] }), clock.now()))
  await pass(90_000)
  recorder.observe(marketSent(market(), clock.now()))
  await pass(2_000)
  const booksMs = clock.now()
  for (const index of [0, 1] as const) recorder.observe(bookOf(index, booksMs))
  recorder.observe(trade('0x1-11000000-0', booksMs, '2'))
  await pass(10_000)
  await save()
  const { gaps } = await store.coverage.read([BOOKS], START_MS, booksMs + 5_000)
  assert.equal(gaps.length, 1, JSON.stringify(gaps))
  assert.ok((gaps[0]?.from ?? 0) <= START_MS && (gaps[0]?.to ?? 0) >= booksMs, JSON.stringify(gaps))
  assert.ok((gaps[0]?.to ?? 0) < booksMs + 3_000, JSON.stringify(gaps))
  const page = { range: { from: START_MS, to: END_MS }, order: 'asc', limit: 10, separator: '\n' } as const
  assert.equal((await store.series.page({ feeds: [BOOKS], ...page })).count, 1)
  assert.equal((await store.series.page({ feeds: [TRADES], ...page })).count, 1)
  assert.equal((await store.markets.get('2200000022'))?.market.market_id, '0xaa')
})

test('a loss before the first book takes nothing away from what an earlier run observed', async (t) => {
  const startedMs = START_MS - 30_000
  const { clock, store, run } = await setUp(t, { atMs: startedMs })
  await store.write({ coverage: [observed(BOOKS, startedMs - 600_000, startedMs - 5_000)] })
  const { recorder, tracker, pass, save, close } = run()
  t.after(close)
  recorder.observe(marketSent(market(), clock.now()))
  await pass(5_000)
  tracker.failed('book:BTC', clock.now(), 'venue_down')
  await pass(5_000)
  await save()
  const before = await store.coverage.read([BOOKS], startedMs - 600_000, startedMs - 5_000)
  assert.deepEqual(before.gaps, [])
  assert.deepEqual((await store.coverage.read([BOOKS], startedMs, startedMs + 5_000)).observed, [])
})

test('the last liquidity before the end and the winner outlast a list without them; so do tokens', async (t) => {
  const { clock, store, run } = await setUp(t, { atMs: START_MS - 30_000 })
  const first = run()
  first.recorder.observe(marketSent(market(), clock.now()))
  await first.save()
  await first.close()
  await clock.runUntil(END_MS + 60_000)
  const second = run()
  t.after(second.close)
  second.recorder.unresolved(
    market({ status: 'resolved', active: false, winner: 'Up', liquidity: null, tokens: [] }),
  )
  await second.pass(5_000)
  await second.save()
  const row = (await store.markets.get('0xaa'))?.market
  assert.deepEqual([row?.winner, row?.liquidity, row?.tokens.length], ['Up', 100, 2])
})

test('a volume that the venue leaves out is what was traded, once all trades were sent', async (t) => {
  const { clock, store, run } = await setUp(t, { atMs: START_MS - 30_000 })
  const { recorder, pass, save, close } = run()
  t.after(close)
  const volume = async () => {
    await save()
    return (await store.markets.get('0xaa'))?.market.volume
  }
  recorder.observe(marketSent(market({ volume: 0.5 }), clock.now()))
  recorder.observe(trade('0x1-11000000-0', START_MS + 1_234, '2'))
  await pass(400_000)
  const over = market({ status: 'resolved', active: false, winner: 'Up', volume: null, liquidity: null })
  recorder.observe(marketSent(over, clock.now()))
  await pass(1_000)
  assert.equal(await volume(), null, 'a figure from before the end is not that of the end')
  recorder.observe(trade('0x2-11000000-0', START_MS + 2_000, '7', true))
  recorder.observe({ kind: 'swept', ...about('0xaa', clock.now()) })
  await pass(1_000)
  assert.equal(await volume(), 4.5)
  recorder.observe(marketSent(over, clock.now()))
  await pass(1_000)
  assert.equal(await volume(), 4.5)
})

test('after a restart a transaction that the stream sent is kept, however the list counts its trades', async (t) => {
  const listed = [
    // The stream sent the second of the two as its first.
    trade('0x1-11000000-0', START_MS + 1_000, '3', true),
    trade('0x1-11000000-1', START_MS + 1_000, '2', true),
    trade('0x2-11000000-0', START_MS + 4_000, '9', true),
  ]
  const { clock, store, run } = await setUp(t, { atMs: START_MS - 30_000, listed })
  const first = run()
  first.recorder.observe(marketSent(market({ volume: 0 }), clock.now()))
  await first.pass(35_000)
  first.recorder.observe(trade('0x1-11000000-0', START_MS + 1_234, '2'))
  await first.save()
  await first.close()
  const second = run()
  t.after(second.close)
  second.recorder.observe(marketSent(market({ volume: 2 }), clock.now()))
  await second.pass(5_000)
  for (const each of listed) second.recorder.observe(each)
  await second.pass(5_000)
  await second.save()
  const { text } = await store.series.page({
    feeds: [TRADES],
    range: { from: START_MS, to: END_MS },
    order: 'asc',
    limit: 10,
    separator: '\n',
  })
  const rows = text.split('\n').map((line) => JSON.parse(line) as TradeRow)
  assert.deepEqual(
    rows.map(({ trade_id, size }) => [trade_id, size]),
    [
      ['0x1-11000000-0', 2],
      ['0x2-11000000-0', 9],
    ],
  )
})
