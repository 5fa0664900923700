import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GAP_REASONS, type GapReason, gap, observed, retracted } from '../coverage.ts'
import { candleFeed, type Engine, seeded, withStore } from './engine.ts'

type Cell = 'observed' | GapReason | null
const LENGTH = 60

/** The gaps of one feed, found by looking at every instant. */
function expectedGaps(
  line: readonly Cell[],
  from: number,
  to: number,
): { from: number; to: number; reason: GapReason }[] {
  const start = line.indexOf('observed')
  const gaps: { from: number; to: number; reason: GapReason }[] = []
  for (let t = from; t < to; t++) {
    const cell = line[t]
    if (cell === 'observed') continue
    const reason = cell ?? (start !== -1 && t < start ? 'before_start' : 'not_observed')
    const last = gaps.at(-1)
    if (last?.to === t && last.reason === reason) last.to = t + 1
    else gaps.push({ from: t, to: t + 1, reason })
  }
  return gaps
}

function expectedObserved(lines: readonly (readonly Cell[])[], from: number, to: number) {
  const spans: { from: number; to: number }[] = []
  for (let t = from; t < to; t++) {
    if (!lines.every((line) => line[t] === 'observed')) continue
    const last = spans.at(-1)
    if (last?.to === t) last.to = t + 1
    else spans.push({ from: t, to: t + 1 })
  }
  return spans
}

export function coverageSuite(engine: Engine, rounds = process.env.TAPELINE_SOAK ? 300 : 80): void {
  test(`${engine.name}: coverage equals a model that looks at every instant`, () =>
    withStore(engine, async (store, opened) => {
      const random = seeded(4711)
      const feeds = [candleFeed('cexa'), candleFeed('perpdex')]
      const lines = feeds.map(() => new Array<Cell>(LENGTH).fill(null))
      let current = store
      for (let round = 0; round < rounds; round++) {
        const which = random.below(2)
        const feed = feeds[which] ?? candleFeed('cexa')
        const line = lines[which] ?? []
        const from = random.below(LENGTH)
        const to = Math.min(LENGTH, from + random.below(12))
        const action = random.below(5)
        const reason = random.pick(GAP_REASONS)
        if (action < 2) await current.write({ coverage: [observed(feed, from, to)] })
        else if (action < 4) await current.write({ coverage: [gap(feed, from, to, reason)] })
        else await current.write({ coverage: [retracted(feed, from, to)] })
        for (let t = from; t < to; t++) {
          if (action < 2) line[t] = 'observed'
          else if (action < 4) line[t] = line[t] === 'observed' ? 'observed' : reason
          else line[t] = line[t] === 'observed' ? null : (line[t] ?? null)
        }
        if (round === rounds >> 1) current = await opened.reopen()
        const low = random.below(LENGTH)
        const high = low + random.below(LENGTH - low) + 1
        for (const [i, f] of feeds.entries()) {
          const read = await current.coverage.read([f], low, high)
          const gaps = expectedGaps(lines[i] ?? [], low, high)
          assert.deepEqual(
            read.gaps,
            gaps.map((gap) => ({ source: f.source, ...gap })),
            `round ${round}`,
          )
          assert.equal(read.complete, gaps.length === 0)
          assert.deepEqual(read.observed, expectedObserved([lines[i] ?? []], low, high))
        }
        const both = await current.coverage.read(feeds, low, high)
        assert.deepEqual(both.observed, expectedObserved(lines, low, high))
        assert.equal(
          both.gaps.length,
          feeds.reduce((sum, _, i) => sum + expectedGaps(lines[i] ?? [], low, high).length, 0),
        )
        assert.ok(both.gaps.every((gap, i) => i === 0 || gap.from >= (both.gaps[i - 1]?.from ?? 0)))
      }
    }))

  test(`${engine.name}: what was never observed is not_observed, before the first observation before_start`, () =>
    withStore(engine, async (store) => {
      const feed = candleFeed('cexa')
      const gaps = async (from: number, to: number) =>
        (await store.coverage.read([feed], from, to)).gaps.map((gap) => [gap.from, gap.to, gap.reason])
      assert.deepEqual(await gaps(0, 10), [[0, 10, 'not_observed']])
      await store.write({ coverage: [observed(feed, 5, 8)] })
      assert.deepEqual(await gaps(0, 10), [
        [0, 5, 'before_start'],
        [8, 10, 'not_observed'],
      ])
      await store.write({ coverage: [gap(feed, 8, 10, 'venue_down')] })
      assert.deepEqual(await gaps(6, 10), [[8, 10, 'venue_down']])
      await store.write({ coverage: [observed(feed, 8, 10)] })
      assert.deepEqual(await store.coverage.read([feed], 5, 10), {
        complete: true,
        observed: [{ from: 5, to: 10 }],
        gaps: [],
      })
      assert.equal((await store.coverage.read([feed], 7, 7)).complete, true)
    }))
}
