/** A venue that answers but lists no new markets is not the same as a quiet venue. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import type { Feed } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import { createLogger } from '../../kit/log.ts'
import { polymarketPlan as plan } from '../../venues/polymarket/plan.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { checkWindows } from './check-windows.ts'
import { snapshotFeed, trackedMarketFeeds } from './market-feeds.ts'
import type { MarketRecorder } from './record-market.ts'
import { MarketSampler } from './sample-market.ts'

const at = (text: string) => Date.parse(`2026-11-15T${text}Z`)
const START_MS = at('12:00:00')

async function setUp(t: TestContext, markets: MarketRecorder[] = [], startMs = START_MS) {
  const clock = manualClock(startMs)
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const writer = createRowWriter({
    store,
    random: Math.random,
    clock,
    log: createLogger({ level: 'silent' }),
  })
  const feeds = trackedMarketFeeds(plan, 'BTC')
  const tracker = createCoverageTracker({ feeds, coverage: store.coverage, writer })
  const windows = checkWindows({
    symbol: 'BTC',
    endless: ['5m', '15m'],
    tracker,
    feedOf: (type) => snapshotFeed(plan, 'BTC', type),
    markets: () => markets,
  })
  for (const { channels } of feeds)
    for (const channel of channels) if (/^(trades|book)/.test(channel)) tracker.up(channel, startMs)
  let nowMs = startMs
  /** Runs the checks while the catalogue answers all the time. */
  function run(toMs: number): void {
    for (; nowMs <= toMs; nowMs += 1_000) {
      windows.judge(nowMs, nowMs)
      tracker.coverTo(nowMs)
    }
  }
  async function gaps(feed: Feed, toMs: number): Promise<string[]> {
    await writer.flush()
    const found = (await store.coverage.read([feed], startMs + 1_000, toMs)).gaps
    return found.map(({ from, to, reason }) =>
      [new Date(from).toISOString().slice(11, 19), new Date(to).toISOString().slice(11, 19), reason].join(
        ' ',
      ),
    )
  }
  /** Lists all windows that end after the start, up to `toMs`. */
  function lists(type: '5m' | '15m', toMs: number): void {
    for (let endMs = START_MS + INTERVAL_MS[type]; endMs <= toMs; endMs += INTERVAL_MS[type])
      windows.knows(type, endMs)
  }
  return { windows, lists, run, gaps }
}

const BOOKS = snapshotFeed(plan, 'BTC', '5m')
const OTHER_BOOKS = snapshotFeed(plan, 'BTC', '15m')
const TRADES = feedOf('trades', 'predmkt_a', 'BTC')
const CANDLES = candleFeed('predmkt_a', 'BTC', '5m')

test('a window without a listed successor is followed by a gap of books, trades and candles, until one is listed', async (t) => {
  const { windows, lists, run, gaps } = await setUp(t)
  lists('5m', at('12:05:00'))
  lists('15m', at('13:00:00'))
  run(at('12:06:59'))
  assert.equal(windows.unlisted, 0)
  run(at('12:09:00'))
  for (const feed of [BOOKS, TRADES, CANDLES])
    assert.deepEqual(await gaps(feed, at('12:09:00')), ['12:05:00 12:09:00 not_observed'], feed.dataset)
  assert.deepEqual(await gaps(OTHER_BOOKS, at('12:09:00')), [])
  lists('5m', at('12:20:00'))
  run(at('12:12:00'))
  assert.deepEqual(await gaps(BOOKS, at('12:12:00')), ['12:05:00 12:09:01 not_observed'])
  assert.equal(windows.unlisted, 1)
})

test('a window that was over before it was listed is a gap, however short the rest of it was at the start', async (t) => {
  const { windows, lists, run, gaps } = await setUp(t, [], at('12:04:00'))
  windows.knows('5m', at('12:00:00'))
  lists('15m', at('13:00:00'))
  run(at('12:05:30'))
  assert.ok(windows.isKnownTo(at('12:00:00')) && !windows.isKnownTo(at('12:04:00')))
  windows.knows('5m', at('12:10:00'))
  run(at('12:08:00'))
  assert.ok(windows.isKnownTo(at('12:04:00')))
  for (const feed of [BOOKS, TRADES, CANDLES])
    assert.deepEqual(await gaps(feed, at('12:08:00')), ['12:04:01 12:05:32 not_observed'], feed.dataset)
  assert.deepEqual(await gaps(OTHER_BOOKS, at('12:08:00')), [])
  assert.equal(windows.unlisted, 1)
})

test('so is one that was left out of a list that has its successor', async (t) => {
  const { windows, lists, run, gaps } = await setUp(t)
  for (const end of ['12:05:00', '12:15:00']) windows.knows('5m', at(end))
  lists('15m', at('13:00:00'))
  run(at('12:14:00'))
  assert.deepEqual(await gaps(TRADES, at('12:14:00')), ['12:05:00 12:10:02 not_observed'])
})

test('a window that is listed after it began has a gap from its beginning on, though its book is there at once', async (t) => {
  const markets: MarketRecorder[] = []
  const { windows, run, gaps } = await setUp(t, markets)
  const begins = (startMs: number, endMs: number) => {
    const window = { startMs, endMs, market: { marketType: '5m' } }
    markets.push({ ...window, sampler: { isLive: true, takeDoubts: () => [] } } as unknown as MarketRecorder)
    windows.knows('5m', endMs)
  }
  begins(at('11:58:00'), at('12:05:00'))
  run(at('12:06:10'))
  begins(at('12:05:00'), at('12:10:00'))
  begins(at('12:10:00'), at('12:15:00'))
  run(at('12:12:00'))
  assert.deepEqual(await gaps(BOOKS, at('12:12:00')), ['12:05:00 12:06:12 not_observed'])
})

test('a book that turned out to have been wrong is a gap up to the end of its window, though it is known again only after it', async (t) => {
  const doubts = [{ fromMs: at('12:04:30'), toMs: at('12:05:40') }]
  const window = { startMs: at('12:00:00'), endMs: at('12:05:00'), market: { marketType: '5m' } }
  const sampler = { isLive: true, takeDoubts: () => (isKnownAgain ? doubts.splice(0) : []) }
  let isKnownAgain = false
  const { lists, run, gaps } = await setUp(t, [{ ...window, sampler } as unknown as MarketRecorder])
  for (const type of ['5m', '15m'] as const) lists(type, at('13:00:00'))
  run(at('12:05:40'))
  isKnownAgain = true
  run(at('12:07:00'))
  assert.deepEqual(await gaps(BOOKS, at('12:07:00')), ['12:04:30 12:05:00 not_observed'])
})

for (const reason of ['hash_mismatch', 'ended'] as const) {
  const isGap = reason !== 'ended'
  test(`a book that is lost after the end of its window and never known again is ${isGap ? 'a gap up to the end' : 'none, if it is just not followed any more'}: ${reason}`, async (t) => {
    const sampler = new MarketSampler({
      instruments: ['up'],
      fromMs: at('11:59:00'),
      toMs: () => Number.POSITIVE_INFINITY,
      onSample: () => true,
      receivedToMs: () => at('12:07:00'),
    })
    const window = { startMs: at('12:00:00'), endMs: at('12:05:00'), market: { marketType: '5m' } }
    const { lists, run, gaps } = await setUp(t, [{ ...window, sampler } as unknown as MarketRecorder])
    const about = { source: 'predmkt_a', symbol: 'BTC', instrument: 'up', key: null } as const
    const leg = { marketId: 'm', tokenId: 'up', outcome: 'Up' }
    const received = (text: string) => ({ ...about, leg, venueTimeMs: at(text), receivedMs: at(text) })
    for (const type of ['5m', '15m'] as const) lists(type, at('13:00:00'))
    sampler.snapshot({
      ...{ kind: 'book_snapshot', via: 'stream', bids: [], asks: [] },
      ...received('12:00:00'),
    })
    run(at('12:05:03'))
    sampler.lost({ kind: 'book_lost', reason, sinceMs: at('12:04:10'), ...received('12:05:03') })
    run(at('12:07:00'))
    assert.deepEqual(await gaps(BOOKS, at('12:07:00')), isGap ? ['12:04:10 12:05:00 not_observed'] : [])
  })
}

test('a book that turns out to have been wrong while another one is lost is a gap, even if neither is known again', async (t) => {
  const sampler = new MarketSampler({
    instruments: ['up', 'down'],
    fromMs: at('11:59:00'),
    toMs: () => Number.POSITIVE_INFINITY,
    onSample: () => true,
    receivedToMs: () => at('12:07:00'),
  })
  const window = { startMs: at('12:00:00'), endMs: at('12:05:00'), market: { marketType: '5m' } }
  const { lists, run, gaps } = await setUp(t, [{ ...window, sampler } as unknown as MarketRecorder])
  for (const type of ['5m', '15m'] as const) lists(type, at('13:00:00'))
  const about = (instrument: string, text: string) => ({
    ...({ source: 'predmkt_a', symbol: 'BTC', instrument, key: null } as const),
    leg: { marketId: 'm', tokenId: instrument, outcome: instrument },
    venueTimeMs: at(text),
    receivedMs: at(text),
  })
  for (const token of ['up', 'down'])
    sampler.snapshot({
      ...{ kind: 'book_snapshot', via: 'stream', bids: [], asks: [] },
      ...about(token, '12:00:00'),
    })
  const lose = (token: string, reason: 'top_mismatch' | 'hash_mismatch', since: string, found: string) => {
    run(at(found))
    sampler.lost({ kind: 'book_lost', reason, sinceMs: at(since), ...about(token, found) })
  }
  lose('up', 'top_mismatch', '12:04:49', '12:04:50')
  lose('down', 'hash_mismatch', '12:04:10', '12:04:56')
  run(at('12:07:00'))
  assert.deepEqual(await gaps(BOOKS, at('12:07:00')), ['12:04:10 12:05:01 not_observed'])
})

test('a duration that is never listed has no books to cover; trades and candles of the others have no gap', async (t) => {
  const { lists, run, gaps } = await setUp(t)
  lists('15m', at('13:00:00'))
  run(at('12:10:00'))
  assert.deepEqual(await gaps(BOOKS, at('12:10:00')), ['12:00:01 12:10:00 not_observed'])
  for (const feed of [OTHER_BOOKS, TRADES, CANDLES, snapshotFeed(plan, 'BTC', '1h')])
    assert.deepEqual(await gaps(feed, at('12:10:00')), [], feed.dataset)
})

test('a window that ended before the start makes no gap of the time before it', async (t) => {
  const { windows, lists, run, gaps } = await setUp(t)
  windows.knows('5m', at('09:00:00'))
  lists('15m', at('13:00:00'))
  run(at('12:01:59'))
  assert.deepEqual(await gaps(BOOKS, at('12:01:59')), [])
})

test('a list with a market that cannot be read: its duration, trades and candles are a gap while it has', async (t) => {
  const { windows, run, gaps, lists } = await setUp(t)
  for (const type of ['5m', '15m'] as const) lists(type, at('13:00:00'))
  run(at('12:10:00'))
  windows.unread(['4h'], at('12:10:00'))
  run(at('12:11:00'))
  windows.unread(['4h'], at('12:11:00'))
  run(at('12:12:00'))
  windows.unread([], at('12:12:00'))
  run(at('12:20:00'))
  const trades = feedOf('trades', plan.source, 'BTC')
  for (const feed of [snapshotFeed(plan, 'BTC', '4h'), trades]) {
    const [found, ...others] = await gaps(feed, at('12:20:00'))
    assert.match(found ?? '', /^12:10:00 12:12:0. not_observed/, feed.dataset)
    assert.deepEqual(others, [])
  }
  assert.deepEqual(await gaps(snapshotFeed(plan, 'BTC', '5m'), at('12:20:00')), [])
})
