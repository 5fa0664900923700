/**
 * A manual backfill of prediction markets over real sockets stores what the venue still has, once, and nothing else.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { compareCatalogue, compareTrades, readRows } from '../../../test/predictions/compare.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import { startPredictionsWorld } from '../../../test/predictions/recording.ts'
import type { PredictionTruth, TrueMarket } from '../../../test/sandbox/prediction-truth.ts'
import { openVenue } from '../../app/open-venue.ts'
import { sandboxPredictions } from '../../app/sandbox-venues.ts'
import type { CandleRow, OpenInterestRow } from '../../core/rows/schemas.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import type { DataObservation } from '../../venues/observation.ts'
import type { HistoryPage, Venue } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { backfillMarkets } from './backfill-markets.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-11-15T10:00:00Z')
const DAY_START_MS = Date.parse('2026-11-14T00:00:00Z')
const RANGE = { fromMs: DAY_START_MS, toMs: DAY_START_MS + DAY_MS }

interface Changed {
  readonly untraded?: string
  /** The list leaves out the volume of this market. */
  readonly unfigured?: string
  /** The list counts more than was traded in this market. */
  readonly overcounted?: string
  /** The list has no market at all. */
  readonly isEmpty?: boolean
  /** Changes the pages of one market. */
  readonly wrong?: { readonly market: string; readonly page: (page: HistoryPage) => HistoryPage }
}

/** The venue itself, but its list contains only some of its markets, because a day has thousands. */
function listing(venue: Venue, names: ReadonlySet<string>, changed: Changed): Venue {
  const { untraded, unfigured, overcounted, wrong } = changed
  async function* history(...asked: Parameters<Venue['history']>): AsyncGenerator<HistoryPage> {
    const isUntraded = asked[0].market !== undefined && asked[0].market === untraded
    assert.ok(!isUntraded || asked[0].topic !== 'trades')
    const isWrong = wrong !== undefined && asked[0].market === wrong.market
    for await (const sent of venue.history(...asked)) {
      const page = isWrong ? wrong.page(sent) : sent
      const observations = page.observations.flatMap((row): DataObservation[] => {
        if (row.kind === 'contract_candle' && isUntraded) return [{ ...row, price: null, volume: '0' }]
        if (row.kind !== 'market') return [row]
        const { market } = row
        if (changed.isEmpty === true) return []
        if (!names.has(market.marketId) && !names.has(market.slug ?? '')) return []
        if (market.marketId === unfigured) return [{ ...row, market: { ...market, volume: null } }]
        if (market.marketId === overcounted)
          return [{ ...row, market: { ...market, volume: String(Number(market.volume) + 5) } }]
        return [market.marketId === untraded ? { ...row, market: { ...market, volume: '0' } } : row]
      })
      yield { ...page, observations }
    }
  }
  return { ...venue, history }
}

async function setUp(
  t: TestContext,
  name: 'polymarket' | 'kalshi',
  pick: (market: TrueMarket, truth: PredictionTruth) => boolean,
) {
  const { clock, sandbox, close } = await startPredictionsWorld(pacedClock(NOW_MS, 1_000), { slotMs: 2_000 })
  t.after(close)
  const setting = sandboxPredictions(sandbox).find((each) => each.name === name)
  assert.ok(setting)
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const markets = sandbox.truth
    .markets(name, DAY_START_MS + DAY_MS / 2, RANGE.toMs)
    .filter((market) => market.symbol === 'BTC' && pick(market, sandbox.truth))
    .slice(0, 6)
  assert.equal(markets.length, 6)
  const { plan } = VENUES[name]
  const fill = (changed: Changed = {}) =>
    clock.during(
      backfillMarkets({
        plan,
        venue: listing(openVenue(setting, clock), new Set(markets.map((market) => market.name)), changed),
        store,
        symbols: ['BTC'],
        ...RANGE,
        random: Math.random,
        clock,
        log: createLogger({ level: 'silent' }),
        onProgress: () => {},
      }),
    )
  return { fill, store, sandbox, markets, plan }
}

test('Up/Down: winners, every trade and the candles that follow from them; a second time nothing is left', async (t) => {
  const { fill, store, sandbox, markets } = await setUp(t, 'polymarket', ({ kind }) => kind === '5m')
  const first = await fill()
  assert.deepEqual([first.ranges, first.failed], [6, 0])
  for (const market of markets) {
    assert.deepEqual(await compareCatalogue(store, market), [])
    assert.deepEqual(await compareTrades(store, sandbox.truth, market), [])
    for (const token of market.tokens ?? []) {
      const feed = candleFeed('predmkt_a', 'BTC', '5m')
      const range = { from: market.startMs, to: market.endMs }
      const trades = (sandbox.truth.trades(market.name, market.startMs, market.endMs) ?? []).filter(
        ({ instrument }) => instrument === token,
      )
      const [candle] = await readRows<CandleRow>(store, feed, [token], range)
      if (trades.length === 0) assert.equal(candle, undefined)
      else
        assert.deepEqual(
          [candle?.open, candle?.close, candle?.high, candle?.closed],
          [
            Number(trades[0]?.price),
            Number(trades.at(-1)?.price),
            Math.max(...trades.map(({ price }) => Number(price))),
            true,
          ],
        )
    }
  }
  const { complete } = await store.coverage.read(
    [feedOf('trades', 'predmkt_a', 'BTC')],
    RANGE.fromMs,
    RANGE.toMs,
  )
  assert.ok(complete)
  const again = await fill()
  assert.deepEqual([again.failed, again.rowsInserted, again.rowsCorrected], [0, 0, 0])
})

test('a list without any market of a day does not make the day complete', async (t) => {
  const { fill, store } = await setUp(t, 'polymarket', ({ kind }) => kind === '5m')
  assert.equal((await fill({ isEmpty: true })).failed, 1)
  const trades = feedOf('trades', 'predmkt_a', 'BTC')
  const { observed } = await store.coverage.read([trades], RANGE.fromMs, RANGE.toMs - 3_600_000)
  assert.deepEqual(observed, [])
})

test('yes/no: results, every trade and the candles of the venue; a second time nothing is left', async (t) => {
  const { fill, store, sandbox, markets } = await setUp(t, 'kalshi', ({ kind }) => kind === '15M')
  const first = await fill()
  assert.deepEqual([first.ranges, first.failed], [6, 0])
  for (const market of markets) {
    assert.deepEqual(await compareCatalogue(store, market), [])
    assert.deepEqual(await compareTrades(store, sandbox.truth, market), [])
    const range = { from: market.startMs, to: market.endMs }
    const candles = await readRows<CandleRow>(
      store,
      candleFeed('predmkt_b', 'BTC', '5m'),
      [market.name],
      range,
    )
    assert.equal(candles.length, 3)
    const trades = sandbox.truth.trades(market.name, market.startMs, market.endMs) ?? []
    const volume = trades.reduce((sum, { size }) => sum + Number(size), 0)
    const total = candles.reduce((sum, candle) => sum + (candle.volume ?? 0), 0)
    assert.ok(Math.abs(total - volume) < 0.001, `${total} ${volume}`)
  }
  for (const feed of [feedOf('trades', 'predmkt_b', 'BTC'), candleFeed('predmkt_b', 'BTC', '15m')]) {
    const { complete } = await store.coverage.read([feed], RANGE.fromMs, RANGE.toMs)
    assert.ok(complete, feed.dataset)
  }
  const again = await fill()
  assert.deepEqual([again.failed, again.rowsInserted, again.rowsCorrected], [0, 0, 0])
})

test('yes/no: open interest of every contract and their sum at each point of the grid, as the venue sent it', async (t) => {
  const { fill, store, sandbox, markets } = await setUp(
    t,
    'kalshi',
    ({ kind, name, startMs }, truth) =>
      kind !== '15M' && (truth.trades(name, startMs, startMs + 3_000_000)?.length ?? 0) > 0,
  )
  assert.equal((await fill()).failed, 0)
  const feed = feedOf('open_interest', 'predmkt_b', 'BTC', '5m')
  const range = { from: RANGE.fromMs, to: RANGE.toMs }
  const sums = new Map<string, number>()
  let above = 0
  for (const market of markets) {
    const rows = await readRows<OpenInterestRow>(store, feed, [market.name], range)
    const fromMs = Math.max(market.startMs, RANGE.fromMs)
    assert.equal(rows.length, Math.ceil((market.endMs - fromMs) / 300_000), market.name)
    for (const { timestamp, open_interest: contracts } of rows) {
      assert.equal(contracts, sandbox.truth.openInterest(market.name, Date.parse(timestamp)), timestamp)
      sums.set(timestamp, (sums.get(timestamp) ?? 0) + contracts)
      if (contracts > 0) above += 1
    }
  }
  assert.ok(above > 50, `${above} figures above 0`)
  const stored = await readRows<OpenInterestRow>(store, feed, [''], range)
  assert.deepEqual(new Map(stored.map((row) => [row.timestamp, row.open_interest])), sums)
  assert.ok(stored.every((row) => row.open_interest_usd === row.open_interest && row.market_id === undefined))
  for (const interval of ['5m', '1h'] as const) {
    const each = feedOf('open_interest', 'predmkt_b', 'BTC', interval)
    const { complete } = await store.coverage.read([each], RANGE.fromMs, RANGE.toMs)
    assert.ok(complete, interval)
  }
})

test('yes/no: a contract without trades has the candles of its quotes; one without a figure has its trades', async (t) => {
  const { fill, store, sandbox, markets } = await setUp(t, 'kalshi', (market) => market.kind === '15M')
  const [untraded, unfigured] = markets
  assert.ok(untraded && unfigured)
  const candles = async () => {
    const range = { from: untraded.startMs, to: untraded.endMs }
    return readRows<CandleRow>(store, candleFeed('predmkt_b', 'BTC', '5m'), [untraded.name], range)
  }
  await fill({ untraded: untraded.name, unfigured: unfigured.name })
  assert.deepEqual(await compareTrades(store, sandbox.truth, unfigured), [])
  const rows = await candles()
  assert.equal(rows.length, 3)
  for (const row of rows) {
    const book = sandbox.truth.book(untraded.name, Date.parse(row.timestamp) + 300_000)
    const mid = (Number(book?.bids[0]?.[0]) + Number(book?.asks[0]?.[0])) / 2
    assert.deepEqual([row.volume, row.closed], [0, true])
    if (Date.parse(row.timestamp) + 300_000 < untraded.endMs) assert.ok(Math.abs(row.close - mid) < 1e-9)
  }
})

for (const name of ['polymarket', 'kalshi'] as const)
  test(`${name}: a market whose answers do not cover it failed, and its time stays a gap`, async (t) => {
    const { fill, store, markets, plan } = await setUp(t, name, ({ kind }) => kind === '5m' || kind === '15M')
    const [wrong] = markets
    assert.ok(wrong)
    const page = (sent: HistoryPage): HistoryPage => ({ ...sent, covered: null })
    assert.equal((await fill({ wrong: { market: wrong.conditionId ?? wrong.name, page } })).failed, 1)
    const feed = feedOf('trades', plan.source, 'BTC')
    const { complete } = await store.coverage.read([feed], wrong.startMs, wrong.endMs)
    assert.equal(complete, false)
  })

test('yes/no: answers without the trades that the venue counts, or without their candles, fail', async (t) => {
  const { fill, store, markets } = await setUp(t, 'kalshi', ({ kind }) => kind === '15M')
  const market = markets[0]?.name ?? ''
  const without = (kinds: readonly DataObservation['kind'][]) => ({
    market,
    page: (sent: HistoryPage) => ({
      ...sent,
      observations: sent.observations.filter((each) => !kinds.includes(each.kind)),
    }),
  })
  const interest = feedOf('open_interest', 'predmkt_b', 'BTC', '5m')
  const range = { from: RANGE.fromMs, to: RANGE.toMs }
  for (const kinds of [['trade'], ['contract_candle'], ['trade', 'contract_candle']] as const) {
    assert.equal((await fill({ wrong: without(kinds) })).failed, 1, kinds.join())
    assert.deepEqual(await readRows<OpenInterestRow>(store, interest, [market], range), [])
  }
})

test('yes/no: a volume that neither the trades nor the candles make up is wrong itself', async (t) => {
  const { fill, store, sandbox, markets } = await setUp(t, 'kalshi', ({ kind }) => kind === '15M')
  const [market] = markets
  assert.ok(market)
  assert.equal((await fill({ overcounted: market.name })).failed, 0)
  assert.deepEqual(await compareTrades(store, sandbox.truth, market), [])
  const range = { from: market.startMs, to: market.endMs }
  const candles = await readRows<CandleRow>(store, candleFeed('predmkt_b', 'BTC', '5m'), [market.name], range)
  assert.equal(candles.length, 3)
})
