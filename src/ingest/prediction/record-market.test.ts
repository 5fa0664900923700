/**
 * One prediction market on a store: what a row may know, which midpoints make a candle, and what a restart restores.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { microLevels } from '../../../test/predictions/levels.ts'
import { type Feed, feedName } from '../../core/feed.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { CandleRow, OpenInterestRow } from '../../core/rows/schemas.ts'
import { createLogger } from '../../kit/log.ts'
import { gap, observed } from '../../store/coverage.ts'
import { VENUES } from '../../venues/list.ts'
import type { DataObservation, TradeObservation } from '../../venues/observation.ts'
import { polymarketPlan } from '../../venues/polymarket/plan.ts'
import type { HistoryPage, HistoryRange, Venue } from '../../venues/venue.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { MarketRecorder } from './record-market.ts'
import { type MarketsRecorder, recordMarkets } from './record-markets.ts'
import { createReferencePrices } from './reference-prices.ts'
import { restoreMarket } from './restore-market.ts'
import { createMarketWriter } from './write-markets.ts'

const START_MS = Date.parse('2026-11-15T12:00:00Z')
const log = createLogger({ level: 'silent' })
type Name = 'polymarket' | 'kalshi'

const MARKETS: Record<Name, MarketInput> = {
  polymarket: {
    marketId: '0xaa',
    source: 'predmkt_a',
    symbol: 'BTC',
    marketType: '15m',
    tokens: ['Up', 'Down'].map((outcome) => ({ tokenId: outcome.toLowerCase(), outcome })),
    startTime: START_MS,
    endTime: START_MS + 900_000,
    active: true,
    status: 'open',
    volume: '5',
  },
  kalshi: {
    marketId: 'KXBTC15M-X',
    source: 'predmkt_b',
    symbol: 'BTC',
    marketType: '15m',
    tokens: [],
    startTime: START_MS,
    endTime: START_MS + 900_000,
    active: true,
    status: 'open',
    volume: '5',
  },
}

const about = (name: Name, instrument: string, timeMs: number) => {
  const { marketId, source } = MARKETS[name]
  const leg = { marketId, tokenId: name === 'kalshi' ? null : instrument, outcome: 'yes' }
  return {
    source,
    symbol: 'BTC' as const,
    instrument,
    venueTimeMs: timeMs,
    receivedMs: timeMs,
    key: null,
    leg,
  }
}

function book(name: Name, instrument: string, timeMs: number, bid: string, ask: string): DataObservation {
  return {
    kind: 'book_snapshot',
    ...about(name, instrument, timeMs),
    via: 'stream',
    bids: microLevels([[bid, '10']]),
    asks: microLevels([[ask, '10']]),
  }
}

const trade = (timeMs: number, price: string, isBlock = false): TradeObservation => ({
  kind: 'trade',
  ...about('kalshi', 'KXBTC15M-X', timeMs),
  id: `t${timeMs}`,
  price,
  size: '10',
  side: 'buy',
  ...(isBlock ? { isBlock } : {}),
})

/** A venue that does not answer until `answer` is called. */
function waitingVenue(): { venue: Venue; answer: () => void } {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const venue = {
    async *history() {
      await answered
      yield { observations: [], covered: null, missing: [] }
    },
  } as unknown as Venue
  return { venue, answer }
}

async function setUp(t: TestContext) {
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const writer = createRowWriter({ store, random: Math.random, clock, log })
  t.after(() => store.close())
  const recorderOf = (name: Name, referencePrice: (timeMs: number) => string | null = () => null) =>
    new MarketRecorder({
      plan: VENUES[name].plan,
      market: MARKETS[name],
      writer,
      referencePrice,
      booksReceivedToMs: () => START_MS,
    })
  async function rows<T>(feed: Feed): Promise<T[]> {
    await writer.flush()
    const range = { from: 0, to: Number.MAX_SAFE_INTEGER }
    const { text } = await store.series.page({
      ...{ feeds: [feed], range, order: 'asc', limit: 100, separator: '\n' },
    })
    return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as T)
  }
  const stop = new AbortController()
  t.after(() => stop.abort())
  /** For a recorder of all markets, from a venue that has no history. */
  const partsOf = (name: Name) => ({
    ...{ plan: VENUES[name].plan, symbol: 'BTC' as const, store, writer, clock, log, signal: stop.signal },
    tracker: createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
    catalogue: createMarketWriter({ store, log }),
    venue: { history: async function* () {} } as unknown as Venue,
  })
  return { clock, store, writer, recorderOf, rows, partsOf }
}

test('a row of a contract holds the last price and the figures of its instant, not those of the moment it is taken', async (t) => {
  const { recorderOf, rows } = await setUp(t)
  const recorder = recorderOf('kalshi')
  const ticker = (timeMs: number, volume: string): DataObservation => ({
    kind: 'market_ticker',
    ...about('kalshi', 'KXBTC15M-X', timeMs),
    lastPrice: '0.4',
    volume,
    openInterest: volume,
  })
  recorder.observe(book('kalshi', 'KXBTC15M-X', START_MS + 100, '0.4', '0.5'))
  recorder.trade(trade(START_MS + 200, '0.41'))
  recorder.observe(ticker(START_MS + 300, '10'))
  recorder.trade(trade(START_MS + 700, '0.47'))
  recorder.observe(ticker(START_MS + 800, '20'))
  recorder.sampler.tick(START_MS + 1_500)
  const [row] = await rows<Record<string, unknown>>(feedOf('snapshots', 'predmkt_b', 'BTC', '15m'))
  assert.deepEqual(
    [row?.timestamp, row?.last_price, row?.volume, row?.open_interest],
    ['2026-11-15T12:00:00.500Z', 0.41, 10, 10],
  )
})

test('the reference price of a row is the last tick at or before it', async (t) => {
  const { recorderOf, rows } = await setUp(t)
  const references = createReferencePrices(polymarketPlan.usualSettlement)
  const recorder = recorderOf('polymarket', (timeMs) => references.before({ marketType: '15m' }, timeMs))
  for (const [timeMs, price] of [
    [START_MS, '100'],
    [START_MS + 501, '101'],
  ] as const)
    references.receive({
      kind: 'reference_price',
      ...about('polymarket', '', timeMs),
      settlement: { of: 'chainlink', windowSeconds: 60 },
      price,
    })
  for (const token of ['up', 'down'])
    recorder.observe(book('polymarket', token, START_MS + 100, '0.49', '0.51'))
  recorder.sampler.tick(START_MS + 1_500)
  const [row] = await rows<Record<string, unknown>>(feedOf('snapshots', 'predmkt_a', 'BTC', '15m'))
  assert.equal(row?.reference_price, 100)
})

test('the reference price of a row is the one that the market settles on, though its first listing did not name it', async (t) => {
  const { clock, rows, partsOf } = await setUp(t)
  clock.set(START_MS - 120_000)
  const recorder = recordMarkets(partsOf('polymarket'))
  const halfMinute = { of: 'chainlink', windowSeconds: 30 } as const
  const seen = (market: MarketInput): DataObservation => ({
    kind: 'market',
    ...about('polymarket', '', clock.now()),
    market,
  })
  recorder.observe(seen(MARKETS.polymarket))
  clock.set(START_MS - 90_000)
  recorder.observe(seen({ ...MARKETS.polymarket, settlement: halfMinute }))
  clock.set(START_MS)
  for (const [windowSeconds, price] of [
    [30, '100'],
    [60, '101'],
  ] as const)
    recorder.observe({
      kind: 'reference_price',
      ...about('polymarket', '', START_MS),
      settlement: { of: 'chainlink', windowSeconds },
      price,
    })
  for (const token of ['up', 'down'])
    recorder.observe(book('polymarket', token, START_MS + 100, '0.49', '0.51'))
  clock.set(START_MS + 1_600)
  recorder.sample(START_MS + 1_600, START_MS + 1_600)
  const [row] = await rows<Record<string, unknown>>(feedOf('snapshots', 'predmkt_a', 'BTC', '15m'))
  assert.equal(row?.reference_price, 100)
})

for (const lost of ['connection', 'number'] as const)
  test(`the last price of a row is the venue's figure where trades since the last known one may be lost: ${lost}`, async (t) => {
    const { clock, rows, partsOf } = await setUp(t)
    clock.set(START_MS - 120_000)
    const recorder = recordMarkets(partsOf('kalshi'))
    const id = 'KXBTC15M-X'
    const figures = (timeMs: number, lastPrice: string): DataObservation => ({
      kind: 'market_ticker',
      ...about('kalshi', id, timeMs),
      ...{ lastPrice, volume: '1', openInterest: '1' },
    })
    const traded = (timeMs: number, price: string): DataObservation => ({
      kind: 'trade',
      ...about('kalshi', id, timeMs),
      ...{ id: `t${timeMs}`, price, size: '1', side: 'buy' },
    })
    const sampled = (timeMs: number, ask: string) => {
      recorder.observe(book('kalshi', id, timeMs, '0.30', ask))
      clock.set(timeMs + 1_600)
      recorder.sample(timeMs + 1_600, timeMs + 1_600)
    }
    recorder.observe({ kind: 'market', ...about('kalshi', '', clock.now()), market: MARKETS.kalshi })
    recorder.observe(traded(START_MS + 1_000, '0.4'))
    // A figure alone proves nothing about a trade that was received.
    recorder.observe(figures(START_MS + 1_001, '0.39'))
    sampled(START_MS + 1_100, '0.9')
    if (lost === 'connection') recorder.begins('trades', START_MS + 20_000)
    else {
      const range = { fromMs: START_MS + 10_000, toMs: START_MS + 20_000 }
      recorder.observe({ kind: 'trades_lost', ...about('kalshi', '', START_MS + 20_000), ...range })
    }
    recorder.observe(figures(START_MS + 20_100, '0.6'))
    sampled(START_MS + 20_200, '0.8')
    recorder.observe(traded(START_MS + 25_000, '0.7'))
    sampled(START_MS + 25_200, '0.9')
    const found = await rows<Record<string, unknown>>(feedOf('snapshots', 'predmkt_b', 'BTC', '15m'))
    assert.deepEqual(
      found.map((row) => row.last_price),
      [0.4, 0.6, 0.7],
    )
  })

for (const volume of ['0.00', null])
  test(`the trades of a gap are ${volume === null ? 'requested where the newest list leaves out' : 'none where the newest list says 0 for'} the volume of a contract that had none before`, async (t) => {
    const { clock, store, writer } = await setUp(t)
    const stop = new AbortController()
    t.after(() => stop.abort())
    const tracker = createCoverageTracker({ feeds: [], coverage: store.coverage, writer })
    const catalogue = createMarketWriter({ store, log })
    const requested: string[] = []
    const venue = {
      async *history({ topic, range }: { topic: string; range: HistoryRange }): AsyncGenerator<HistoryPage> {
        requested.push(topic)
        yield { observations: [], covered: range, missing: [] }
      },
    } as unknown as Venue
    const { plan } = VENUES.kalshi
    const { signal } = stop
    clock.set(START_MS - 120_000)
    const recorder = recordMarkets({
      ...{ plan, symbol: 'BTC', venue, store, writer, catalogue, tracker, clock, log, signal },
    })
    const feed = feedOf('trades', 'predmkt_b', 'BTC')
    const predecessor = { marketId: 'KXBTC15M-W', startTime: START_MS - 900_000, endTime: START_MS }
    const listed = (market: MarketInput) => {
      const seen = about('kalshi', market.marketId, clock.now())
      recorder.observe({ kind: 'market', ...seen, market: { ticker: market.marketId, ...market } })
    }
    listed({ ...MARKETS.kalshi, ...predecessor, volume: '0.00' })
    listed({ ...MARKETS.kalshi, volume: '0.00' })
    recorder.listedUnresolved()
    await store.write({
      coverage: [
        observed(feed, START_MS - 120_000, START_MS + 60_000),
        gap(feed, START_MS + 60_000, START_MS + 90_000, 'not_observed'),
        observed(feed, START_MS + 90_000, START_MS + 400_000),
      ],
    })
    clock.set(START_MS + 400_000)
    listed({ ...MARKETS.kalshi, ...predecessor, status: 'closed', volume: '0.00' })
    listed({ ...MARKETS.kalshi, volume })
    recorder.answered?.('markets', START_MS + 400_000)
    requested.splice(0)
    const closed = recorder.close(START_MS + 400_000).catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 50))
    stop.abort()
    await closed
    assert.deepEqual(requested, volume === null ? ['markets', 'trades'] : ['markets'])
  })

for (const closesAfter of [undefined, 302_000])
  test(`open interest at a point of the grid is the last figure at or before it that was received, else that of the list${closesAfter ? ', also of a contract that closes just after it' : ''}`, async (t) => {
    const { clock, rows, partsOf } = await setUp(t)
    const recorder = recordMarkets(partsOf('kalshi'))
    const interest = (timeMs: number, openInterest: string): DataObservation => ({
      kind: 'open_interest',
      ...about('kalshi', 'KXBTC15M-X', timeMs),
      openInterest,
      valueUsd: openInterest,
    })
    clock.set(START_MS + 1_000)
    recorder.observe({
      kind: 'market',
      ...about('kalshi', '', START_MS),
      market: { ...MARKETS.kalshi, openInterest: 3 },
    })
    recorder.show(START_MS + 1_000, START_MS)
    // A figure from the time while the list was on its way.
    recorder.observe(interest(START_MS + 500, '5'))
    recorder.observe(interest(START_MS + 301_000, '9'))
    if (closesAfter !== undefined) {
      clock.set(START_MS + 303_000)
      const closed = { active: false, status: 'closed', endTime: START_MS + closesAfter } as const
      const market = { ...MARKETS.kalshi, ...closed, openInterest: 9 }
      recorder.observe({ kind: 'market', ...about('kalshi', '', clock.now()), market })
    }
    clock.set(START_MS + 306_000)
    recorder.show(START_MS + 306_000, START_MS)
    const found = await rows<OpenInterestRow>(feedOf('open_interest', 'predmkt_b', 'BTC', '5m'))
    assert.deepEqual(
      found.map((row) => [row.market_id, row.open_interest]),
      [
        [undefined, 5],
        ['KXBTC15M-X', 5],
      ],
    )
  })

test('a contract that closes later than it was listed with is sampled and counted up to its new end; what was missed is a gap', async (t) => {
  const { clock, store, writer, rows } = await setUp(t)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const lost: string[] = []
  const tracker = {
    ...createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
    lost(feed: Feed, fromMs: number, toMs: number) {
      lost.push(`${feed.dataset} ${feed.interval} ${fromMs - START_MS} ${toMs - START_MS}`)
    },
  }
  const catalogue = createMarketWriter({ store, log })
  const venue = { history: async function* () {} } as unknown as Venue
  const { plan } = VENUES.kalshi
  const { signal } = stop
  const parts = { plan, venue, store, writer, catalogue, tracker, clock, log, signal }
  let recorder = recordMarkets({ ...parts, symbol: 'BTC' })
  const list = (ms: number, endMs: number, marketType: MarketInput['marketType'] = '15m') => {
    clock.set(START_MS + ms)
    const market = { ...MARKETS.kalshi, marketType, endTime: START_MS + endMs }
    recorder.observe({ kind: 'market', ...about('kalshi', '', clock.now()), market })
  }
  list(1_000, 300_000)
  recorder.observe(book('kalshi', 'KXBTC15M-X', START_MS + 1_000, '0.4', '0.5'))
  // By its new length the contract has another duration, in every list.
  list(250_000, 600_000, '1h')
  list(280_000, 600_000, '1h')
  const interest: DataObservation = {
    kind: 'open_interest',
    ...about('kalshi', 'KXBTC15M-X', START_MS + 290_000),
    openInterest: '7',
    valueUsd: '7',
  }
  recorder.observe(interest)
  clock.set(START_MS + 306_000)
  recorder.show(clock.now(), clock.now())
  const sums = await rows<OpenInterestRow>(feedOf('open_interest', 'predmkt_b', 'BTC', '5m'))
  assert.deepEqual(
    sums.map((row) => row.open_interest),
    [7, 7],
  )
  recorder.observe(book('kalshi', 'KXBTC15M-X', START_MS + 400_000, '0.3', '0.5'))
  recorder.sample(START_MS + 402_000, START_MS + 402_000)
  const sampled = await rows<{ timestamp: string }>(feedOf('snapshots', 'predmkt_b', 'BTC', '15m'))
  assert.equal(sampled.at(-1)?.timestamp, '2026-11-15T12:06:40.000Z')
  assert.deepEqual(lost, [])
  // The venue announces the new end only after the contract has ended.
  clock.set(START_MS + 606_000)
  recorder.show(clock.now(), clock.now())
  list(620_000, 900_000, '1h')
  assert.deepEqual(lost, ['snapshots 15m 600000 620000', 'open_interest 5m 600000 600001'])
  const typeNow = async () => {
    await catalogue.flush()
    return (await store.markets.get('KXBTC15M-X', { source: 'predmkt_b', symbol: 'BTC' }))?.market.market_type
  }
  assert.equal(await typeNow(), '15m')
  await writer.flush()
  clock.set(START_MS + 630_000)
  recorder = recordMarkets({ ...parts, symbol: 'BTC' })
  list(631_000, 900_000, '1h')
  for (let turn = 0; turn < 100 && lost.length < 3; turn++) await new Promise(setImmediate)
  list(640_000, 900_000, '1h')
  assert.equal(await typeNow(), '15m')
  assert.equal(lost[2], 'snapshots 15m 631000 631000')
  recorder.observe(book('kalshi', 'KXBTC15M-X', START_MS + 650_000, '0.3', '0.5'))
  recorder.sample(START_MS + 652_000, START_MS + 652_000)
  const after = await rows<{ timestamp: string }>(feedOf('snapshots', 'predmkt_b', 'BTC', '15m'))
  assert.equal(after.at(-1)?.timestamp, '2026-11-15T12:10:50.000Z')
})

test('books after the last list, or of a contract that it leaves out at its end, are not final: it may close later; what is final of it stays as it was', async (t) => {
  for (const [listedMs, seenMs, lostFromMs] of [
    [310_000, 305_000, 300_000],
    [690_000, 305_000, 550_000],
    [690_000, 290_000, 300_000],
  ] as const) {
    const { clock, store, writer } = await setUp(t)
    const stop = new AbortController()
    t.after(() => stop.abort())
    const lost: number[] = []
    const tracker = {
      ...createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
      lost: (feed: Feed, fromMs: number) => {
        if (feed.dataset === 'snapshots') lost.push(fromMs - START_MS)
      },
    }
    const catalogue = createMarketWriter({ store, log })
    const venue = { history: async function* () {} } as unknown as Venue
    const { signal } = stop
    const parts = { plan: VENUES.kalshi.plan, venue, store, writer, catalogue, tracker, clock, log, signal }
    const recorder = recordMarkets({ ...parts, symbol: 'BTC' })
    const list = (ms: number, endMs: number) => {
      clock.set(START_MS + ms)
      const market = { ...MARKETS.kalshi, endTime: START_MS + endMs }
      recorder.observe({ kind: 'market', ...about('kalshi', market.marketId, clock.now()), market })
    }
    recorder.listedUnresolved()
    list(1_000, 300_000)
    list(seenMs, 300_000)
    recorder.answered?.('markets', START_MS + listedMs)
    clock.set(START_MS + 700_000)
    void recorder.close(clock.now()).catch(() => {})
    await new Promise(setImmediate)
    list(710_000, 900_000)
    assert.deepEqual(lost, [lostFromMs])
  }
})

test('a contract that closed earlier than it was listed with: what was sampled since is a gap, also after a restart', async (t) => {
  const { clock, store, writer } = await setUp(t)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const lost: string[] = []
  const tracker = {
    ...createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
    lost: (feed: Feed, fromMs: number, toMs: number) =>
      void lost.push(`${feed.dataset} ${feed.interval} ${fromMs - START_MS} ${toMs - START_MS}`),
  }
  const catalogue = createMarketWriter({ store, log })
  const venue = { history: async function* () {} } as unknown as Venue
  const { signal } = stop
  const parts = { plan: VENUES.kalshi.plan, venue, store, writer, catalogue, tracker, clock, log, signal }
  const list = (recorder: MarketsRecorder, ms: number, more: Partial<MarketInput>) => {
    clock.set(START_MS + ms)
    const market = { ...MARKETS.kalshi, ...more }
    recorder.observe({ kind: 'market', ...about('kalshi', market.marketId, clock.now()), market })
  }
  const closed = { endTime: START_MS + 295_000, status: 'closed', active: false } as const
  const running = recordMarkets({ ...parts, symbol: 'BTC' })
  list(running, 1_000, {})
  clock.set(START_MS + 306_000)
  running.show(clock.now(), clock.now())
  lost.length = 0
  list(running, 340_000, closed)
  assert.deepEqual(lost, ['snapshots 15m 295000 340000', 'open_interest 5m 300000 300001'])
  lost.length = 0
  // The process ended before it knew that the contract had closed.
  await store.write({ markets: [MARKETS.kalshi] })
  clock.set(START_MS + 360_000)
  const restarted = recordMarkets({ ...parts, symbol: 'BTC' })
  list(restarted, 361_000, closed)
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  assert.deepEqual(
    lost.filter((each) => each.startsWith('snapshots')),
    ['snapshots 15m 295000 361000'],
  )
})

test('books since lists leave out a running contract are not final, nor any before those of an earlier run are listed', async (t) => {
  for (const [isUnresolvedListed, expected, lostFromMs] of [
    [true, [], 310_000],
    [false, [], 250_000],
    [true, [{ marketId: 'KX-LEFT-OUT', marketType: null }], 250_000],
  ] as const) {
    const { clock, store, writer } = await setUp(t)
    const stop = new AbortController()
    t.after(() => stop.abort())
    const lost: number[] = []
    const tracker = {
      ...createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
      lost: (feed: Feed, fromMs: number) => {
        if (feed.dataset === 'snapshots') lost.push(fromMs - START_MS)
      },
    }
    const catalogue = createMarketWriter({ store, log })
    const venue = { history: async function* () {} } as unknown as Venue
    const { signal } = stop
    const parts = { plan: VENUES.kalshi.plan, venue, store, writer, catalogue, tracker, clock, log, signal }
    const recorder = recordMarkets({ ...parts, symbol: 'BTC' })
    recorder.expect(expected)
    if (isUnresolvedListed) recorder.listedUnresolved()
    const list = (ms: number, more: Partial<MarketInput> = {}) => {
      clock.set(START_MS + ms)
      const market = { ...MARKETS.kalshi, ...more }
      recorder.observe({ kind: 'market', ...about('kalshi', market.marketId, clock.now()), market })
    }
    list(1_000)
    list(lostFromMs > 300_000 ? 305_000 : 699_000)
    recorder.answered?.('markets', START_MS + 690_000)
    clock.set(START_MS + 700_000)
    void recorder.close(clock.now()).catch(() => {})
    await new Promise(setImmediate)
    list(710_000, { endTime: START_MS + lostFromMs, status: 'closed', active: false })
    assert.deepEqual(lost, [lostFromMs])
  }
})

test('a window whose end moves is sampled up to its new end; what was missed, or sampled after it, is a gap', async (t) => {
  const { clock, rows, partsOf } = await setUp(t)
  const lost: string[] = []
  const parts = partsOf('polymarket')
  const tracker = {
    ...parts.tracker,
    lost(feed: Feed, fromMs: number, toMs: number) {
      lost.push(`${feed.dataset} ${feed.interval} ${fromMs - START_MS} ${toMs - START_MS}`)
    },
  }
  const recorder = recordMarkets({ ...parts, tracker })
  const list = (ms: number, endMs: number) => {
    clock.set(START_MS + ms)
    const market = { ...MARKETS.polymarket, endTime: START_MS + endMs }
    recorder.observe({ kind: 'market', ...about('polymarket', '', clock.now()), market })
  }
  const sampledAt = async (ms: number) => {
    for (const token of ['up', 'down'])
      recorder.observe(book('polymarket', token, START_MS + ms, `0.${ms / 100_000}`, '0.5'))
    recorder.sample(START_MS + ms + 2_000, START_MS + ms + 2_000)
    const sampled = await rows<{ timestamp: string }>(feedOf('snapshots', 'predmkt_a', 'BTC', '15m'))
    return sampled.some(({ timestamp }) => Date.parse(timestamp) === START_MS + ms)
  }
  list(1_000, 300_000)
  assert.equal(await sampledAt(100_000), true)
  list(250_000, 600_000)
  assert.equal(await sampledAt(400_000), true)
  assert.deepEqual(lost, [])
  list(620_000, 900_000)
  assert.deepEqual(lost, ['snapshots 15m 600000 620000'])
  list(640_000, 630_000)
  assert.deepEqual(lost.slice(1), ['snapshots 15m 630000 640000'])
})

test('a window whose end moved while nothing was recorded: what an earlier run claimed after the old end is a gap', async (t) => {
  const { clock, store, partsOf } = await setUp(t)
  const lost: string[] = []
  const parts = partsOf('polymarket')
  const tracker = {
    ...parts.tracker,
    lost: (feed: Feed, fromMs: number, toMs: number) =>
      void lost.push(`${feed.dataset} ${feed.interval} ${fromMs - START_MS} ${toMs - START_MS}`),
  }
  const feed = feedOf('snapshots', 'predmkt_a', 'BTC', '15m')
  await store.write({
    markets: [{ ...MARKETS.polymarket, endTime: START_MS + 300_000 }],
    finalize: [{ feed, before: START_MS + 400_000 }],
  })
  clock.set(START_MS + 610_000)
  const recorder = recordMarkets({ ...parts, tracker })
  recorder.observe({
    ...{ kind: 'market', ...about('polymarket', '', clock.now()), market: MARKETS.polymarket },
  })
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  assert.deepEqual(lost, ['snapshots 15m 400000 610000'])
})

test('a contract whose end moved while nothing was recorded: what an earlier run claimed after the old end is a gap', async (t) => {
  for (const [finalMs, lostFromMs] of [
    [0, 300_000],
    [400_000, 400_000],
    [700_000, undefined],
  ] as const) {
    const { clock, store, writer } = await setUp(t)
    const stop = new AbortController()
    t.after(() => stop.abort())
    const lost: string[] = []
    const tracker = {
      ...createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
      lost: (feed: Feed, fromMs: number, toMs: number) =>
        void lost.push(`${feed.dataset} ${feed.interval} ${fromMs - START_MS} ${toMs - START_MS}`),
    }
    const feed = feedOf('snapshots', 'predmkt_b', 'BTC', '15m')
    await store.write({
      markets: [{ ...MARKETS.kalshi, endTime: START_MS + 300_000 }],
      finalize: [{ feed, before: START_MS + finalMs }],
    })
    clock.set(START_MS + 610_000)
    const catalogue = createMarketWriter({ store, log })
    const venue = { history: async function* () {} } as unknown as Venue
    const { signal } = stop
    const parts = { plan: VENUES.kalshi.plan, venue, store, writer, catalogue, tracker, clock, log, signal }
    const recorder = recordMarkets({ ...parts, symbol: 'BTC' })
    const market = { ...MARKETS.kalshi, marketType: '1h' as const }
    recorder.observe({ kind: 'market', ...about('kalshi', '', clock.now()), market })
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
    const gridMs = Math.ceil((lostFromMs ?? 0) / 300_000) * 300_000
    assert.deepEqual(
      lost.filter((each) => !each.endsWith('610000 610000')),
      lostFromMs === undefined
        ? []
        : [`snapshots 15m ${lostFromMs} 610000`, `open_interest 5m ${gridMs} 600001`],
    )
  }
})

test('lost trades are a gap of the trades and of the candles that lack them, from the last sweep on', async (t) => {
  const { clock, store, writer } = await setUp(t)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const lost = new Map<string, string>()
  const tracker = {
    ...createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
    unreceived(feed: Feed, fromMs: number, toMs: number) {
      lost.set(feedName(feed), `${fromMs - START_MS} ${toMs - START_MS}`)
    },
  }
  const catalogue = createMarketWriter({ store, log })
  const venue = { history: async function* () {} } as unknown as Venue
  const { plan } = VENUES.kalshi
  const { signal } = stop
  const recorder = recordMarkets({
    ...{ plan, symbol: 'BTC', venue, store, writer, catalogue, tracker, clock, log, signal },
  })
  clock.set(START_MS + 400_000)
  recorder.observe({ kind: 'swept_to', ...about('kalshi', '', clock.now()), toMs: START_MS + 300_000 })
  await new Promise(setImmediate)
  const range = { fromMs: START_MS + 100_000, toMs: clock.now() }
  recorder.observe({ kind: 'trades_lost', ...about('kalshi', '', clock.now()), ...range })
  const trades = feedOf('trades', 'predmkt_b', 'BTC')
  const feeds = [trades, ...COARSE_INTERVALS.map((interval) => candleFeed('predmkt_b', 'BTC', interval))]
  assert.deepEqual(
    [...lost],
    feeds.map((feed) => [feedName(feed), '300000 400000']),
  )
})

test('a contract that is listed only while it runs: its trades are a gap until they are requested, sums lacked it', async (t) => {
  const { clock, store, writer } = await setUp(t)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const lost: string[] = []
  const note = (feed: Feed, fromMs: number, toMs: number) =>
    void lost.push(`${feed.dataset} ${feed.interval ?? ''} ${fromMs - START_MS} ${toMs - START_MS}`)
  const tracker = {
    ...createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
    ...{ lost: note, unproven: note },
  }
  const catalogue = createMarketWriter({ store, log })
  const venue = { history: async function* () {} } as unknown as Venue
  const { plan } = VENUES.kalshi
  const { signal } = stop
  clock.set(START_MS - 60_000)
  const recorder = recordMarkets({
    ...{ plan, symbol: 'BTC', venue, store, writer, catalogue, tracker, clock, log, signal },
  })
  const list = (ms: number, more: Partial<MarketInput> = {}) => {
    clock.set(START_MS + ms)
    const market = { ...MARKETS.kalshi, ...more }
    recorder.observe({ kind: 'market', ...about('kalshi', market.marketId, clock.now()), market })
    recorder.answered?.('markets', clock.now())
  }
  list(-50_000, { marketId: 'KX-NEXT', startTime: START_MS + 3_600_000, endTime: START_MS + 7_200_000 })
  for (const ms of [6_000, 306_000]) {
    clock.set(START_MS + ms)
    recorder.show(clock.now(), clock.now())
  }
  assert.deepEqual(lost, [])
  list(310_000, { startTime: START_MS + 285_000, endTime: START_MS + 900_000 })
  list(340_000, { startTime: START_MS + 285_000, endTime: START_MS + 900_000 })
  assert.deepEqual(lost.splice(0), ['trades  285000 310000', 'open_interest 5m 300000 300001'])
  list(345_000, { marketId: 'KX-ON-GRID', startTime: START_MS + 300_000, endTime: START_MS + 900_000 })
  assert.deepEqual(lost, ['trades  300000 345000'], 'it opened without any open interest')
})

test('empty lists after a start close no gap of an earlier run', async (t) => {
  const { clock, store, writer } = await setUp(t)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const { plan } = VENUES.polymarket
  const trades = feedOf('trades', plan.source, 'BTC')
  await store.write({
    coverage: [
      observed(trades, START_MS - 600_000, START_MS - 500_000),
      gap(trades, START_MS - 500_000, START_MS - 400_000, 'venue_down'),
      observed(trades, START_MS - 400_000, START_MS),
    ],
  })
  const closed: Feed[] = []
  const tracker = {
    ...createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
    confirm: (feed: Feed) => void closed.push(feed),
  }
  const venue = {
    async *history({ range }: { range: HistoryRange }) {
      yield { observations: [], covered: range, missing: [] }
    },
  } as unknown as Venue
  const catalogue = createMarketWriter({ store, log })
  const recorder = recordMarkets({
    ...{ plan, symbol: 'BTC', venue, store, writer, catalogue, tracker, clock, log, signal: stop.signal },
  })
  recorder.listedUnresolved()
  recorder.answered?.('markets', clock.now())
  void recorder.close(clock.now()).catch(() => {})
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  assert.deepEqual(closed, [])
})

test('candles are claimed no further than they were shown, nor beyond a market that is being restored', async (t) => {
  const { clock, store, writer } = await setUp(t)
  const stop = new AbortController()
  t.after(() => stop.abort())
  let limitMs: number | undefined
  const tracker = {
    ...createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
    limit(feed: Feed, toMs: number) {
      if (feed.dataset === 'candles') limitMs = toMs - START_MS
    },
  }
  const catalogue = createMarketWriter({ store, log })
  const { venue, answer } = waitingVenue()
  const { plan } = VENUES.kalshi
  const { signal } = stop
  const recorder = recordMarkets({
    ...{ plan, symbol: 'BTC', venue, store, writer, catalogue, tracker, clock, log, signal },
  })
  const show = (ms: number) => {
    clock.set(START_MS + ms)
    recorder.show(clock.now(), clock.now())
    return limitMs
  }
  assert.equal(limitMs, -START_MS)
  assert.deepEqual([show(10_000), show(19_000), show(20_000)], [8_000, 8_000, 18_000])
  clock.set(START_MS + 25_000)
  recorder.gap('book', START_MS + 24_000, Number.POSITIVE_INFINITY)
  assert.equal(limitMs, 24_000)
  const began = { startTime: START_MS - 60_000, endTime: START_MS + 840_000 }
  const ended = { startTime: START_MS - 960_000, endTime: START_MS - 60_000, marketId: 'KXBTC15M-W' }
  for (const window of [ended, began])
    recorder.observe({
      kind: 'market',
      ...about('kalshi', '', START_MS + 25_000),
      market: { ...MARKETS.kalshi, ...window },
    })
  assert.equal(show(40_000), 25_000)
  answer()
  await writer.flush()
  for (let i = 0; i < 100; i++) await new Promise(setImmediate)
  assert.equal(show(50_000), 48_000)
})

test('a trade that comes while the past of its market is being restored is part of its candle', async (t) => {
  const { clock, store, writer, rows } = await setUp(t)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const { plan } = VENUES.kalshi
  const feed = candleFeed(plan.source, 'BTC', '5m')
  const stored = { time: START_MS, open: 0.5, high: 0.5, low: 0.5, close: 0.5, volume: 0, closed: false }
  const { marketId, slug = null, question = null } = MARKETS.kalshi
  const market = { marketId, slug, question, tokenId: null, outcome: null }
  await store.write({ rows: [{ feed, rows: [{ ...stored, market }] }] })
  const { venue, answer } = waitingVenue()
  const tracker = createCoverageTracker({ feeds: [], coverage: store.coverage, writer })
  const catalogue = createMarketWriter({ store, log })
  clock.set(START_MS + 20_000)
  const recorder = recordMarkets({
    ...{ plan, symbol: 'BTC', venue, store, writer, catalogue, tracker, clock, log, signal: stop.signal },
  })
  const window = { startTime: START_MS - 60_000, endTime: START_MS + 840_000, volume: 10 }
  recorder.observe({
    ...{ kind: 'market', ...about('kalshi', '', START_MS + 20_000) },
    market: { ...MARKETS.kalshi, ...window },
  })
  recorder.observe({ ...trade(START_MS + 21_000, '0.6'), receivedMs: START_MS + 21_000 })
  assert.equal((await rows(feedOf('trades', plan.source, 'BTC'))).length, 1, 'it is written at once')
  answer()
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
  clock.set(START_MS + 40_000)
  recorder.show(clock.now(), clock.now())
  const [candle] = await rows<CandleRow>(feed)
  assert.deepEqual([candle?.close, candle?.volume], [0.6, 10])
})

test('a wide book gives a contract its candle, as the candles of the venue do, and a token none', async (t) => {
  const { recorderOf, rows } = await setUp(t)
  for (const name of ['polymarket', 'kalshi'] as const) {
    const recorder = recorderOf(name)
    for (const instrument of recorder.instruments)
      recorder.observe(book(name, instrument, START_MS + 100, '0.2', '0.6'))
    recorder.sampler.tick(START_MS + 1_500)
    recorder.show(START_MS + 2_000)
  }
  const [candle, ...others] = await rows<CandleRow>(candleFeed('predmkt_b', 'BTC', '5m'))
  assert.deepEqual([candle?.open, candle?.close, candle?.volume, others.length], [0.4, 0.4, 0, 0])
  assert.deepEqual(await rows(candleFeed('predmkt_a', 'BTC', '5m')), [])
})

test('after a restart a trade that was negotiated away from the book is volume, and still no price', async (t) => {
  const { recorderOf, rows, store } = await setUp(t)
  const sent = [trade(START_MS + 1_000, '0.5'), trade(START_MS + 2_000, '0.9', true)]
  const first = recorderOf('kalshi')
  for (const each of sent) first.trade(each)
  first.show(START_MS + 5_000)
  const [open] = await rows<CandleRow>(candleFeed('predmkt_b', 'BTC', '5m'))
  assert.deepEqual([open?.close, open?.volume, open?.closed], [0.5, 20, false])

  async function* history(request: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    if (request.topic === 'trades') yield { observations: sent, covered: request.range, missing: [] }
  }
  const second = recorderOf('kalshi')
  // A volume that is left out proves nothing.
  second.market = { ...second.market, volume: null }
  await restoreMarket({
    hasVolume: true,
    patiently: (read) => read(),
    plan: VENUES.kalshi.plan,
    recorder: second,
    series: store.series,
    coverage: store.coverage,
    venue: { history } as unknown as Venue,
    nowMs: START_MS + 60_000,
    recordedFromMs: START_MS,
    finalBeforeMs: 0,
    signal: new AbortController().signal,
  })
  second.show(START_MS + 400_000)
  const [candle] = await rows<CandleRow>(candleFeed('predmkt_b', 'BTC', '5m'))
  assert.deepEqual([candle?.high, candle?.close, candle?.volume, candle?.closed], [0.5, 0.5, 20, true])
  const trades = await rows(feedOf('trades', 'predmkt_b', 'BTC'))
  assert.equal(trades.length, 2)
})

test('after a restart a running candle with a block trade alone has its midpoints, and a price ends them', async (t) => {
  for (const last of [[], [trade(START_MS + 4_000, '0.7')]]) {
    const { recorderOf, rows, store } = await setUp(t)
    const sent = [trade(START_MS + 2_000, '0.9', true)]
    const first = recorderOf('kalshi')
    first.observe(book('kalshi', 'KXBTC15M-X', START_MS + 100, '0.49', '0.51'))
    first.sampler.tick(START_MS + 1_500)
    for (const each of sent) first.trade(each)
    first.show(START_MS + 5_000)
    const [open] = await rows<CandleRow>(candleFeed('predmkt_b', 'BTC', '5m'))
    assert.deepEqual([open?.close, open?.volume, open?.closed], [0.5, 10, false])

    async function* history(request: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
      if (request.topic === 'trades')
        yield { observations: [...sent, ...last], covered: request.range, missing: [] }
    }
    const second = recorderOf('kalshi')
    await restoreMarket({
      hasVolume: true,
      patiently: (read) => read(),
      plan: VENUES.kalshi.plan,
      recorder: second,
      series: store.series,
      coverage: store.coverage,
      venue: { history } as unknown as Venue,
      nowMs: START_MS + 60_000,
      recordedFromMs: START_MS,
      finalBeforeMs: 0,
      signal: new AbortController().signal,
    })
    second.observe(book('kalshi', 'KXBTC15M-X', START_MS + 61_000, '0.59', '0.61'))
    second.sampler.tick(START_MS + 62_000)
    second.show(START_MS + 400_000)
    const [candle] = await rows<CandleRow>(candleFeed('predmkt_b', 'BTC', '5m'))
    const figures = [candle?.open, candle?.low, candle?.high, candle?.close, candle?.volume, candle?.closed]
    const expected = last.length === 0 ? [0.5, 0.5, 0.6, 0.6, 10, true] : [0.7, 0.7, 0.7, 0.7, 20, true]
    assert.deepEqual(figures, expected)
  }
})

test('a trade that was stored just before the end is counted by the start, where its closed candle had none', async (t) => {
  for (const name of ['polymarket', 'kalshi'] as const) {
    const { recorderOf, rows, store } = await setUp(t)
    const { source } = MARKETS[name]
    const first = recorderOf(name)
    for (const instrument of first.instruments)
      first.observe(book(name, instrument, START_MS + 100, '0.49', '0.51'))
    first.sampler.tick(START_MS + 1_500)
    first.show(START_MS + 400_000)
    const [instrument = ''] = first.instruments
    const late = { ...trade(START_MS + 1_000, '0.7'), ...about(name, instrument, START_MS + 1_000) }
    first.trade(late)
    const candles = async () =>
      (await rows<CandleRow>(candleFeed(source, 'BTC', '5m'))).filter(
        ({ token_id }) => (token_id ?? instrument) === instrument,
      )
    assert.deepEqual(
      (await candles()).map((row) => [row.close, row.volume, row.closed]),
      [[0.5, 0, true]],
    )
    const second = recorderOf(name)
    await restoreMarket({
      hasVolume: true,
      patiently: (read) => read(),
      ...{ plan: VENUES[name].plan, recorder: second, recordedFromMs: START_MS },
      ...{ series: store.series, coverage: store.coverage },
      venue: { async *history() {} } as unknown as Venue,
      ...{ nowMs: START_MS + 410_000, finalBeforeMs: 0, signal: new AbortController().signal },
    })
    second.show(START_MS + 420_000)
    assert.deepEqual(
      (await candles()).map((row) => [row.close, Number(row.volume) > 0]),
      [[0.7, true]],
      name,
    )
  }
})

test('midpoints that are requested after a restart take their place in a closed candle', async (t) => {
  const feed = candleFeed('predmkt_a', 'BTC', '5m')
  const cases = [
    { gap: [0, 60_000], figures: [0.6, 0.6, 0.4, 0.5] },
    { gap: [120_000, 180_000], figures: [0.4, 0.6, 0.4, 0.5] },
    { gap: [240_000, 330_000], figures: [0.4, 0.6, 0.4, 0.6] },
  ] as const
  for (const { gap, figures } of cases) {
    const { recorderOf, rows, store } = await setUp(t)
    const first = recorderOf('polymarket')
    for (const [ms, price] of [
      [100_000, '0.4'],
      [200_000, '0.5'],
    ] as const)
      first.mid({ kind: 'mid', ...about('polymarket', 'up', START_MS + ms), price })
    first.show(START_MS + 400_000)
    await rows(feed)
    const [fromMs, toMs] = [START_MS + gap[0], START_MS + gap[1]]
    await store.write({
      coverage: [observed(feed, START_MS - 60_000, fromMs), observed(feed, toMs, START_MS + 400_000)],
    })
    const second = recorderOf('polymarket')
    await restoreMarket({
      hasVolume: true,
      patiently: (read) => read(),
      ...{ plan: polymarketPlan, recorder: second, recordedFromMs: START_MS },
      ...{
        series: store.series,
        coverage: store.coverage,
        venue: { async *history() {} } as unknown as Venue,
      },
      ...{ nowMs: START_MS + 410_000, finalBeforeMs: START_MS, signal: new AbortController().signal },
    })
    second.mid({ kind: 'mid', ...about('polymarket', 'up', fromMs + 10_000), price: '0.6' })
    second.show(START_MS + 420_000)
    const [candle] = await rows<CandleRow>(feed)
    assert.deepEqual([candle?.open, candle?.high, candle?.low, candle?.close], figures)
  }
})

test('a trade of nothing is left out and counted; one that makes no sense is a gap, also in the candles that hold it', async (t) => {
  for (const name of ['polymarket', 'kalshi'] as const) {
    const { clock, store, writer, rows } = await setUp(t)
    const { marketId, source, tokens = [] } = MARKETS[name]
    const instrument = tokens[0]?.tokenId ?? marketId
    let empty = 0
    const recorder = new MarketRecorder({
      ...{ plan: VENUES[name].plan, market: MARKETS[name], writer, referencePrice: () => null },
      ...{ booksReceivedToMs: () => START_MS, onEmptyTrade: () => void empty++ },
    })
    const record = (ms: number, price: string, size: string) =>
      recorder.trade({
        ...trade(START_MS + ms, price),
        ...about(name, instrument, START_MS + ms),
        price,
        size,
      })
    record(1_000, '0.5', '10')
    for (const price of ['0', '0.9']) record(2_000 + Number(price), price, '0.00')
    record(301_000, '0.5', '10')
    record(302_000, '0.6', '-3')
    // The trade is already known, so an invalid answer does not make it a gap.
    record(301_000, '-0.5', '10')
    clock.advance(3_600_000)
    recorder.show(clock.now())
    assert.equal(empty, 2)
    assert.equal((await rows(feedOf('trades', source, 'BTC'))).length, 2)
    const [candle, ...others] = await rows<CandleRow>(candleFeed(source, 'BTC', '5m'))
    assert.deepEqual([candle?.low, candle?.high, others], [0.5, 0.5, []])
    const tracker = createCoverageTracker({ feeds: [], coverage: store.coverage, writer })
    const gaps = async (feed: Feed) => {
      tracker.confirm(feed, START_MS, START_MS + 900_000)
      await writer.flush()
      const found = await store.coverage.read([feed], START_MS, START_MS + 900_000)
      return found.gaps.map(({ from, to }) => [from - START_MS, to - START_MS])
    }
    assert.deepEqual(await gaps(feedOf('trades', source, 'BTC')), [[302_000, 302_001]])
    assert.deepEqual(await gaps(candleFeed(source, 'BTC', '5m')), [[300_000, 600_000]])
    assert.deepEqual(await gaps(candleFeed(source, 'BTC', '15m')), [[0, 900_000]])
    record(302_000, '0.6', '3')
    recorder.show(clock.now())
    for (const feed of [feedOf('trades', source, 'BTC'), candleFeed(source, 'BTC', '5m')])
      assert.deepEqual(await gaps(feed), [], 'the trade came as it should be')
  }
})
