/** What a restart makes of candles that are not final: as if the run had not ended. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { microLevels } from '../../../test/predictions/levels.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { CandleRow, TradeRow } from '../../core/rows/schemas.ts'
import { createLogger } from '../../kit/log.ts'
import { type ExactRow, scanExactRows, scanRows } from '../../store/scan-rows.ts'
import { VENUES } from '../../venues/list.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import type { Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import { sequenceOf } from '../shared/sequence.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { containedTrades } from './contained-trades.ts'
import { snapshotFeed } from './market-feeds.ts'
import { MarketRecorder } from './record-market.ts'
import { restoreMarket } from './restore-market.ts'

const START_MS = Date.parse('2026-11-15T12:00:00Z')
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER }
type Name = 'polymarket' | 'kalshi'

const marketOf = (name: Name): MarketInput => ({
  ...{ marketId: 'market', symbol: 'BTC', marketType: '15m', active: true, status: 'open', volume: '5' },
  source: VENUES[name].plan.source,
  tokens:
    name === 'kalshi' ? [] : ['Up', 'Down'].map((outcome) => ({ tokenId: outcome.toLowerCase(), outcome })),
  ...{ startTime: START_MS, endTime: START_MS + 900_000 },
})

async function setUp(t: TestContext, name: Name) {
  const { plan } = VENUES[name]
  const market = marketOf(name)
  const store = await storesIn(':memory:', manualClock(START_MS)).environment('test')
  t.after(() => store.close())
  const log = createLogger({ level: 'silent' })
  const writer = createRowWriter({ store, random: Math.random, clock: manualClock(START_MS), log })
  const about = (ms: number) => ({
    source: plan.source,
    symbol: 'BTC' as const,
    instrument: name === 'kalshi' ? 'market' : 'up',
    ...{ venueTimeMs: START_MS + ms, receivedMs: START_MS + ms, key: null },
    leg: { marketId: 'market', tokenId: name === 'kalshi' ? null : 'up', outcome: 'yes' },
  })
  const trade = (ms: number, price: string, more: Partial<TradeObservation> = {}): TradeObservation => ({
    ...{ kind: 'trade', ...about(ms), id: `t${ms}-${price}`, price, size: '10', side: 'buy', ...more },
  })
  const start = () =>
    new MarketRecorder({
      ...{ plan, market, writer, referencePrice: () => null, booksReceivedToMs: () => START_MS + 3_600_000 },
    })
  /** A restart to which the venue sends nothing again. */
  async function restart(ms: number, during: (recorder: MarketRecorder) => void = () => {}, finalMs = 0) {
    const recorder = start()
    during(recorder)
    await writer.flush()
    await restoreMarket({
      hasVolume: true,
      ...{ plan, recorder, series: store.series, coverage: store.coverage, recordedFromMs: START_MS },
      ...{ venue: { async *history() {} } as unknown as Venue, patiently: (read) => read() },
      ...{ nowMs: START_MS + ms, finalBeforeMs: finalMs, signal: new AbortController().signal },
    })
    return recorder
  }
  async function candle(recorder: MarketRecorder, ms: number) {
    recorder.show(START_MS + ms)
    await writer.flush()
    const [row] = await Array.fromAsync(scanRows(store.series, candleFeed(plan.source, 'BTC', '5m'), ALL))
    return [row?.open, row?.high, row?.low, row?.close, row?.volume]
  }
  return { plan, store, writer, about, trade, start, restart, candle }
}

test('a block trade of the last minute is still no price if the venue does not send it again', async (t) => {
  const { trade, start, restart, candle } = await setUp(t, 'kalshi')
  const first = start()
  for (const each of [trade(60_000, '0.5'), trade(90_000, '0.9', { isBlock: true })]) first.trade(each)
  await candle(first, 100_000)
  const second = await restart(120_000)
  second.trade(trade(130_000, '0.4'))
  assert.deepEqual(await candle(second, 400_000), [0.5, 0.5, 0.4, 0.4, 30])
})

test('a trade stored after its candle was last written is counted once the venue shows whether it is a price', async (t) => {
  for (const isBlock of [undefined, true, false]) {
    const { trade, start, restart, candle } = await setUp(t, 'kalshi')
    const first = start()
    first.trade(trade(60_000, '0.5'))
    await candle(first, 80_000)
    const late = trade(90_000, '0.9', isBlock === true ? { isBlock } : {})
    first.trade(late)
    await candle(await restart(95_000), 96_000)
    const second = await restart(100_000)
    assert.deepEqual(await candle(second, 110_000), [0.5, 0.5, 0.5, 0.5, 10])
    const price = isBlock === true ? 0.5 : 0.9
    if (isBlock === undefined) assert.equal(second.countUnmarked(START_MS + 90_001), true)
    else assert.equal(second.trade(late), true)
    assert.equal(second.trade(late), false)
    assert.equal(second.countUnmarked(START_MS + 200_000), false)
    assert.deepEqual(await candle(second, 400_000), [0.5, price, 0.5, price, 20])
  }
})

test('a block trade that is received while its market is being restored is no price', async (t) => {
  const { trade, start, restart, candle } = await setUp(t, 'kalshi')
  const first = start()
  first.trade(trade(60_000, '0.5'))
  await candle(first, 80_000)
  const block = trade(90_000, '0.9', { isBlock: true })
  const second = await restart(100_000, (recorder) => recorder.put(block))
  assert.equal(second.trade(block), true)
  assert.deepEqual(await candle(second, 400_000), [0.5, 0.5, 0.5, 0.5, 20])
})

test('after a restart a late trade opens or closes a closed candle', async (t) => {
  for (const name of ['kalshi', 'polymarket'] as const) {
    const { trade, start, restart, candle } = await setUp(t, name)
    const first = start()
    for (const each of [trade(60_000, '0.5'), trade(240_000, '0.6')]) first.trade(each)
    await candle(first, 340_000)
    const second = await restart(360_000)
    second.trade(trade(298_000, '0.7'))
    assert.deepEqual((await candle(second, 370_000)).slice(0, 4), [0.5, 0.7, 0.5, 0.7])
    second.trade(trade(100_000, '0.55'))
    second.trade(trade(2_000, '0.4'))
    assert.deepEqual((await candle(second, 380_000)).slice(0, 4), [0.4, 0.7, 0.4, 0.7])
  }
})

test('after a restart trades of one instant open and close their candle as they did on arrival', async (t) => {
  for (const name of ['kalshi', 'polymarket'] as const) {
    const { trade, start, restart, candle } = await setUp(t, name)
    const prices = ['0.41', '0.42', '0.43', '0.44', '0.45']
    const trades = prices
      .map((price) => trade(60_000, price))
      .sort((a, b) => sequenceOf(b.id) - sequenceOf(a.id))
    const first = start()
    for (const each of trades) first.trade(each)
    const shown = await candle(first, 70_000)
    assert.deepEqual([shown[0], shown[3]], [Number(trades[0]?.price), Number(trades.at(-1)?.price)])
    const second = await restart(80_000)
    assert.deepEqual(await candle(second, 400_000), shown)
  }
})

test('after a restart a candle has the same digits as without one, even those that a double does not hold', async (t) => {
  for (const name of ['kalshi', 'polymarket'] as const) {
    const volumes = new Set<string | null | undefined>()
    for (const finalMs of [undefined, 0, START_MS + 300_000]) {
      const { plan, store, trade, start, restart, candle } = await setUp(t, name)
      const first = start()
      first.trade(trade(60_000, '0.527634', { size: '98765432.123457' }))
      first.trade(trade(90_000, '0.613579', { size: '12345678901.654321' }))
      await candle(first, 340_000)
      const last = finalMs === undefined ? first : await restart(360_000, () => {}, finalMs)
      last.trade(trade(301_000, '0.6', { size: '1' }))
      await candle(last, 700_000)
      const longer = candleFeed(plan.source, 'BTC', '15m')
      const [row] = await Array.fromAsync(scanExactRows(store.series, longer, ALL))
      volumes.add(row?.volume)
    }
    assert.equal(volumes.size, 1, JSON.stringify([...volumes]))
    assert.ok(String([...volumes][0]).length > 17)
  }
})

test('after a restart the last price of a token is that of its last trade', async (t) => {
  const { plan, store, writer, about, trade, start, restart, candle } = await setUp(t, 'polymarket')
  const first = start()
  first.trade(trade(60_000, '0.35'))
  await candle(first, 340_000)
  const second = await restart(360_000, () => {}, START_MS + 300_000)
  for (const instrument of second.instruments)
    second.observe({
      ...{ kind: 'book_snapshot', ...about(361_000), instrument, via: 'stream' },
      ...{ bids: microLevels([['0.2', '10']]), asks: microLevels([['0.8', '10']]) },
    })
  for (const ms of [361_500, 362_500, 363_500]) second.sampler.tick(START_MS + ms)
  await writer.flush()
  const rows = await Array.fromAsync(scanRows(store.series, snapshotFeed(plan, 'BTC', '15m'), ALL))
  assert.ok(rows.length > 0)
  assert.equal((rows[0] as { price_up?: number } | undefined)?.price_up, 0.35)
})

test('a candle contains the first trades that add up to its volume', () => {
  const rows = [
    ['0.5', '10'],
    ['0.7', '20'],
    ['0.4', '30'],
  ].map(([price, size], index) => ({
    ...{ trade_id: `${index}`, price, size },
    timestamp: new Date(START_MS + index).toISOString(),
  })) as ExactRow<TradeRow>[]
  const prices = { open: '0.5', high: '0.7', low: '0.5' }
  const of = (close: string, volume: string) =>
    containedTrades({ ...prices, close, volume } as ExactRow<CandleRow>, rows, 'pieces', true)
  assert.deepEqual(of('0.7', '30'), {
    trades: rows.slice(0, 2),
    priced: { openMs: START_MS, closeMs: START_MS + 1 },
  })
  assert.deepEqual(of('0.6', '30'), { trades: rows.slice(0, 2), priced: undefined })
  assert.equal(of('0.7', '50'), 'unknown')
  assert.equal(of('0.7', '61'), 'unstored')
})
