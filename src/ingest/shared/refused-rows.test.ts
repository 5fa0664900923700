/**
 * Wherever a refused row is in its batch, the rows around it are stored, its time is a gap while it is missing, no
 * coverage, answer or finality extends over it, and an accepted row in its place closes the gap. Rows, faults and their
 * places are drawn from a seed (TAPELINE_SEED); the store is the real one.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import type { Feed } from '../../core/feed.ts'
import type { RowInputs } from '../../core/rows/row-kinds.ts'
import { createLogger } from '../../kit/log.ts'
import { seeded } from '../../store/conformance/engine.ts'
import { candleFeed, feedOf } from './feeds.ts'
import { createRefusedRows, HOLDS_FINALITY_MS } from './refused-rows.ts'
import type { RefusedRow } from './row-batch.ts'
import { createCoverageTracker } from './track-coverage.ts'
import { createRowWriter } from './write-rows.ts'

const SEED = Number(process.env.TAPELINE_SEED ?? Date.now() % 1e9)
const ROUNDS = process.env.TAPELINE_SOAK === undefined ? 5 : 200
const START_MS = Date.parse('2026-11-10T10:00:00Z')
const ROWS = 40

type Row = RowInputs[Feed['dataset']]

interface Subject {
  readonly feed: Feed
  /** The distance between rows, and how long each is valid. */
  readonly stepMs: number
  readonly spanMs: number
  readonly row: (timeMs: number, index: number) => Row
  /** Each turns a row into one that cannot be served. */
  readonly faults: readonly ((row: never) => unknown)[]
}

const candle = (time: number) => ({
  ...{ time, open: '10', high: '12', low: '9', close: '11', volume: '3', closed: true },
})
const candleFaults = [
  (row: object) => ({ ...row, low: '0' }),
  (row: object) => ({ ...row, high: '8' }),
  (row: object) => ({ ...row, close: 'NaN' }),
  (row: object) => ({ ...row, open: undefined }),
  (row: object) => ({ ...row, volume: '-1' }),
] as const
const marketOf = (index: number) => ({
  ...{ marketId: `0x${index}`, slug: null, tokenId: `${index}`, outcome: 'Up', question: null },
})
const level = (price: string, size = '1') => [price, size] as const

const SUBJECTS: readonly Subject[] = [
  {
    ...{ feed: candleFeed('cexa', 'BTC', '1m'), stepMs: 60_000, spanMs: 60_000, faults: candleFaults },
    row: (time) => ({ ...candle(time), numTrades: 3 }),
  },
  {
    ...{ feed: candleFeed('cexa_futures', 'ETH', '1s'), stepMs: 1_000, spanMs: 1_000, faults: candleFaults },
    row: (time) => ({
      ...candle(time),
      numTrades: 3,
      takerBuyRatio: '0.5',
      fundingRate: null,
      openInterest: null,
    }),
  },
  {
    ...{ feed: candleFeed('predmkt_a', 'BTC', '5m'), stepMs: 300_000, spanMs: 300_000 },
    row: (time, index) => ({
      ...{ time, open: '0.4', high: '0.6', low: '0.3', close: '0.5', volume: '3', closed: true },
      market: marketOf(index),
    }),
    faults: [(row: object) => ({ ...row, high: '1.2' }), (row: object) => ({ ...row, volume: '-1' })],
  },
  {
    ...{ feed: feedOf('flow', 'cexa', 'BTC', '5m'), stepMs: 300_000, spanMs: 300_000 },
    row: (time) => ({
      ...{ time, buyVolume: '2', sellVolume: '1', numBuys: 2, numSells: 1, vwapBuy: '10', vwapSell: '10' },
      closed: true,
    }),
    faults: [(row: object) => ({ ...row, sellVolume: '-1' }), (row: object) => ({ ...row, vwapBuy: null })],
  },
  {
    ...{ feed: feedOf('trades', 'perpdex', 'BTC'), stepMs: 10, spanMs: 1 },
    row: (time, index) => ({ time, seq: index, tradeId: `${index}`, price: '10', size: '1', side: 'buy' }),
    faults: [
      (row: object) => ({ ...row, price: '0' }),
      (row: object) => ({ ...row, size: '-0.1' }),
      (row: object) => ({ ...row, side: 'both' }),
      (row: object) => ({ ...row, tradeId: '' }),
    ],
  },
  {
    ...{ feed: feedOf('ticker', 'cexa', 'BTC'), stepMs: 1_000, spanMs: 1_000 },
    row: (time) => ({ time, bidPrice: '10', bidSize: '1', askPrice: '11', askSize: '1' }),
    faults: [(row: object) => ({ ...row, bidPrice: '-1' }), (row: object) => ({ ...row, askSize: 'x' })],
  },
  {
    ...{ feed: feedOf('liquidations', 'cexa_futures', 'BTC'), stepMs: 100, spanMs: 1 },
    row: (time, seq) => ({ time, seq, side: 'long', quantity: '1', price: '10', avgPrice: '10' }),
    faults: [(row: object) => ({ ...row, quantity: '0' }), (row: object) => ({ ...row, side: 'up' })],
  },
  {
    ...{ feed: feedOf('funding', 'perpdex', 'BTC'), stepMs: 3_600_000, spanMs: 1 },
    row: (time) => ({ time, fundingRate: '0.1', nextFundingTime: time + 3_600_000 }),
    faults: [(row: object) => ({ ...row, nextFundingTime: 0 })],
  },
  {
    ...{ feed: feedOf('open_interest', 'perpdex', 'BTC', '5m'), stepMs: 300_000, spanMs: 300_000 },
    row: (time) => ({ time, openInterest: '10', openInterestUsd: '100' }),
    faults: [(row: object) => ({ ...row, openInterest: '-10' })],
  },
  {
    // A refused book is valid until the next book.
    ...{ feed: feedOf('snapshots', 'perpdex', 'BTC'), stepMs: 500, spanMs: 500 },
    row: (time) => ({ time, book: { bids: [level('10')], asks: [level('11')] } }),
    faults: [
      (row: object) => ({ ...row, book: { bids: [level('0')], asks: [level('11')] } }),
      (row: object) => ({ ...row, book: undefined }),
    ],
  },
]

async function setUp(folder = ':memory:') {
  const clock = manualClock(START_MS)
  const store = await storesIn(folder, clock).environment('test')
  const refused: RefusedRow[] = []
  const writer = createRowWriter({
    ...{ store, random: Math.random, clock, log: createLogger({ level: 'silent' }) },
    onRefused: (each) => void refused.push(each),
  })
  return {
    ...{ clock, store, writer, refused },
    tracker: (feed: Feed) =>
      createCoverageTracker({ feeds: [{ feed, channels: ['all'] }], coverage: store.coverage, writer }),
    async end() {
      await writer.close()
      await store.close()
    },
  }
}

for (const subject of SUBJECTS) {
  const { feed, stepMs, spanMs } = subject
  const name = `${feed.dataset} ${feed.source} ${feed.interval}`.trim()
  test(`${name}: a refused row is a gap of its own time and nothing else (seed ${SEED})`, async () => {
    const random = seeded(SEED)
    for (let round = 0; round < ROUNDS; round++) {
      const { store, writer, refused, tracker: track, end } = await setUp()
      const tracker = track(feed)
      const firstMs = Math.ceil(START_MS / stepMs) * stepMs
      const good = Array.from({ length: ROWS }, (_, i) => subject.row(firstMs + i * stepMs, i))
      // The last row is always good, because a book is valid until the next one.
      const bad = new Set(Array.from({ length: 1 + random.below(5) }, () => random.below(ROWS - 1)))
      const fault = () => random.pick(subject.faults) as (row: Row) => Row
      const rows = good.map((row, i) => (bad.has(i) ? fault()(row) : row))
      const endMs = firstMs + ROWS * stepMs
      const gaps = async () =>
        (await store.coverage.read([feed], firstMs, endMs)).gaps.map(({ from, to, reason }) => ({
          ...{ from, to, reason },
        }))
      const stored = async () =>
        (
          await store.series.page({
            ...{
              feeds: [feed],
              range: { from: firstMs, to: endMs },
              order: 'asc',
              limit: ROWS,
              separator: '\n',
            },
          })
        ).count

      tracker.up('all', firstMs)
      for (let i = 0; i < ROWS; ) {
        const count = 1 + random.below(8)
        writer.put(feed as never, rows.slice(i, i + count) as never)
        const fromMs = firstMs + i * stepMs
        i = Math.min(ROWS, i + count)
        const toMs = firstMs + i * stepMs
        // Either live coverage or an answer of the venue, in the same flush or a later one.
        if (random.below(3) === 0) await writer.flush()
        if (random.below(2) === 0) tracker.coverTo(toMs)
        else tracker.confirm(feed, fromMs, toMs)
        writer.final(feed, toMs)
        if (random.below(2) === 0) await writer.flush()
      }
      tracker.coverTo(endMs)
      await writer.flush()

      const expected = joined(
        [...bad]
          .sort((a, b) => a - b)
          .map((i) => ({ from: firstMs + i * stepMs, to: firstMs + i * stepMs + spanMs })),
      )
      assert.deepEqual(
        await gaps(),
        expected.map((gap) => ({ ...gap, reason: 'not_observed' })),
        `round ${round}`,
      )
      assert.equal(await stored(), ROWS - bad.size)
      assert.deepEqual([writer.stats().refused, refused.length], [bad.size, bad.size])
      const [final] = await store.series.finality([feed])
      assert.ok((final?.before ?? 0) <= (expected[0]?.from ?? 0), 'final beyond a row that may be repaired')

      // The repair: each row in its correct form, in any order.
      for (const i of random.shuffle([...bad])) {
        writer.put(feed as never, [good[i]] as never)
        if (random.below(2) === 0) await writer.flush()
      }
      writer.final(feed, endMs)
      await writer.flush()
      assert.deepEqual(await gaps(), [], `round ${round}, repaired`)
      assert.equal(await stored(), ROWS)
      assert.equal((await store.series.finality([feed]))[0]?.before, endMs)
      await end()
    }
  })
}

function joined(spans: readonly { from: number; to: number }[]): { from: number; to: number }[] {
  const all: { from: number; to: number }[] = []
  for (const span of spans) {
    const last = all.at(-1)
    if (last?.to === span.from) last.to = span.to
    else all.push({ ...span })
  }
  return all
}

test('a row that the database itself refuses does not affect its neighbours, in any feed of its batch', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-refused-'))
  try {
    const { store, writer, refused, tracker, end } = await setUp(folder)
    const other = new DatabaseSync(join(folder, 'test.db'))
    other.exec(`CREATE TRIGGER poison BEFORE INSERT ON series_rows WHEN NEW.text LIKE '%"poison"%'
      BEGIN SELECT RAISE(ABORT, 'poisoned'); END`)
    other.close()
    const [trades, funding] = [feedOf('trades', 'perpdex', 'BTC'), feedOf('funding', 'perpdex', 'BTC')]
    const trade = (i: number) => ({
      ...{ time: START_MS + i, seq: i, price: '10', size: '1', side: 'buy' as const },
      tradeId: i === 71 ? 'poison' : `${i}`,
    })
    writer.put(
      trades,
      Array.from({ length: 200 }, (_, i) => trade(i)),
    )
    writer.put(funding, [{ time: START_MS, fundingRate: '0.1', nextFundingTime: START_MS + 1 }])
    tracker(trades).confirm(trades, START_MS, START_MS + 200)
    await writer.flush()
    assert.deepEqual(
      [writer.stats().inserted, writer.stats().refused, writer.stats().failure],
      [200, 1, null],
    )
    assert.match(refused[0]?.error.message ?? '', /poisoned/)
    assert.deepEqual((await store.coverage.read([trades], START_MS, START_MS + 200)).gaps, [
      { source: 'perpdex', from: START_MS + 71, to: START_MS + 72, reason: 'not_observed' },
    ])
    await end()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('an observation that is taken back does not come again with the repaired row', async () => {
  const { store, writer, tracker: track, end } = await setUp()
  const feed = candleFeed('cexa', 'BTC', '1m')
  const tracker = track(feed)
  writer.put(feed, [{ ...candle(START_MS), numTrades: 1, low: '0' }])
  tracker.up('all', START_MS)
  tracker.coverTo(START_MS + 60_000)
  tracker.failed('all', START_MS + 30_000, 'venue_down')
  await writer.flush()
  writer.put(feed, [{ ...candle(START_MS), numTrades: 1 }])
  await writer.flush()
  const { observed } = await store.coverage.read([feed], START_MS, START_MS + 60_000)
  assert.deepEqual(observed, [{ from: START_MS, to: START_MS + 30_000 }])
  await end()
})

test('a row that is stored and final stays as it is if a later answer for it is refused', async () => {
  const { store, writer, tracker: track, end } = await setUp()
  const feed = candleFeed('cexa', 'BTC', '1m')
  const tracker = track(feed)
  const at = (minute: number) => START_MS + minute * 60_000
  const gaps = async () => {
    await writer.flush()
    const found = await store.coverage.read([feed], at(0), at(4))
    return found.gaps.map(({ from, to }) => [(from - START_MS) / 60_000, (to - START_MS) / 60_000])
  }
  const page = {
    feeds: [feed],
    range: { from: at(0), to: at(4) },
    order: 'asc',
    limit: 9,
    separator: ',',
  } as const
  // The venue has no candle of minute 1.
  for (const minute of [0, 2, 3]) writer.put(feed, [{ ...candle(at(minute)), numTrades: 1 }])
  tracker.confirm(feed, at(0), at(4))
  writer.final(feed, at(3))
  assert.deepEqual(await gaps(), [])
  const { text } = await store.series.page(page)
  for (const minute of [0, 1, 2, 3]) writer.put(feed, [{ ...candle(at(minute)), numTrades: 1, low: '0' }])
  tracker.confirm(feed, at(0), at(4))
  // Of minute 1 nothing is stored that the answer could have been, and minute 3 is not final.
  const expected = [
    [1, 2],
    [3, 4],
  ]
  assert.deepEqual(await gaps(), expected)
  writer.refuse(feed, at(2))
  assert.deepEqual(await gaps(), expected)
  assert.equal((await store.series.page(page)).text, text)
  assert.equal(writer.stats().refused, 4)
  // A row that is doubted is not confirmed by an answer that cannot be read.
  tracker.lost(feed, at(0), at(1), 'not_observed')
  await writer.flush()
  writer.put(feed, [{ ...candle(at(0)), numTrades: 1, low: '0' }])
  tracker.confirm(feed, at(0), at(1))
  assert.deepEqual(await gaps(), [
    [0, 2],
    [3, 4],
  ])
  await end()
})

test('a later answer of the venue without the row closes its gap; one that is refused again does not', async () => {
  const { store, writer, tracker: track, end } = await setUp()
  const feed = candleFeed('cexa', 'BTC', '1m')
  const tracker = track(feed)
  const isComplete = async () => {
    await writer.flush()
    return (await store.coverage.read([feed], START_MS, START_MS + 60_000)).complete
  }
  for (let i = 0; i < 3; i++) {
    writer.put(feed, [{ ...candle(START_MS), numTrades: 1, low: '0' }])
    tracker.confirm(feed, START_MS, START_MS + 120_000)
    assert.equal(await isComplete(), false)
  }
  tracker.confirm(feed, START_MS, START_MS + 120_000)
  assert.equal(await isComplete(), true)
  await end()
})

test('finality does not wait for a repair for ever', async () => {
  const { clock, store, writer, end } = await setUp()
  const feed = candleFeed('cexa', 'BTC', '1m')
  writer.put(feed, [{ ...candle(START_MS), numTrades: 1, low: '0' }])
  writer.final(feed, START_MS + 60_000)
  await writer.flush()
  assert.equal((await store.series.finality([feed]))[0]?.before, START_MS)
  clock.advance(HOLDS_FINALITY_MS)
  writer.final(feed, START_MS + 120_000)
  await writer.flush()
  assert.equal((await store.series.finality([feed]))[0]?.before, START_MS + 120_000)
  await end()
})

test('an earlier row of the same time does not stand for one that was refused after it, in one batch or in two', async () => {
  const feed = candleFeed('cexa', 'BTC', '5m')
  const openMs = Math.ceil(START_MS / 300_000) * 300_000
  const endMs = openMs + 300_000
  const shown = { ...candle(openMs), numTrades: 3, closed: false }
  for (const isOneBatch of [true, false]) {
    const { store, writer, end } = await setUp()
    writer.put(feed, [shown])
    if (!isOneBatch) await writer.flush()
    writer.refuse(feed, openMs)
    writer.observed(feed, openMs, endMs, true)
    writer.final(feed, endMs)
    await writer.flush()
    const { gaps } = await store.coverage.read([feed], openMs, endMs)
    assert.deepEqual(
      gaps.map(({ from, to }) => ({ from, to })),
      [{ from: openMs, to: endMs }],
    )
    assert.equal((await store.series.finality([feed]))[0]?.before, openMs)
    writer.put(feed, [{ ...shown, closed: true }])
    writer.final(feed, endMs)
    await writer.flush()
    assert.deepEqual((await store.coverage.read([feed], openMs, endMs)).gaps, [])
    await end()
  }
})

test('what is observed second by second in the time of a refused row is one range, and a write that is repeated finds it as it was', () => {
  const feed = candleFeed('cexa', 'BTC', '1h')
  const row = candle(START_MS)
  const refused = createRefusedRows()
  refused.add(feed, row, START_MS)
  const observe = (from: number, to: number) => {
    for (let second = from; second < to; second++) {
      const fromMs = START_MS + second * 1_000
      assert.deepEqual(refused.clear(feed, { fromMs, toMs: fromMs + 1_000 }, false), [])
    }
  }
  observe(0, 600)
  const undo = refused.snapshot()
  observe(600, 1_200)
  assert.deepEqual(refused.taken(feed, row), [{ fromMs: START_MS, toMs: START_MS + 1_200_000 }])
  undo()
  assert.deepEqual(refused.taken(feed, row), [{ fromMs: START_MS, toMs: START_MS + 600_000 }])
})

test('a repaired row closes its gap also where another row of its batch is refused', async () => {
  const { store, writer, tracker: track, end } = await setUp()
  const feed = candleFeed('cexa', 'BTC', '1m')
  const tracker = track(feed)
  const row = (minute: number, low = '9') => ({
    ...candle(START_MS + minute * 60_000),
    numTrades: 1,
    low,
  })
  writer.put(feed, [row(0, '0'), row(1)])
  tracker.up('all', START_MS)
  tracker.coverTo(START_MS + 120_000)
  await writer.flush()
  writer.put(feed, [row(0), row(2, '0')])
  tracker.coverTo(START_MS + 180_000)
  await writer.flush()
  const { gaps } = await store.coverage.read([feed], START_MS, START_MS + 180_000)
  assert.deepEqual(
    gaps.map(({ from, to }) => [from - START_MS, to - START_MS]),
    [[120_000, 180_000]],
  )
  await end()
})
