/** The self-checks of prediction markets over a real store, with a venue that lists its trades. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fixedRandom, openAuditedStore } from '../../../test/ingest/audited-store.ts'
import type { Feed } from '../../core/feed.ts'
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import { buildMarketCandles, rollUpMarketCandles } from '../../core/market-candles.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import { observed } from '../../store/coverage.ts'
import { VENUES } from '../../venues/list.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import type { HistoryRequest } from '../../venues/venue.ts'
import { marketTradeRow } from '../prediction/record-market.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import type { AuditDifference } from './audit.ts'
import { auditPredictions } from './audit-predictions.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const START_MS = Date.parse('2026-03-14T00:00:00Z')
const END_MS = START_MS + 24 * HOUR_MS
type Name = 'polymarket' | 'kalshi'

/** Some trades within an hour in the middle of the day. */
function tradesOf(name: Name): TradeObservation[] {
  const { source, hasTokens } = VENUES[name].plan
  const marketId = hasTokens ? '0xc0ffee' : 'KXBTC-26MAR14'
  return Array.from({ length: 90 }, (_, index): TradeObservation => {
    const venueTimeMs = START_MS + 12 * HOUR_MS + index * 40_000 + 3_000
    const tokenId = `token${index % 2}`
    const instrument = hasTokens ? tokenId : marketId
    return {
      ...{ kind: 'trade', source, symbol: 'BTC', instrument, venueTimeMs, receivedMs: venueTimeMs },
      id: hasTokens ? `0x${index.toString(16)}-${tokenId}-0` : `trade-${index}`,
      key: String(index),
      ...{
        price: `0.${40 + (index % 20)}`,
        size: String(1 + (index % 7)),
        side: index % 3 === 0 ? 'sell' : 'buy',
      },
      ...(hasTokens ? { leg: { marketId, tokenId, outcome: index % 2 === 0 ? 'Up' : 'Down' } } : {}),
    } as TradeObservation
  })
}

/** `unstored`: index of a trade that is not stored; without `isCounted`, it is not in the candles either. */
async function open(t: TestContext, name: Name, unstored?: number, isCounted = true) {
  const audited = await openAuditedStore(END_MS + HOUR_MS)
  t.after(() => audited.close())
  const { plan } = VENUES[name]
  const { source, hasTokens } = plan
  const trades = tradesOf(name)
  const marketId = trades[0]?.leg?.marketId ?? trades[0]?.instrument ?? ''
  const feed = feedOf('trades', source, 'BTC')
  const candles = new Map<Feed<'candles'>, CandleInput[]>()
  const stored = trades.filter((_, place) => place !== unstored)
  const counted = isCounted ? trades : stored
  for (const [instrument, own] of Map.groupBy(counted, (trade) => trade.instrument)) {
    const fine = buildMarketCandles({
      ...{ interval: '5m', mids: [], volume: plan.volume },
      trades: own.map(({ venueTimeMs: timeMs, price, size }) => ({ timeMs, price, size })),
    })
    for (const interval of COARSE_INTERVALS) {
      const rows = (interval === '5m' ? fine : rollUpMarketCandles(interval, fine)).map(
        ({ openTimeMs: time, basis: _basis, samples: _samples, ...rest }): CandleInput => ({
          ...{ time, ...rest, closed: true },
          market: { marketId, tokenId: hasTokens ? instrument : null },
        }),
      )
      const key = [...candles.keys()].find((each) => each.interval === interval)
      if (key === undefined) candles.set(candleFeed(source, 'BTC', interval), rows)
      else candles.get(key)?.push(...rows)
    }
  }
  const feeds = [feed, ...candles.keys()]
  await audited.store.write({
    rows: [
      { feed, rows: stored.map((trade) => marketTradeRow(trade, marketId)) },
      ...[...candles].map(([each, rows]) => ({ feed: each, rows })),
    ],
    coverage: feeds.map((each) => observed(each, START_MS, END_MS)),
    finalize: feeds.map((each) => ({ feed: each, before: END_MS })),
  })
  let listed: readonly TradeObservation[] = trades
  async function* history({ range }: HistoryRequest) {
    const observations = listed.filter(({ venueTimeMs: atMs }) => atMs >= range.fromMs && atMs < range.toMs)
    yield { observations, covered: range, missing: [] }
  }
  async function examine(turns: number, seed: number) {
    const checks = auditPredictions({
      ...{ ...audited, rows: audited.writer, plan, venue: { history }, symbols: ['BTC'] },
      random: fixedRandom(seed),
      signal: new AbortController().signal,
    })
    const differences: AuditDifference[] = []
    let checked = 0
    for (let turn = 0; turn < turns; turn++) {
      audited.clock.advance(MINUTE_MS)
      for (const check of checks) {
        const found = await check.run()
        if (found === null) continue
        checked += 1
        differences.push(...found)
      }
      await audited.writer.flush()
    }
    return { checked, differences }
  }
  const list = (next: readonly TradeObservation[]) => {
    listed = next
  }
  return { ...audited, source, feed, trades, examine, list }
}

for (const name of ['polymarket', 'kalshi'] as const) {
  test(`${name}: correct rows have no difference, whatever the venue leaves out of its list`, async (t) => {
    const { examine, list, trades } = await open(t, name)
    const whole = await examine(200, 1)
    assert.deepEqual(whole.differences, [])
    assert.ok(whole.checked > 20, String(whole.checked))
    list(trades.slice(40, 50))
    assert.deepEqual((await examine(200, 2)).differences, [])
  })

  test(`${name}: a trade that coverage claims and that is not stored is added`, async (t) => {
    const { examine, feed, store } = await open(t, name, 30)
    const count = async () => {
      const range = { from: 0, to: END_MS }
      const page = await store.series.page({
        ...{ feeds: [feed], range, order: 'asc', limit: 1_000, separator: ',' },
      })
      return page.count
    }
    const before = (await count()) + 1
    const { differences } = await examine(200, 3)
    assert.deepEqual(
      differences.map(({ action, what }) => [action, what.includes('was missing that the venue has')]),
      [['corrected', true]],
    )
    assert.equal(await count(), before)
  })

  test(`${name}: the candles of a trade that is added are a gap where they do not have it`, async (t) => {
    for (const isCounted of [true, false]) {
      const { examine, source, store, trades } = await open(t, name, 30, isCounted)
      assert.equal((await examine(200, 3)).differences.length, 1)
      for (const interval of COARSE_INTERVALS) {
        const { gaps } = await store.coverage.read([candleFeed(source, 'BTC', interval)], START_MS, END_MS)
        const fromMs = candleStart(trades[30]?.venueTimeMs ?? 0, interval)
        const lost = { source, from: fromMs, to: fromMs + INTERVAL_MS[interval], reason: 'not_observed' }
        assert.deepEqual(gaps, isCounted ? [] : [lost], interval)
      }
    }
  })

  test(`${name}: a longer candle with another volume is a gap, the finer ones are not`, async (t) => {
    const { examine, behind, idOf, source, store } = await open(t, name)
    const coarse = candleFeed(source, 'BTC', '1h')
    behind(
      `UPDATE series_rows SET text = replace(text, '"volume":', '"volume":9') WHERE feed = ?`,
      idOf(coarse),
    )
    const { differences } = await examine(200, 4)
    assert.ok(differences.length > 0)
    assert.ok(differences.every(({ action, feed }) => action === 'gap' && feed?.interval === '1h'))
    const { gaps } = await store.coverage.read([coarse], START_MS, END_MS)
    const fromMs = START_MS + 12 * HOUR_MS
    assert.deepEqual(gaps, [{ source, from: fromMs, to: fromMs + HOUR_MS, reason: 'not_observed' }])
  })
}

test('a trade of the stream that is several in the list is no difference', async (t) => {
  const { examine, list, trades } = await open(t, 'polymarket')
  list(trades.map((trade) => ({ ...trade, id: `${trade.id.slice(0, -1)}7` })))
  assert.deepEqual((await examine(200, 5)).differences, [])
})

test('block trades of 5 minutes without a candle are in the longer candles alone, which is no difference', async (t) => {
  const { examine, behind, idOf, source } = await open(t, 'kalshi')
  const atMs = START_MS + 12 * HOUR_MS + 10 * MINUTE_MS
  const base = idOf(candleFeed(source, 'BTC', '5m'))
  assert.equal(behind('DELETE FROM series_rows WHERE feed = ? AND ts = ?', base, atMs), 1)
  assert.deepEqual((await examine(200, 6)).differences, [])
})
