import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gap, observed, retracted } from '../coverage.ts'
import type { EnvironmentStore } from '../environment.ts'
import { candle, candleFeed, type Engine, START, seeded, withStore } from './engine.ts'

const MINUTE = 60_000
const MINUTES = process.env.TAPELINE_SOAK ? 120 : 50
const END = START + MINUTES * MINUTE
const feed = candleFeed('cexa')
const range = { from: START, to: END }
const query = { feeds: [feed], range, order: 'asc', separator: ',\n', coverageTo: END } as const

/** A backfill of one minute: its row and its coverage, in one write. */
const fill = (store: EnvironmentStore, minute: number) =>
  store.write({
    rows: [{ feed, rows: [candle(minute)] }],
    coverage: [observed(feed, START + minute * MINUTE, START + (minute + 1) * MINUTE)],
  })

const minutesOf = (spans: readonly { from: number; to: number }[]) =>
  spans.reduce((sum, { from, to }) => sum + (to - from) / MINUTE, 0)

export function coveredSuite(engine: Engine): void {
  for (const finalBefore of [0, END]) {
    const state = finalBefore === 0 ? 'open' : 'final'
    test(`${engine.name}: rows and coverage of ${state} time belong together, whatever is written meanwhile`, () =>
      withStore(engine, async (store) => {
        if (finalBefore > 0) await store.write({ finalize: [{ feed, before: finalBefore }] })
        const minutes = seeded(11).shuffle(Array.from({ length: MINUTES }, (_, i) => i))
        let isDone = false
        const writing = (async () => {
          for (const minute of minutes) {
            await fill(store, minute)
            await nextTurn()
          }
          isDone = true
        })()
        const epochs = new Map<number, number>()
        const seen = new Set<number>()
        while (!isDone) {
          const { page, coverage, finality } = await store.coveredPage({
            ...query,
            limit: MINUTES,
            maxAgeMs: 5,
          })
          assert.equal(minutesOf(coverage.observed), page.count)
          const [final] = finality
          assert.ok(final !== undefined && final.before === finalBefore)
          // The same epoch always gives the same answer, because answers are cached by epoch.
          if (finalBefore > 0) {
            assert.equal(epochs.get(final.epoch) ?? page.count, page.count)
            epochs.set(final.epoch, page.count)
          }
          seen.add(page.count)
          await nextTurn()
          const time = START + MINUTES * MINUTE - 1
          const found = await store.coveredRow({ feeds: [feed], time, coverageFrom: START, coverageTo: END })
          // The coverage starts with the minute of the row itself, which is observed up to the end of its candle.
          const [first] = found.coverage.observed
          if (found.row !== undefined) assert.equal(first?.from, found.row.position.ts)
          else assert.equal(first, undefined)
        }
        await writing
        assert.ok(seen.size > 1, 'pages were read while rows were written')
      }))
  }

  test(`${engine.name}: a page has the coverage of its own part of the range, up to the time asked for`, () =>
    withStore(engine, async (store) => {
      await store.write({
        rows: [{ feed, rows: Array.from({ length: 10 }, (_, i) => candle(i)) }],
        coverage: [
          observed(feed, START, START + 10 * MINUTE),
          gap(feed, START + 10 * MINUTE, END, 'venue_down'),
        ],
        finalize: [{ feed, before: START + 20 * MINUTE }],
      })
      const first = await store.coveredPage({ ...query, limit: 4 })
      assert.deepEqual(first.covered, { from: START, to: START + 4 * MINUTE })
      assert.equal(first.coverage.complete, true)
      const { last } = first.page
      assert.ok(last !== undefined)
      const rest = await store.coveredPage({ ...query, limit: 100, position: last })
      assert.deepEqual(rest.covered, { from: START + 3 * MINUTE, to: END })
      assert.deepEqual(rest.coverage.gaps, [
        { source: 'cexa', from: START + 10 * MINUTE, to: END, reason: 'venue_down' },
      ])
      const soon = await store.coveredPage({ ...query, limit: 100, coverageTo: START + 10 * MINUTE })
      assert.deepEqual([soon.covered.to, soon.coverage.complete], [END, true])
      const latest = await store.coveredPage({ ...query, order: 'desc', limit: 3 })
      assert.deepEqual(latest.covered, { from: START + 7 * MINUTE, to: END })

      // A retracted observation is missing from the next answer, whatever is remembered of the time around it.
      await store.write({ coverage: [retracted(feed, START + MINUTE, START + 2 * MINUTE)] })
      const after = await store.coveredPage({ ...query, limit: 4 })
      assert.deepEqual(after.coverage.gaps, [
        { source: 'cexa', from: START + MINUTE, to: START + 2 * MINUTE, reason: 'not_observed' },
      ])
    }))

  test(`${engine.name}: a page that has room for its whole range has the same rows as any other`, () =>
    withStore(engine, async (store) => {
      await store.write({
        rows: [{ feed, rows: Array.from({ length: 10 }, (_, i) => candle(i)) }],
        coverage: [observed(feed, START, START + 10 * MINUTE)],
      })
      for (const order of ['asc', 'desc'] as const)
        for (const [from, to] of [
          [0, 10],
          [2, 5],
          [0.5, 4.5],
        ] as const) {
          const asked = { ...query, order, range: { from: START + from * MINUTE, to: START + to * MINUTE } }
          const expected = await store.series.page({ ...asked, limit: 100 })
          // Read several times, because first it is not known what was observed, and then not where rows are stored.
          for (let time = 0; time < 3; time++) {
            const { page } = await store.coveredPage({ ...asked, limit: Math.ceil(to - from) })
            assert.deepEqual(page, expected)
            assert.equal(page.hasMore, false)
            assert.equal(page.count, Math.ceil(to) - Math.ceil(from))
          }
          const { last } = await store.series.page({ ...asked, limit: 2 })
          assert.ok(last)
          const rest = { ...asked, position: last, limit: Math.ceil(to - from) }
          assert.deepEqual((await store.coveredPage(rest)).page, await store.series.page(rest))
        }
    }))

  test(`${engine.name}: pages of several feeds that are requested at once are those requested one by one`, () =>
    withStore(engine, async (store) => {
      const feeds = [feed, candleFeed('perpdex')]
      for (const [n, each] of feeds.entries()) {
        const rows = Array.from({ length: 20 }, (_, i) => candle(i * (n + 1)))
        await store.write({ rows: [{ feed: each, rows }], coverage: [observed(each, START, END)] })
      }
      const queries = feeds.flatMap((each) =>
        Array.from({ length: 12 }, (_, i) => ({
          ...query,
          ...{ feeds: [each], separator: i % 4 === 0 ? '\n' : ',\n', order: i % 3 === 0 ? 'desc' : 'asc' },
          ...{ range: { from: START + i * MINUTE, to: START + (i + 5) * MINUTE }, limit: 5 },
        })),
      ) as (typeof query & { limit: number })[]
      // Twice, because a feed's first page teaches the store where its rows lie.
      for (let round = 0; round < 2; round++) {
        const together = await Promise.all(queries.map((one) => store.coveredPage(one)))
        for (const [at, one] of queries.entries())
          assert.deepEqual(together[at], await store.coveredPage(one))
      }
    }))

  test(`${engine.name}: a candle that begins before the end of the range is covered up to its own end`, () =>
    withStore(engine, async (store) => {
      const gapAt = { from: START + 3 * MINUTE + 40_000, to: START + 3 * MINUTE + 50_000 }
      await store.write({
        rows: [{ feed, rows: Array.from({ length: 10 }, (_, i) => candle(i)) }],
        coverage: [
          observed(feed, START, gapAt.from),
          gap(feed, gapAt.from, gapAt.to, 'venue_down'),
          observed(feed, gapAt.to, END),
        ],
        finalize: [{ feed, before: END }],
      })
      const within = { ...query, range: { from: START, to: START + 3 * MINUTE + 20_000 }, limit: 100 }
      for (const order of ['asc', 'desc'] as const) {
        const { page, covered, coverage } = await store.coveredPage({ ...within, order })
        assert.equal(page.count, 4)
        assert.deepEqual(covered, { from: START, to: START + 4 * MINUTE })
        assert.deepEqual(coverage.gaps, [{ source: 'cexa', ...gapAt, reason: 'venue_down' }])
      }
      const between = { from: START + 3 * MINUTE + 10_000, to: START + 3 * MINUTE + 20_000 }
      const empty = await store.coveredPage({ ...within, range: between })
      assert.deepEqual([empty.page.count, empty.covered, empty.coverage.complete], [0, between, true])
    }))
}
