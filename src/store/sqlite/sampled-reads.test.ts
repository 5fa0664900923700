import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { watchTurns } from '../../../test/fakes/loop-hold.ts'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { Feed } from '../../core/feed.ts'
import { START } from '../conformance/engine.ts'
import { type EnvironmentStore, StoreClosedError } from '../environment.ts'
import { openSqliteEnvironment } from './environment.ts'

const feed: Feed<'snapshots'> = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '1h' }
const MARKETS = Array.from({ length: 600 }, (_, i) => `0x${String(i).padStart(3, '0')}`)
const book = { bids: [[0.4, 1]] as const, asks: [[0.6, 1]] as const }
const rowOf = (marketId: string, time: number) => {
  return { time, marketId, tokenUp: 'u', tokenDown: 'd', up: book, down: book }
}
const write = (store: EnvironmentStore, time: number) =>
  store.write({ rows: [{ feed, rows: MARKETS.map((id) => rowOf(id, time)) }] })
const query = {
  feeds: [feed],
  range: { from: START, to: START + 86_400_000 },
  order: 'desc',
  limit: 1_000,
  stepMs: 86_400_000,
  separator: '\n',
  coverageTo: START + 86_400_000,
} as const

async function withFile(run: (store: EnvironmentStore) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  const store = await openSqliteEnvironment({ file: join(folder, 'x.db'), clock: manualClock(START) })
  try {
    await run(store)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

/** The minimum of several rounds, because garbage collection and code that is not compiled yet distort single ones. */
async function holdMs(read: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 4; round++) {
    const longest = watchTurns()
    await read()
    least = Math.min(least, longest())
  }
  return least
}

test('samples of many markets do not hold the thread, neither the page nor its preview', () =>
  withFile(async (store) => {
    for (let minute = 0; minute < 20; minute++) {
      const time = START + minute * 60_000
      const seconds = Array.from({ length: 59 }, (_, i) => i + 1)
      const changes = seconds.map((s) => rowOf(MARKETS[(minute * 60 + s) % 600] ?? '', time + s * 1_000))
      await store.write({ rows: [{ feed, rows: [...MARKETS.map((id) => rowOf(id, time)), ...changes] }] })
    }
    for (const stepMs of [1_000, 86_400_000]) {
      for (const read of [
        () => store.coveredPage({ ...query, stepMs }),
        () => store.series.count({ ...query, stepMs }),
      ]) {
        const ms = await holdMs(read)
        assert.ok(ms < 20, `step ${stepMs}: ${ms} ms`)
      }
    }
  }))

test('a page of samples is of one state, whatever is written while it is read', () =>
  withFile(async (store) => {
    const timesOf = (text: string) => new Set(text.split('\n').map((row) => JSON.parse(row).timestamp))
    await write(store, START + 500)
    for (let n = 2; n <= 12; n++) {
      const [first, , second] = await Promise.all([
        store.coveredPage(query),
        write(store, START + n * 500),
        store.coveredPage(query),
      ])
      for (const { page } of [first, second]) {
        assert.equal(page.count, MARKETS.length)
        assert.equal(timesOf(page.text).size, 1)
      }
      const { page } = await store.coveredPage(query)
      assert.deepEqual([...timesOf(page.text)], [new Date(START + n * 500).toISOString()])
    }
  }))

test('a store that is closed during a walk ends it in peace and refuses the next one', () =>
  withFile(async (store) => {
    await write(store, START)
    const [page, waiting] = [store.series.page(query), store.series.page(query)]
    const refused = assert.rejects(waiting, StoreClosedError)
    // Lets the first read begin.
    await Promise.resolve()
    await Promise.all([store.close(), refused])
    assert.equal((await page).count, MARKETS.length)
    await assert.rejects(store.series.page(query), StoreClosedError)
  }))
