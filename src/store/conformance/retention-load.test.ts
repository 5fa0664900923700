/**
 * Retention and compaction while rows are written and read: the rows that are kept do not change, the event loop is not
 * blocked, and the space is given back.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { Dataset, Feed } from '../../core/feed.ts'
import { SYMBOLS } from '../../core/symbol.ts'
import { observed } from '../coverage.ts'
import type { EnvironmentStore } from '../environment.ts'
import { candle, candleFeed, START, seeded } from './engine.ts'
import { ENGINES } from './engines.ts'
import { drifting } from './snapshots.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined
const SECONDS = SOAK ? 200_000 : 6_000
const BORDER = START + (SECONDS / 2) * 1000
const END = START + SECONDS * 1000
/** Rows before this time, which are half of the kept ones, are packed. */
const NEWEST = START + ((SECONDS * 3) / 4) * 1000
const SNAPSHOTS = SOAK ? 40_000 : 1_200
/** For the snapshots, of which there are two per second. */
const BOOKS_BORDER = START + (SNAPSHOTS / 2) * 500

const CANDLES = SYMBOLS.map((symbol) => ({ ...candleFeed('cexa', '1s'), symbol }))
const BOOKS: Feed<'snapshots'> = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '5m' }

const MAX_TURN_MS = 5
/** In the long form, garbage collection of a large heap causes a few. */
const MAX_LONG_TURNS = SOAK ? 20 : 0

async function fill(store: EnvironmentStore): Promise<void> {
  for (let from = 0; from < SECONDS; from += 5_000) {
    const rows = Array.from({ length: Math.min(5_000, SECONDS - from) }, (_, i) =>
      candle(0, { time: START + (from + i) * 1000, volume: String(((from + i) % 977) + 0.125) }),
    )
    for (const feed of CANDLES) await store.write({ rows: [{ feed, rows }] })
  }
  const snapshots = drifting(seeded(3), ['0xa', '0xb'], SNAPSHOTS)
  for (let from = 0; from < snapshots.length; from += 1_000)
    await store.write({ rows: [{ feed: BOOKS, rows: snapshots.slice(from, from + 1_000) }] })
  const feeds = [...CANDLES, BOOKS]
  await store.write({ coverage: feeds.map((feed) => observed(feed, START, END)) })
  await store.write({ finalize: feeds.map((feed) => ({ feed, before: END })) })
}

/** Pages within what is kept: forwards, backwards, of one feed and of several, with books. */
const QUERIES = [
  { feeds: CANDLES.slice(0, 1), from: BORDER, order: 'asc' },
  { feeds: CANDLES.slice(1, 2), from: BORDER + 100_000, order: 'desc' },
  { feeds: CANDLES, from: BORDER + 1_000, order: 'asc' },
  { feeds: [BOOKS], from: BOOKS_BORDER, order: 'asc', books: { books: true, diffs: false } },
] as const

async function hashOf(store: EnvironmentStore, at: number): Promise<string> {
  const { from, ...query } = QUERIES[at % QUERIES.length] ?? QUERIES[0]
  const to = from + 120_000
  const { page, coverage } = await store.coveredPage({
    ...query,
    ...{ range: { from, to }, limit: 300, separator: ',\n', coverageTo: to },
  })
  assert.equal(coverage.complete, true)
  assert.ok(page.count > 100)
  return `${page.count} ${page.hasMore} ${hash('sha256', page.text)}`
}

for (const engine of ENGINES.filter(({ name }) => name !== 'sqlite on one thread'))
  test(`${engine.name}: retention and compaction under load change no page inside of what is kept, and give back the room`, async (t) => {
    const place = engine.create()
    const clock = manualClock(END)
    const stores = place.open(clock)
    const [reader, recorder] = await Promise.all([stores.environment('live'), stores.environment('live')])
    const upkeep = await stores.environment('live', { use: 'recorder' })
    let isOver = false
    try {
      await fill(recorder)
      const before = await stores.diskUse()
      const hashes = new Map<number, string>()
      for (const at of QUERIES.keys()) hashes.set(at, await hashOf(reader, at))

      // What this test has written and read so far would otherwise be collected in one of the measured turns.
      setFlagsFromString('--expose-gc')
      runInNewContext('gc')()
      const turns: number[] = []
      let [reads, reading] = [0, false]
      const record = async () => {
        for (let second = 0; !isOver; second++) {
          const row = candle(0, { time: END + second * 1000 })
          await recorder.write({ rows: CANDLES.map((feed) => ({ feed, rows: [row] })) })
          await wait(2)
        }
      }
      const read = async () => {
        for (let at = 0; !isOver; at++) {
          reading = true
          assert.equal(
            await hashOf(reader, at),
            hashes.get(at % QUERIES.length),
            `query ${at % QUERIES.length}`,
          )
          reading = false
          reads++
          await wait(1)
        }
      }
      const watch = async () => {
        for (let last = process.threadCpuUsage(), lastMs = performance.now(); !isOver; ) {
          const before = reads
          const wasReading = reading
          await nextTurn()
          const [now, nowMs] = [process.threadCpuUsage(), performance.now()]
          const processorMs = (now.user + now.system - last.user - last.system) / 1_000
          // Turns in which this test itself reads are not measured. Elapsed time contains what other processes take;
          // processor time is counted in ticks on some machines, and may then be more than what has elapsed.
          if (!wasReading && !reading && reads === before) turns.push(Math.min(processorMs, nowMs - lastMs))
          ;[last, lastMs] = [now, nowMs]
        }
      }
      const others = Promise.all([record(), read(), watch()])
      const betweenSteps = async () => {
        await wait(5)
        return true
      }
      const retain = (dataset: Dataset, border: number) =>
        upkeep.series.retain({ dataset }, END - border, { betweenSteps })
      const deleted = (await retain('candles', BORDER)) + (await retain('snapshots', BOOKS_BORDER))
      const packed = await upkeep.compact(END - NEWEST, { betweenSteps })
      const given = await upkeep.giveBackRoom({ betweenSteps })
      isOver = true
      await others
      if (!stores.isShared) assert.ok(packed > (SECONDS / 4 - 200) * CANDLES.length, `${packed} rows packed`)
      assert.equal(deleted, (SECONDS / 2) * CANDLES.length + SNAPSHOTS)
      for (const at of QUERIES.keys()) assert.equal(await hashOf(reader, at), hashes.get(at))

      const long = turns.filter((ms) => ms > MAX_TURN_MS)
      t.diagnostic(
        `${turns.length} turns, longest ${Math.max(...turns)} ms, ${long.length} above ${MAX_TURN_MS} ms`,
      )
      assert.ok(long.length <= MAX_LONG_TURNS, `turns of ${long} ms`)

      if (stores.isShared) return
      const after = await stores.diskUse()
      const bytes = (use: typeof before) => use.parts.reduce((sum, part) => sum + part.bytes, 0)
      const less = bytes(before) - bytes(after)
      t.diagnostic(`${bytes(before)} bytes, ${less} less, ${given} given back`)
      assert.ok(less > bytes(before) * 0.6, `${less} of ${bytes(before)} bytes`)
      assert.ok(given > less * 0.9, `${given} of ${less} bytes`)
      assert.ok(after.reusableBytes < bytes(after) * 0.05)
      await Promise.all([reader.close(), recorder.close(), upkeep.close()])
      const { folder } = place.address as { folder: string }
      const left = statSync(join(folder, 'live.db')).size
      assert.ok(left <= bytes(before) - given * 0.95 + 1_000_000, `the file has ${left} bytes`)
    } finally {
      isOver = true
      await Promise.all([reader.close(), recorder.close(), upkeep.close()])
      await place.remove()
    }
  })
