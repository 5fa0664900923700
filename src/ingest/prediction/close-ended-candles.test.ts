/** A candle that is longer than its market, or than the run that wrote it, is still closed once it has ended. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { microLevels } from '../../../test/predictions/levels.ts'
import { steeredClock } from '../../../test/predictions/paced-clock.ts'
import type { CandleInterval } from '../../core/interval.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { createLogger } from '../../kit/log.ts'
import { scanExactRows } from '../../store/scan-rows.ts'
import { VENUES } from '../../venues/list.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import type { HistoryPage, Venue } from '../../venues/venue.ts'
import { COARSE_INTERVALS, candleFeed } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { type MarketsRecorder, recordMarkets } from './record-markets.ts'
import { createMarketWriter } from './write-markets.ts'

const MINUTE_MS = 60_000
const at = (text: string, day = 15) => Date.parse(`2026-11-${day}T${text}Z`)
const STEP_MS = 10_000
const log = createLogger({ level: 'silent' })
const { plan } = VENUES.polymarket
const TOKENS = ['1001', '1002']

function market(startMs: number, changes: Partial<MarketInput> = {}): MarketInput {
  return {
    marketId: '0xaa',
    source: 'predmkt_a',
    symbol: 'BTC',
    slug: `btc-updown-5m-${startMs / 1_000}`,
    question: 'Up or down?',
    marketType: '5m',
    startTime: startMs,
    endTime: startMs + 5 * MINUTE_MS,
    active: true,
    status: 'open',
    tokens: TOKENS.map((tokenId, index) => ({ tokenId, outcome: index === 0 ? 'Up' : 'Down' })),
    volume: '10',
    ...changes,
  }
}

const about = (instrument: string, timeMs: number) => ({
  source: 'predmkt_a' as const,
  symbol: 'BTC' as const,
  instrument,
  venueTimeMs: timeMs,
  receivedMs: timeMs,
  key: null,
  leg: { marketId: '0xaa', tokenId: instrument, outcome: instrument === '1001' ? 'Up' : 'Down' },
})

function trade(timeMs: number, price: string, size: string): TradeObservation {
  return { kind: 'trade', ...about('1001', timeMs), id: `0x${timeMs}-1001-0`, price, size, side: 'buy' }
}

/** A store, and runs of one recorder on it that end without closing anything. */
async function setUp(t: TestContext, startMs: number) {
  const clock = steeredClock(startMs)
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const past: TradeObservation[] = []
  async function* history(request: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    if (request.topic === 'trades') yield { observations: past, covered: request.range, missing: [] }
  }
  const venue = { ...VENUES.polymarket.create({ clock, hosts: NOWHERE }), history } as unknown as Venue
  async function start() {
    const stop = new AbortController()
    const { signal } = stop
    const writer = createRowWriter({ store, random: Math.random, clock, log })
    const tracker = createCoverageTracker({ feeds: [], coverage: store.coverage, writer })
    const catalogue = createMarketWriter({ store, log })
    const recorder = recordMarkets({
      ...{ plan, symbol: 'BTC', venue, store, writer, catalogue, tracker, clock, log, signal },
    })
    recorder.answered?.('markets', clock.now())
    recorder.listedUnresolved()
    let closing: Promise<unknown> = Promise.resolve()
    let isClosing = false
    async function run(toMs: number, stepMs = STEP_MS) {
      while (clock.now() < toMs) {
        await clock.moveTo(Math.min(toMs, clock.now() + stepMs))
        recorder.answered?.('markets', clock.now())
        recorder.observe({ kind: 'swept_to', ...about('', clock.now()), toMs: clock.now() - 2 * MINUTE_MS })
        recorder.sample(clock.now(), clock.now())
        recorder.judge?.(clock.now())
        recorder.show(clock.now(), clock.now())
        if (isClosing) continue
        isClosing = true
        closing = recorder.close(clock.now()).finally(() => {
          isClosing = false
        })
        closing.catch(() => {})
      }
      await clock.moveTo(clock.now() + 1_000)
      await writer.flush()
    }
    return { recorder, run, kill: () => stop.abort() }
  }
  const rows = async (interval: CandleInterval): Promise<CandleRow[]> => {
    const range = { from: 0, to: Number.MAX_SAFE_INTEGER }
    const feeds = [candleFeed('predmkt_a', 'BTC', interval)]
    const { text } = await store.series.page({ feeds, range, order: 'asc', limit: 1_000, separator: '\n' })
    return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as CandleRow)
  }
  const closed = async () => {
    const found = await Promise.all(COARSE_INTERVALS.map(rows))
    return Object.fromEntries(
      COARSE_INTERVALS.map((interval, i) => [interval, found[i]?.map((row) => row.closed)]),
    )
  }
  return { clock, store, start, rows, closed, past }
}

const NOWHERE = { rest: 'http://127.0.0.1:1', stream: 'ws://127.0.0.1:1' }

function sendMarket(recorder: MarketsRecorder, seen: MarketInput): void {
  recorder.observe({ kind: 'market', ...about(seen.marketId, seen.startTime ?? 0), market: seen })
}

/** Sends trades of the Up leg and books of both legs. */
function tradeMarket(recorder: MarketsRecorder, startMs: number): void {
  for (const [minute, price] of ['0.4', '0.7', '0.3', '0.6'].entries())
    recorder.observe(trade(startMs + minute * MINUTE_MS, price, '10'))
  for (const token of TOKENS)
    recorder.observe({
      kind: 'book_snapshot',
      ...about(token, startMs + 1_000),
      via: 'stream',
      bids: microLevels([['0.44', '10']]),
      asks: microLevels([['0.46', '10']]),
    })
}

const OPENED = at('12:05:00')

test('candles of an hour, four hours and a day of a five-minute market are closed when they end, and final only then', async (t) => {
  const { start, rows, closed, store } = await setUp(t, at('12:03:00'))
  const { recorder, run } = await start()
  sendMarket(recorder, market(OPENED))
  tradeMarket(recorder, OPENED)
  await run(at('12:11:00'))
  recorder.observe({ kind: 'swept', ...about('0xaa', at('12:11:00')) })
  await run(at('12:59:00'))
  assert.equal(recorder.size, 0, 'the market is not kept for the sake of its candles')
  assert.deepEqual(await closed(), {
    '5m': [true, true],
    '15m': [true, true],
    '1h': [false, false],
    '4h': [false, false],
    '1d': [false, false],
  })
  await run(at('13:20:00'))
  assert.deepEqual((await closed())['1h'], [true, true])
  await run(at('16:20:00'), 30_000)
  assert.deepEqual((await closed())['4h'], [true, true])
  assert.deepEqual((await closed())['1d'], [false, false])
  await run(at('00:20:00', 16), 60_000)
  assert.deepEqual((await closed())['1d'], [true, true])
  for (const interval of COARSE_INTERVALS) {
    const [first] = await rows(interval)
    assert.deepEqual(
      [first?.token_id, first?.open, first?.high, first?.low, first?.close, first?.volume, first?.market_id],
      ['1001', 0.4, 0.7, 0.3, 0.6, 20, '0xaa'],
      interval,
    )
  }
  const feeds = COARSE_INTERVALS.map((interval) => candleFeed('predmkt_a', 'BTC', interval))
  const finality = await store.series.finality(feeds)
  assert.ok(
    finality.every(({ before }) => before >= at('00:00:00', 16)),
    JSON.stringify(finality),
  )
})

test('what a run has left open is closed by the next one, of a market that is no longer listed', async (t) => {
  const { start, closed, clock } = await setUp(t, at('12:03:00'))
  const first = await start()
  sendMarket(first.recorder, market(OPENED))
  tradeMarket(first.recorder, OPENED)
  await first.run(at('12:11:00'))
  first.recorder.observe({ kind: 'swept', ...about('0xaa', at('12:11:00')) })
  await first.run(at('12:50:00'))
  first.kill()
  const second = await start()
  sendMarket(second.recorder, market(at('12:50:00'), { marketId: '0xbb', tokens: [] }))
  await second.run(at('12:59:00'))
  assert.deepEqual((await closed())['1h'], [false, false])
  await second.run(at('13:02:00'))
  assert.deepEqual((await closed())['1h'], [true, true])
  second.kill()
  // No process runs for a day and a half.
  await clock.moveTo(at('02:00:00', 17))
  const third = await start()
  sendMarket(third.recorder, market(at('02:00:00', 17), { marketId: '0xcc', tokens: [] }))
  await third.run(at('02:01:00', 17))
  const all = Object.values(await closed()).flat()
  assert.ok(all.length === 10 && all.every((isClosed) => isClosed === true), JSON.stringify(all))
})

test('killed inside a market: its candles are closed with the trades that are found and the midpoints that were seen', async (t) => {
  const { start, rows, closed, clock, past } = await setUp(t, at('12:03:00'))
  const first = await start()
  sendMarket(first.recorder, market(OPENED))
  tradeMarket(first.recorder, OPENED)
  await first.run(at('12:07:00'))
  assert.deepEqual((await closed())['5m'], [false, false])
  first.kill()
  await clock.moveTo(at('12:20:00'))
  past.push(trade(OPENED + 4.5 * MINUTE_MS, '0.9', '10'))
  const second = await start()
  second.recorder.unresolved(market(OPENED, { status: 'resolved', active: false, winner: 'Up' }))
  sendMarket(second.recorder, market(at('12:20:00'), { marketId: '0xbb', tokens: [] }))
  await second.run(at('13:02:00'))
  assert.deepEqual(await closed(), {
    '5m': [true, true],
    '15m': [true, true],
    '1h': [true, true],
    '4h': [false, false],
    '1d': [false, false],
  })
  for (const interval of ['5m', '15m', '1h'] as const) {
    const [up, down] = await rows(interval)
    assert.deepEqual([up?.close, up?.volume], [0.9, 29], interval)
    assert.deepEqual([down?.open, down?.close, down?.volume], [0.45, 0.45, 0], interval)
  }
})

test('a candle that an earlier run left open keeps all its digits when it is closed', async (t) => {
  const { start, closed, store } = await setUp(t, at('12:00:00'))
  const feed = candleFeed('predmkt_a', 'BTC', '1h')
  const volume = '12345678901.654321987654'
  const prices = { open: '0.5', high: '0.6', low: '0.4', close: '0.5' }
  const leg = { marketId: '0xdd', tokenId: '1009' }
  await store.write({
    rows: [{ feed, rows: [{ ...prices, time: at('10:00:00'), volume, closed: false, market: leg }] }],
  })
  const { recorder, run } = await start()
  sendMarket(recorder, market(at('12:00:00'), { marketId: '0xbb', tokens: [] }))
  await run(at('12:02:30'))
  assert.deepEqual((await closed())['1h'], [true])
  const range = { from: 0, to: Number.MAX_SAFE_INTEGER }
  const [row] = await Array.fromAsync(scanExactRows(store.series, feed, range))
  assert.equal(row?.volume, volume)
})

test('rows that stand open in a range that was called final are closed after a start, and their readers see the change', async (t) => {
  const { start, closed, store } = await setUp(t, at('12:00:00'))
  const feed = candleFeed('predmkt_a', 'BTC', '1h')
  const old = [at('10:00:00', 10), at('10:00:00', 12), at('11:00:00')].map((time) => ({
    ...{ time, open: '0.5', high: '0.6', low: '0.4', close: '0.5', volume: '3', closed: false },
    market: { marketId: '0xdd', tokenId: '1009' },
  }))
  await store.write({ rows: [{ feed, rows: old }] })
  await store.write({ finalize: [{ feed: feed, before: at('12:00:00') }] })
  const [before] = await store.series.finality([feed])
  const { recorder, run } = await start()
  sendMarket(recorder, market(at('12:00:00'), { marketId: '0xbb', tokens: [] }))
  await run(at('12:02:30'))
  assert.deepEqual((await closed())['1h'], [true, true, true])
  const [after] = await store.series.finality([feed])
  assert.notEqual(after?.epoch, before?.epoch)
})
