import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fixedRandom, openAuditedStore } from '../../../test/ingest/audited-store.ts'
import type { Feed } from '../../core/feed.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import { observed } from '../../store/coverage.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import type { SampleStorage } from './audit.ts'
import { auditSealedPages } from './sealed-pages.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-03-14T00:00:00Z')
const FEED = candleFeed('cexa', 'BTC', '1m')
const MINUTES = 30

const candle = (minute: number, close = 101): CandleInput => ({
  ...{ time: START_MS + minute * MINUTE_MS, open: 100, high: 110, low: 90, close, volume: 5, numTrades: 3 },
  closed: true,
})

async function open(t: TestContext, feed: Feed = FEED) {
  const audited = await openAuditedStore(START_MS + 40 * MINUTE_MS)
  t.after(() => audited.close())
  let saved: string | undefined
  const samples: SampleStorage = {
    load: async () => saved,
    async save(text) {
      saved = text
    },
  }
  const start = (seed = 1) =>
    auditSealedPages({ ...audited, feeds: [feed], random: fixedRandom(seed), samples })
  return { ...audited, start }
}

const minutes = (count: number) => Array.from({ length: count }, (_, minute) => candle(minute))

async function seal(
  audited: Awaited<ReturnType<typeof open>>,
  isThere: (minute: number) => boolean = () => true,
): Promise<void> {
  const to = START_MS + MINUTES * MINUTE_MS
  await audited.store.write({
    rows: [{ feed: FEED, rows: minutes(MINUTES).filter((_, minute) => isThere(minute)) }],
    coverage: [observed(FEED, START_MS, to)],
    finalize: [{ feed: FEED, before: to }],
  })
}

/** Runs enough turns to remember pages all over the feed and to read them again. */
async function examine(
  { clock }: { clock: { advance(ms: number): void } },
  check: ReturnType<typeof auditSealedPages>,
  turns = 120,
) {
  const differences = []
  let checked = 0
  for (let turn = 0; turn < turns; turn++) {
    clock.advance(MINUTE_MS)
    const found = await check.run()
    if (found === null) continue
    checked += 1
    differences.push(...found)
  }
  return { checked, differences }
}

test('pages of a correct store are read again without a difference, also while it grows', async (t) => {
  const audited = await open(t)
  await seal(audited)
  const check = audited.start()
  const { checked, differences } = await examine(audited, check)
  assert.ok(checked > 60, String(checked))
  assert.deepEqual(differences, [])
  const later = START_MS + 60 * MINUTE_MS
  await audited.store.write({
    rows: [{ feed: FEED, rows: Array.from({ length: 30 }, (_, index) => candle(30 + index)) }],
    coverage: [observed(FEED, START_MS + MINUTES * MINUTE_MS, later)],
    finalize: [{ feed: FEED, before: later }],
  })
  assert.deepEqual((await examine(audited, check)).differences, [])
})

test('a row that changed behind the store is found once, and its time becomes a gap', async (t) => {
  const audited = await open(t)
  await seal(audited)
  const check = audited.start()
  await examine(audited, check)
  const at = START_MS + 12 * MINUTE_MS
  const changed = audited.behind(
    `UPDATE series_rows SET text = replace(text, '"close":101', '"close":102') WHERE feed = ? AND ts = ?`,
    audited.idOf(FEED),
    at,
  )
  assert.equal(changed, 1)
  const { differences } = await examine(audited, check)
  assert.deepEqual(differences.map(({ action, fromMs, toMs }) => ({ action, fromMs, toMs })).slice(0, 1), [
    { action: 'gap', fromMs: at, toMs: at + MINUTE_MS },
  ])
  await audited.writer.flush()
  const { gaps } = await audited.store.coverage.read([FEED], START_MS, START_MS + MINUTES * MINUTE_MS)
  assert.deepEqual(gaps, [{ source: 'cexa', from: at, to: at + MINUTE_MS, reason: 'not_observed' }])
  // Pages over the gap are no longer sealed, so nothing is reported again.
  assert.deepEqual((await examine(audited, check)).differences, [])
})

test('a row that is gone is found, also when it went between two runs of the service', async (t) => {
  const audited = await open(t)
  await seal(audited)
  const before = audited.start()
  await examine(audited, before)
  await before.close()
  const at = START_MS + 7 * MINUTE_MS
  assert.equal(audited.behind('DELETE FROM series_rows WHERE feed = ? AND ts = ?', audited.idOf(FEED), at), 1)
  const { differences } = await examine(audited, audited.start(2), 20)
  assert.ok(differences.length > 0)
  assert.ok(differences.every(({ action, fromMs }) => action === 'gap' && fromMs === at))
})

test('a correction is a revision and no difference', async (t) => {
  const audited = await open(t)
  await seal(audited)
  const check = audited.start()
  await examine(audited, check)
  const result = await audited.store.write({ rows: [{ feed: FEED, rows: [candle(5, 99), candle(20, 98)] }] })
  assert.equal(result.corrected, 2)
  assert.deepEqual((await examine(audited, check)).differences, [])
})

test('a row that is added to a sealed page is reported, and stays', async (t) => {
  const audited = await open(t)
  await seal(audited, (minute) => minute !== 9)
  const check = audited.start()
  await examine(audited, check)
  assert.equal((await audited.store.write({ rows: [{ feed: FEED, rows: [candle(9)] }] })).inserted, 1)
  const { differences } = await examine(audited, check)
  assert.ok(differences.length > 0)
  const at = START_MS + 9 * MINUTE_MS
  assert.ok(differences.every(({ action, fromMs }) => action === 'reported' && fromMs === at))
  await audited.writer.flush()
  assert.ok((await audited.store.coverage.read([FEED], START_MS, at + MINUTE_MS)).complete)
})

test('a page that has grown by many rows is reported once, and none of its rows is taken for lost', async (t) => {
  const trades = feedOf('trades', 'perpdex', 'BTC')
  const audited = await open(t, trades)
  const to = START_MS + MINUTE_MS
  const tradesOf = (count: number, first: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...{ time: START_MS + ((index * 97) % 60) * 1_000, seq: first + index, tradeId: String(first + index) },
      ...{ price: 100, size: 1, side: 'buy' as const },
    }))
  await audited.store.write({
    rows: [{ feed: trades, rows: tradesOf(20, 0) }],
    coverage: [observed(trades, START_MS, to)],
    finalize: [{ feed: trades, before: to }],
  })
  const check = audited.start()
  await examine(audited, check)
  await audited.store.write({ rows: [{ feed: trades, rows: tradesOf(600, 1_000) }] })
  const { differences } = await examine(audited, check)
  assert.ok(differences.length > 0)
  assert.ok(differences.every(({ action }) => action === 'reported'))
})

test('retention and a gap that was found make a page forgotten, not different', async (t) => {
  const audited = await open(t)
  await seal(audited)
  const check = audited.start()
  await examine(audited, check, 60)
  audited.tracker.lost(FEED, START_MS + 20 * MINUTE_MS, START_MS + 22 * MINUTE_MS, 'not_observed')
  await audited.writer.flush()
  await audited.store.series.retain({ dataset: 'candles' }, audited.clock.now() - START_MS - 10 * MINUTE_MS)
  assert.deepEqual((await examine(audited, check)).differences, [])
})

test('several rows of one instant are compared as a whole, whatever their order', async (t) => {
  const trades = feedOf('trades', 'perpdex', 'BTC')
  const audited = await open(t, trades)
  const rows = Array.from({ length: 200 }, (_, index) => ({
    ...{ time: START_MS + Math.floor(index / 5) * 1_000, seq: 7 * index, tradeId: String(index) },
    ...{ price: 100 + index, size: 1, side: 'buy' as const },
  }))
  const to = START_MS + MINUTE_MS
  await audited.store.write({
    rows: [{ feed: trades, rows }],
    coverage: [observed(trades, START_MS, to)],
    finalize: [{ feed: trades, before: to }],
  })
  const check = audited.start()
  assert.deepEqual((await examine(audited, check)).differences, [])
  audited.behind('DELETE FROM series_rows WHERE feed = ? AND seq = ?', audited.idOf(trades), 7 * 52)
  const { differences } = await examine(audited, check)
  assert.ok(differences.length > 0)
  assert.ok(differences.every(({ fromMs }) => fromMs === START_MS + 10_000))
})
