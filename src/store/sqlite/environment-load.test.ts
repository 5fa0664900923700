import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { countTurns } from '../../../test/fakes/count-turns.ts'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { encodeCandle } from '../../core/rows/candle.ts'
import { SYMBOLS } from '../../core/symbol.ts'
import { useTurnTime } from '../../kit/turns.ts'
import { candle, candleFeed, START } from '../conformance/engine.ts'
import { type EnvironmentStore, StoreClosedError } from '../environment.ts'
import { packRows } from '../rows/packed.ts'
import { MAX_ROWS_IN_FLIGHT, openEnvironmentFile, openSqliteEnvironment } from './environment.ts'

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

/**
 * CPU time of this thread per turn of its event loop, in milliseconds, while `work` runs. Other load on the machine
 * does not count.
 */
async function turnsDuring(work: Promise<unknown>): Promise<number[]> {
  const turns: number[] = []
  let isOver = false
  void work.finally(() => {
    isOver = true
  })
  for (let last = process.threadCpuUsage(); !isOver; ) {
    await nextTurn()
    const now = process.threadCpuUsage()
    turns.push((now.user + now.system - last.user - last.system) / 1_000)
    last = now
  }
  await work
  return turns.sort((a, b) => a - b)
}

test('a large append yields to the event loop: it works in short slices', () =>
  withFile(async (store) => {
    const feed = candleFeed('cexa', '1s')
    const batches = Array.from({ length: 6 }, (_, n) =>
      Array.from({ length: 10_000 }, (_, i) => candle(0, { time: START + (n * 10_000 + i) * 1000 })),
    )
    await store.write({ rows: [{ feed, rows: batches[0] ?? [] }] })
    const turns = await turnsDuring(
      Promise.all(batches.slice(1).map((rows) => store.write({ rows: [{ feed, rows }] }))),
    )
    // The benchmark enforces the limit of 5 ms of wall time.
    const p99 = turns[Math.floor(turns.length * 0.99)] ?? 0
    assert.ok(p99 < 15, `p99 ${p99} ms`)
    const range = { from: START, to: START + 1e9 }
    assert.equal(await store.series.count({ feeds: [feed], range, order: 'asc', limit: 1e6 }), 60_000)
  }))

test('callers that do not wait for their writes are held back, so that no queue grows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  const file = join(folder, 'x.db')
  const { writer, close } = openEnvironmentFile({ file })
  const feed = candleFeed('cexa', '1s')
  let waiting = 0
  let most = 0
  const sent: Promise<unknown>[] = []
  for (let n = 0; n < 100; n++) {
    const rows = Array.from({ length: 1000 }, (_, i) =>
      encodeCandle(feed, candle(0, { time: START + (n * 1000 + i) * 1000 })),
    )
    await writer.ready()
    waiting += 1000
    most = Math.max(most, waiting)
    const write = { rows: [packRows(feed, rows)], recordedAt: START, coverage: [], finalize: [], markets: [] }
    sent.push(
      writer.call('write', [write], { weight: 1000 }).then(() => {
        waiting -= 1000
      }),
    )
  }
  await Promise.all(sent)
  await close()
  rmSync(folder, { recursive: true })
  assert.ok(most <= MAX_ROWS_IN_FLIGHT + 1000, `${most} rows were waiting`)
})

test('the times of all feeds are read in turns, and a store that is closed meanwhile says so', (t) =>
  withFile(async (store) => {
    const feeds = SYMBOLS.map((symbol) => ({ ...candleFeed('cexa', '1s'), symbol }))
    await store.write({ rows: feeds.map((feed) => ({ feed, rows: [candle(0, { time: START })] })) })
    let nowMs = 0
    t.after(useTurnTime(() => (nowMs += 1_000)))
    const listed = await countTurns(() => store.series.feeds({}))
    assert.deepEqual(
      listed.result.map(({ firstTs, lastTs }) => [firstTs, lastTs]),
      SYMBOLS.map(() => [START, START]),
    )
    const earliest = await countTurns(() => store.series.earliest({}))
    assert.equal(earliest.result, START)
    for (const { turns } of [listed, earliest]) assert.ok(turns >= SYMBOLS.length - 1, `${turns} turns`)
    const probed = await countTurns(() => store.probe())
    assert.equal(probed.turns, 0)

    const reading = store.series.feeds({})
    const closing = store.close()
    await assert.rejects(reading, StoreClosedError)
    await closing
  }))
