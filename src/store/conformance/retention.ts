import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Feed } from '../../core/feed.ts'
import { observed } from '../coverage.ts'
import { candle, candleFeed, type Engine, START, seeded, walk, withStore } from './engine.ts'
import { drifting } from './snapshots.ts'

const DAY_MS = 86_400_000

export function retentionSuite(engine: Engine): void {
  test(`${engine.name}: no range is complete whose rows are being deleted, and a stopped retention goes on later`, () =>
    withStore(engine, async (store, _, clock) => {
      const feed: Feed<'liquidations'> = {
        dataset: 'liquidations',
        source: 'cexa_futures',
        symbol: 'BTC',
        interval: '',
      }
      const row = { seq: 0, side: 'long' as const, quantity: 1, price: 10, avgPrice: 10 }
      const rows = Array.from({ length: 9_000 }, (_, i) => ({ ...row, time: START + i * 1000 }))
      const end = START + 9_000_000
      await store.write({ rows: [{ feed, rows }], coverage: [observed(feed, START, end)] })
      await store.write({ finalize: [{ feed, before: end }] })
      const border = START + 8_000_000
      clock.set(border + 1_000)
      const query = {
        feeds: [feed],
        range: { from: START, to: end },
        order: 'asc' as const,
        limit: 10_000,
        separator: ',',
        coverageTo: end,
      }
      const counts: number[] = []
      let isStopped = false
      const betweenSteps = async () => {
        const { page, coverage } = await store.coveredPage(query)
        assert.equal(coverage.complete, false)
        assert.deepEqual(coverage.gaps, [
          { source: 'cexa_futures', from: START, to: border, reason: 'before_start' },
        ])
        counts.push(page.count)
        return !isStopped
      }
      isStopped = true
      const first = await store.series.retain({ dataset: 'liquidations' }, 1_000, { betweenSteps })
      assert.equal(counts.length, 1)
      assert.ok(first > 0 && first < 8_000, `${first} rows in a step`)
      isStopped = false
      const second = await store.series.retain({ dataset: 'liquidations' }, 1_000, { betweenSteps })
      assert.equal(first + second, 8_000)
      assert.equal(counts.at(-1), 1_000)
    }))

  test(`${engine.name}: of the clocks of store and caller the one that is behind decides what is old`, () =>
    withStore(engine, async (store, _, clock) => {
      const feed = candleFeed('cexa')
      await store.write({ rows: [{ feed, rows: [candle(0), candle(10)] }] })
      clock.set(START + 365 * DAY_MS)
      const nowMs = START + 5 * 60_000
      assert.equal(await store.series.retain({ dataset: 'candles' }, 1_000, { nowMs }), 1)
      assert.equal(await store.series.retain({ dataset: 'candles' }, DAY_MS), 1)
    }))

  test(`${engine.name}: retention touches only the feeds that it is given, also where all that is old is of past months`, () =>
    withStore(engine, async (store, _, clock) => {
      const [given, other] = [candleFeed('cexa'), candleFeed('perpdex')]
      const range = { from: START, to: START + 60_000 }
      for (const feed of [given, other])
        await store.write({
          rows: [{ feed, rows: [candle(0)] }],
          coverage: [observed(feed, range.from, range.to)],
        })
      clock.set(START + 100 * DAY_MS)
      const retain = (feeds: readonly Feed[]) =>
        store.series.retain({ dataset: 'candles' }, DAY_MS, { feeds, nowMs: clock.now() })
      assert.equal(await retain([given]), 1)
      const countOf = async (feed: Feed) =>
        (await store.series.page({ feeds: [feed], range, order: 'asc', limit: 10, separator: ',' })).count
      assert.deepEqual([await countOf(given), await countOf(other)], [0, 1])
      const gapsOf = async (feed: Feed) =>
        (await store.coverage.read([feed], range.from, range.to)).gaps.length
      assert.deepEqual([await gapsOf(given), await gapsOf(other)], [1, 0])
      assert.equal(await retain([given, other]), 1)
    }))

  test(`${engine.name}: retention deletes what is older of one dataset, with its coverage, and nothing else`, () =>
    withStore(engine, async (store, _, clock) => {
      const liquidations: Feed<'liquidations'> = {
        dataset: 'liquidations',
        source: 'cexa_futures',
        symbol: 'BTC',
        interval: '',
      }
      const rows = Array.from({ length: 12_000 }, (_, i) => ({
        time: START + i * 1000,
        seq: 0,
        side: 'long' as const,
        quantity: 1,
        price: 10,
        avgPrice: 10,
      }))
      const candles = candleFeed('cexa')
      await store.write({
        rows: [
          { feed: liquidations, rows },
          { feed: candles, rows: [candle(0)] },
        ],
      })
      await store.write({ coverage: [observed(liquidations, START, START + DAY_MS)] })
      const border = START + 11_000_000
      clock.set(border + 5_000)
      assert.equal(await store.series.retain({ dataset: 'liquidations' }, 5_000), 11_000)
      assert.equal(await store.series.retain({ dataset: 'liquidations' }, 5_000), 0)
      assert.equal(await store.series.earliest({ dataset: 'liquidations' }), border)
      assert.equal(await store.series.earliest({ dataset: 'candles' }), START)
      assert.deepEqual((await store.coverage.read([liquidations], START, START + DAY_MS)).gaps, [
        { source: 'cexa_futures', from: START, to: border, reason: 'before_start' },
      ])
    }))

  test(`${engine.name}: snapshots that stay keep their books and are still sampled`, () =>
    withStore(engine, async (store, _, clock) => {
      const feed: Feed<'snapshots'> = {
        dataset: 'snapshots',
        source: 'predmkt_a',
        symbol: 'BTC',
        interval: '5m',
      }
      await store.write({ rows: [{ feed, rows: drifting(seeded(1), ['0xa'], 400) }] })
      clock.set(START + 91_000)
      assert.equal(await store.series.retain({ dataset: 'snapshots' }, 1_000), 180)
      const texts = await walk(store, {
        feeds: [feed],
        range: { from: START, to: START + DAY_MS },
        order: 'asc',
        limit: 50,
        stepMs: 500,
        books: { books: true, diffs: false },
      })
      assert.equal(texts.length, 220)
      assert.ok(texts.every((text) => JSON.parse(text).orderbook_up.bids.length >= 0))
    }))
}
