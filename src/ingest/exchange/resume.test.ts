import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { observed } from '../../store/coverage.ts'
import { VENUES } from '../../venues/list.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { readUnclosedTrades, retractUnreceived } from './resume.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')

test('single trades: the last moments before an end are observed up to the last row, at most so long back', async () => {
  const store = await storesIn(':memory:', manualClock(START_MS)).environment('test')
  const { coverage } = store
  const trades = feedOf('trades', 'perpdex', 'BTC')
  const quiet = feedOf('trades', 'perpdex', 'ETH')
  const trade = { seq: 1, tradeId: '1', price: '1', size: '1', side: 'buy' } as const
  await store.write({ rows: [{ feed: trades, rows: [{ ...trade, time: START_MS + 30_000 }] }] })
  await store.write({ rows: [{ feed: quiet, rows: [{ ...trade, time: START_MS + 5_000 }] }] })
  await store.write({ coverage: [trades, quiet].map((feed) => observed(feed, START_MS, START_MS + 40_000)) })
  for (const symbol of ['BTC', 'ETH', 'SOL'] as const)
    await retractUnreceived(store, VENUES.hyperliquid.plan, symbol, START_MS + 60_000)
  const gaps = async (feed: typeof trades) =>
    (await coverage.read([feed], START_MS, START_MS + 60_000)).gaps.map(({ from, to }) => [
      from - START_MS,
      to - START_MS,
    ])
  assert.deepEqual(await gaps(trades), [[30_001, 60_000]])
  assert.deepEqual(await gaps(quiet), [[25_000, 60_000]])
  await store.close()
})

test('trades of one millisecond keep the order in which they made the second that was shown', async () => {
  const store = await storesIn(':memory:', manualClock(START_MS)).environment('test')
  const trade = (id: number, time: number, price: string) =>
    ({ seq: id, tradeId: `${id}`, price, size: '1', side: 'buy', time: START_MS + time }) as const
  const trades = [
    ...[trade(2, 5, '10'), trade(1, 5, '11'), trade(4, 900, '12'), trade(3, 900, '13')],
    ...[trade(6, 1_005, '20'), trade(5, 1_005, '21')],
  ]
  const candle = (time: number, [open, close, volume]: readonly string[]) =>
    ({ ...{ time: START_MS + time, closed: false, low: '10', high: '21' }, open, close, volume }) as never
  const [ofTrades, ofSeconds] = [feedOf('trades', 'perpdex', 'BTC'), candleFeed('perpdex', 'BTC', '1s')]
  await store.write({
    rows: [
      { feed: ofTrades, rows: trades },
      // The second one was shown before its last trade.
      { feed: ofSeconds, rows: [candle(0, ['10', '13', '4']), candle(1_000, ['20', '20', '1'])] },
    ],
    coverage: [observed(ofTrades, START_MS, START_MS + 2_000)],
  })
  const { plan } = VENUES.hyperliquid
  const left = await readUnclosedTrades(store, plan, 'BTC', START_MS - 3_600_000, START_MS + 2_000)
  assert.deepEqual(
    left?.trades.map(({ id }) => id),
    ['2', '1', '4', '3', '6', '5'],
  )
  await store.close()
})

test('trades of the previous run keep all their digits, even those that a double does not hold', async () => {
  const store = await storesIn(':memory:', manualClock(START_MS)).environment('test')
  const figures = { price: '61234.5000000000001', size: '0.12345678901234567891' }
  const feed = feedOf('trades', 'perpdex', 'BTC')
  const { price } = figures
  const prices = { open: price, high: price, low: price, close: price }
  await store.write({
    rows: [
      { feed, rows: [{ ...figures, seq: 1, tradeId: '1', side: 'buy', time: START_MS }] },
      {
        feed: candleFeed('perpdex', 'BTC', '1s'),
        rows: [{ ...prices, time: START_MS, volume: figures.size, closed: false }],
      },
    ],
    coverage: [observed(feed, START_MS, START_MS + 2_000)],
  })
  const { plan } = VENUES.hyperliquid
  const left = await readUnclosedTrades(store, plan, 'BTC', START_MS - 3_600_000, START_MS + 2_000)
  assert.deepEqual(
    left?.trades.map(({ price, size }) => ({ price, size })),
    [figures],
  )
  await store.close()
})

test('minutes of an earlier day that were left open prove neither seconds nor trades', async () => {
  const store = await storesIn(':memory:', manualClock(START_MS)).environment('test')
  const feeds = [feedOf('trades', 'perpdex', 'BTC'), candleFeed('perpdex', 'BTC', '1s')]
  const [todayMs, nowMs] = [START_MS + 60_000, START_MS + 120_000]
  const candle = { open: '1', high: '1', low: '1', close: '1', volume: '1', closed: true }
  await store.write({
    rows: [{ feed: candleFeed('perpdex', 'BTC', '1s'), rows: [{ ...candle, time: START_MS }] }],
    coverage: feeds.map((feed) => observed(feed, START_MS, nowMs)),
    finalize: feeds.map((feed) => ({ feed, before: START_MS + 30_000 })),
  })
  await readUnclosedTrades(store, VENUES.hyperliquid.plan, 'BTC', todayMs, nowMs)
  for (const feed of feeds) {
    const { gaps } = await store.coverage.read([feed], START_MS, nowMs)
    assert.deepEqual(
      gaps.map(({ from, to }) => [from - START_MS, to - START_MS]),
      [[30_000, 60_000]],
      feed.dataset,
    )
  }
  await store.close()
})
