import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Feed } from '../../core/feed.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import { RowError } from '../../core/rows/row-error.ts'
import type { FeedRows } from '../../core/rows/row-kinds.ts'
import { gap, observed } from '../coverage.ts'
import { RowsRefusedError, StoreClosedError } from '../environment.ts'
import { candle, candleFeed, type Engine, START, seeded, walk, withStore } from './engine.ts'

const RANGE = { from: START, to: START + 86_400_000 }
const feed = candleFeed('cexa')
const minutes = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => candle(from + i))
const all = { feeds: [feed], range: RANGE, order: 'asc', limit: 1000 } as const

export function appendSuite(engine: Engine): void {
  const it = (name: string, run: Parameters<typeof withStore>[1]) =>
    test(`${engine.name}: ${name}`, () => withStore(engine, run))

  it('appending the same rows again changes nothing', async (store) => {
    const counts = async () => {
      const { markets, ...rest } = await store.write({ rows: [{ feed, rows: minutes(0, 50) }] })
      assert.equal(markets, 0)
      return rest
    }
    assert.deepEqual(await counts(), { inserted: 50, unchanged: 0, rewritten: 0, corrected: 0 })
    const before = await walk(store, all)
    assert.deepEqual(await counts(), { inserted: 0, unchanged: 50, rewritten: 0, corrected: 0 })
    assert.deepEqual(await walk(store, all), before)
    assert.equal(before.length, 50)
  })

  it('the same rows in another order and other batches give byte-identical pages', async (store, opened) => {
    const feeds = [candleFeed('cexa'), candleFeed('cexa_futures'), candleFeed('perpdex')]
    const rows = feeds.flatMap((f) => minutes(0, 40).map((row): FeedRows => ({ feed: f, rows: [row] })))
    await store.write({ rows: rows })
    const query = { feeds, range: RANGE, order: 'asc', limit: 7 } as const
    const first = await walk(store, query)
    assert.equal(first.length, 120)
    const again = await opened.reopen()
    assert.deepEqual(await walk(again, query), first)
    await withStore(engine, async (other) => {
      const mixed = seeded(7).shuffle(rows)
      for (let i = 0; i < mixed.length; i += 11) await other.write({ rows: mixed.slice(i, i + 11) })
      assert.deepEqual(await walk(other, query), first)
    })
  })

  it('an open row is rewritten until it is closed, and a late open version never replaces it', async (store) => {
    const put = (changes: Partial<CandleInput>) =>
      store.write({ rows: [{ feed, rows: [candle(0, changes)] }] })
    await put({ closed: false, close: 101 })
    assert.equal((await put({ closed: false, close: 102 })).rewritten, 1)
    assert.equal((await put({ closed: true, close: 103 })).rewritten, 1)
    assert.equal((await put({ closed: false, close: 104 })).unchanged, 1)
    const [row] = await walk(store, all)
    assert.match(row ?? '', /"close":103,.*"closed":true/)
    assert.deepEqual(await store.series.revisions({ feeds: [feed], range: RANGE, limit: 10 }), [])
  })

  it('a closed row that arrives with other bytes becomes a revision and is counted', async (store, _, clock) => {
    const put = (close: number) => store.write({ rows: [{ feed, rows: [candle(3, { close })] }] })
    await put(101)
    const [original] = await walk(store, all)
    clock.advance(1000)
    assert.equal((await put(102)).corrected, 1)
    clock.advance(1000)
    assert.equal((await put(103)).corrected, 1)
    const revisions = await store.series.revisions({ feeds: [feed], range: RANGE, limit: 10 })
    assert.deepEqual(
      revisions.map((r) => [r.revision, r.recordedAt - START, r.supersededAt - START]),
      [
        [1, 0, 1000],
        [2, 1000, 2000],
      ],
    )
    assert.equal(revisions[0]?.text, original)
    assert.match((await walk(store, all))[0] ?? '', /"close":103,/)
    assert.equal((await store.series.feeds({ source: 'cexa' }))[0]?.corrections, 2)
  })

  it('a wrong row refuses the whole write, with every wrong row named by field and reason', async (store) => {
    const rows = [candle(0), candle(1, { high: 80 }), candle(2), candle(3, { volume: -1 })]
    const before = await store.series.finality([feed])
    await assert.rejects(
      store.write({
        rows: [{ feed, rows }],
        coverage: [observed(feed, START, START + 240_000)],
        finalize: [{ feed, before: START + 240_000 }],
      }),
      (error: unknown) => {
        assert.ok(error instanceof RowsRefusedError)
        assert.deepEqual(
          error.refused.map((each) => [each.feed, each.index, each.error.field]),
          [
            [feed, 1, 'high'],
            [feed, 3, 'volume'],
          ],
        )
        assert.match(error.refused[0]?.error.reason ?? '', /below low/)
        return true
      },
    )
    assert.deepEqual(await walk(store, all), [])
    assert.deepEqual((await store.coverage.read([feed], START, START + 240_000)).observed, [])
    assert.deepEqual(await store.series.finality([feed]), before)
    const kept = rows.filter((_, index) => index % 2 === 0)
    assert.equal((await store.write({ rows: [{ feed, rows: kept }] })).inserted, 2)
  })

  it('a key that an engine could not store is refused as a row, not as a failure of the store', async (store) => {
    const open: Feed<'open_interest'> = {
      dataset: 'open_interest',
      source: 'predmkt_b',
      symbol: 'BTC',
      interval: '5m',
    }
    const row = { time: START, openInterest: 1, openInterestUsd: 1 }
    const ids = ['a\0b', 'a\nb', 'x'.repeat(301), '\u{1d4b3}'.repeat(151)]
    await assert.rejects(
      store.write({ rows: [{ feed: open, rows: ids.map((marketId) => ({ ...row, marketId })) }] }),
      (error: unknown) => error instanceof RowsRefusedError && error.refused.length === ids.length,
    )
    const longest = [`${'x'.repeat(300)}`, '\u{1d4b3}'.repeat(150)]
    const rows = longest.map((marketId) => ({ ...row, marketId }))
    assert.equal((await store.write({ rows: [{ feed: open, rows }] })).inserted, 2)
    const slug = 'y'.repeat(5_000)
    const market = { source: 'predmkt_b', symbol: 'BTC', active: true, status: 'open', slug } as const
    for (const marketId of ids.filter((id) => id !== 'a\nb'))
      await assert.rejects(store.write({ markets: [{ ...market, marketId }] }), RowError)
    for (const marketId of longest)
      assert.equal((await store.write({ markets: [{ ...market, marketId }] })).markets, 1)
    assert.equal((await store.markets.get(longest[0] as string))?.market.slug, slug)
    assert.equal(await store.markets.get(slug), undefined)
  })

  it('appends are written in the order of the calls, even if the caller does not wait', async (store) => {
    const puts = [101, 102, 103, 104].map((close) =>
      store.write({ rows: [{ feed, rows: [candle(0, { closed: close === 104, close })] }] }),
    )
    await Promise.all(puts)
    assert.match((await walk(store, all))[0] ?? '', /"close":104,/)
  })

  it('rows, coverage, finality and markets of one write are there together', async (store) => {
    const query = { ...all, separator: ',' }
    // The rows are read last: while there are none, nothing else of the write may have been visible.
    const seen = async () => ({
      before: (await store.series.finality([feed]))[0]?.before,
      isCovered: (await store.coverage.read([feed], START, START + 600_000)).complete,
      rows: (await store.series.page(query)).count,
    })
    const written = store.write({
      rows: [{ feed, rows: minutes(0, 10) }],
      coverage: [gap(feed, START, START + 600_000, 'venue_down'), observed(feed, START, START + 600_000)],
      finalize: [{ feed, before: START + 600_000 }],
    })
    for (let state = await seen(); state.rows === 0; state = await seen()) {
      assert.deepEqual(state, { before: 0, isCovered: false, rows: 0 })
      // The embedded engine reads without yielding to the event loop, which a write may need while it encodes.
      await setImmediate()
    }
    await written
    assert.deepEqual(await seen(), { before: START + 600_000, isCovered: true, rows: 10 })
  })

  it('every write that changes something of a feed changes its version, and no other', async (store) => {
    const other = candleFeed('perpdex')
    const versions = async (maxAgeMs?: number) =>
      (await store.series.finality([feed, other], maxAgeMs)).map(({ version }) => version)
    let last = await versions()
    const moved = async () => {
      const [own, others] = await versions(60_000)
      const result = [own !== last[0], others !== last[1]]
      last = [own ?? 0, others ?? 0]
      assert.deepEqual(await versions(), last)
      return result
    }
    await store.write({ rows: [{ feed, rows: minutes(0, 10) }] })
    assert.deepEqual(await moved(), [true, false])
    await store.write({ rows: [{ feed, rows: minutes(0, 10) }] })
    assert.deepEqual(await moved(), [false, false])
    await store.write({ coverage: [observed(feed, START, START + 60_000)] })
    assert.deepEqual(await moved(), [true, false])
    await store.write({ finalize: [{ feed: other, before: START }] })
    assert.deepEqual(await moved(), [false, true])
  })

  it('an append above the size of a batch is written whole', async (store) => {
    const second = candleFeed('cexa', '1s')
    const rows = Array.from({ length: 23_456 }, (_, i) => candle(0, { time: START + i * 1000 }))
    assert.equal((await store.write({ rows: [{ feed: second, rows }] })).inserted, 23_456)
    assert.equal(await store.series.count({ ...all, feeds: [second], limit: 100_000 }), 23_456)
    assert.equal(await store.series.count({ ...all, feeds: [second], limit: 500 }), 500)
  })

  it('rows of many bytes are written in several transactions, few bytes in one', async (store) => {
    const trades: Feed<'trades'> = { dataset: 'trades', source: 'perpdex', symbol: 'BTC', interval: '' }
    const version = async () => (await store.series.finality([trades]))[0]?.version ?? 0
    const put = (from: number, tradeId: string) => {
      const trade = { seq: 0, price: 1, size: 1, side: 'buy', tradeId } as const
      const rows = Array.from({ length: 2_000 }, (_, i) => ({ ...trade, time: START + from + i }))
      return store.write({ rows: [{ feed: trades, rows }] })
    }
    assert.equal((await put(0, 't')).inserted, 2_000)
    assert.equal(await version(), 1)
    assert.equal((await put(2_000, 't'.repeat(3_000))).inserted, 2_000)
    assert.equal(await version(), 3)
    assert.equal(await store.series.count({ ...all, feeds: [trades], limit: 10_000 }), 4_000)
  })

  it('finality never moves back, and the epoch changes with what is final and with nothing else', async (store, _, clock) => {
    const state = async () => {
      const [f] = await store.series.finality([feed])
      return [((f?.before ?? 0) - START) / 60_000, f?.epoch]
    }
    assert.deepEqual((await store.series.finality([feed]))[0]?.before, 0)
    await store.write({ rows: [{ feed, rows: minutes(0, 10) }] })
    await store.write({ finalize: [{ feed: feed, before: START + 5 * 60_000 }] })
    await store.write({ finalize: [{ feed: feed, before: START + 2 * 60_000 }] })
    const [before, epoch] = await state()
    assert.equal(before, 5)
    await store.write({ rows: [{ feed, rows: minutes(0, 20) }] })
    assert.deepEqual(await state(), [5, epoch])
    await store.write({ rows: [{ feed, rows: [candle(4, { close: 104 })] }] })
    const corrected = (await state())[1]
    assert.notEqual(corrected, epoch)
    await store.write({ coverage: [observed(feed, START, START + 60_000)] })
    const covered = (await state())[1]
    assert.notEqual(covered, corrected)
    await store.write({ coverage: [observed(feed, START, START + 60_000)] })
    assert.equal((await state())[1], covered)
    clock.set(START + 60_000)
    await store.series.retain({ dataset: 'candles' }, 0)
    assert.notEqual((await state())[1], covered)
  })

  it('a closed store refuses calls and a second close is harmless', async (store) => {
    const last = store.write({ rows: [{ feed, rows: minutes(0, 10) }] })
    await last
    await store.close()
    await store.close()
    await assert.rejects(store.write({ rows: [{ feed, rows: [candle(1)] }] }), StoreClosedError)
    await assert.rejects(store.series.page({ ...all, separator: ',' }), StoreClosedError)
  })
}
