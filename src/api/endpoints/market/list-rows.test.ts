import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../../test/fakes/manual-clock.ts'
import { cursorCodec } from '../../../core/cursor.ts'
import { candle, candleFeed, START } from '../../../store/conformance/engine.ts'
import { observed } from '../../../store/coverage.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import { openStores, parseStoreAddress } from '../../../store/open-stores.ts'
import { feedFacts } from './feed-facts.ts'
import { listRows } from './list-rows.ts'

const MINUTE = 60_000
const feed = candleFeed('cexa')
const rows = Array.from({ length: 10 }, (_, i) => candle(i))
const end = START + rows.length * MINUTE

/** A store in which another writer writes something right after one of its functions was called the n-th time. */
function withWriteAfter(store: EnvironmentStore, n: number, write: () => Promise<unknown>): EnvironmentStore {
  let calls = 0
  const interleaved = <T extends object>(part: T): T =>
    Object.fromEntries(
      Object.entries(part).map(([name, member]) => {
        if (typeof member !== 'function') return [name, interleaved(member)]
        const call = async (...args: unknown[]) => {
          const result = await member(...args)
          if (++calls === n) await write()
          return result
        }
        return [name, call]
      }),
    ) as T
  return interleaved(store)
}

async function pageOf(store: EnvironmentStore) {
  const clock = manualClock(end + 3_600_000)
  const market = { store, cursors: cursorCodec(new Uint8Array(32)), facts: feedFacts(store, clock) }
  const context = {
    path: '/v1/candles',
    input: { symbol: 'BTC', start: START, end, limit: 100 },
    range: {
      fromMs: START,
      toMs: end,
      startGiven: true,
      endGiven: true,
      earliestMs: 0,
      graceMs: 0,
      clamp: undefined,
    },
    rowLimit: 100,
    ignored: [],
    nowMs: clock.now(),
    dryRun: false,
    services: { market },
  }
  return listRows(context as unknown as Parameters<typeof listRows>[0], { feeds: [feed] })
}

test('a page is never sealed without the rows that a backfill writes while it is read', async () => {
  for (let n = 1; n <= 4; n++) {
    const store = await openStores(parseStoreAddress(':memory:'), manualClock(end)).environment('test')
    const [first, ...others] = rows
    assert.ok(first !== undefined)
    await store.write({
      rows: [{ feed, rows: others }],
      coverage: [observed(feed, START + MINUTE, end)],
      finalize: [{ feed, before: end }],
    })
    const backfill = () =>
      store.write({ rows: [{ feed, rows: [first] }], coverage: [observed(feed, START, START + MINUTE)] })
    const page = await pageOf(withWriteAfter(store, n, backfill))
    assert.equal(page.coverageComplete, page.count === rows.length, `written after call ${n}`)
    assert.equal(page.sealed, page.coverageComplete)
    await backfill()
    const whole = await pageOf(store)
    assert.deepEqual([whole.count, whole.coverageComplete, whole.sealed], [rows.length, true, true])
    await store.close()
  }
})
