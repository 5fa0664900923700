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

/** A store in which another writer writes something right after the n-th call of any of its functions. */
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

interface Asked {
  readonly input?: Readonly<Record<string, unknown>>
  readonly range?: Readonly<Record<string, unknown>>
  readonly request?: Partial<Parameters<typeof listRows>[1]>
  readonly rowLimit?: number
}

async function pageOf(store: EnvironmentStore, { input, range, request, rowLimit = 100 }: Asked = {}) {
  const clock = manualClock(end + 3_600_000)
  const market = { store, cursors: cursorCodec(new Uint8Array(32)), facts: feedFacts(store, clock) }
  const context = {
    path: '/v1/candles',
    input: { symbol: 'BTC', end, limit: rowLimit, ...(input ?? { start: START }) },
    range: {
      fromMs: START,
      toMs: end,
      startGiven: true,
      endGiven: true,
      earliestMs: 0,
      graceMs: 0,
      clamp: undefined,
      ...range,
    },
    rowLimit,
    ignored: [],
    nowMs: clock.now(),
    dryRun: false,
    services: { market },
  }
  return listRows(context as unknown as Parameters<typeof listRows>[0], { feeds: [feed], ...request })
}

async function filledStore() {
  const store = await openStores(parseStoreAddress(':memory:'), manualClock(end)).environment('test')
  const coverage = [observed(feed, START, end)]
  await store.write({ rows: [{ feed, rows }], coverage, finalize: [{ feed, before: end }] })
  return store
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

test('a start before the first row is the first row, on every page of a walk', async (t) => {
  const store = await filledStore()
  t.after(() => store.close())
  const request = { clampToEarliest: true }
  const first = new Date(START).toISOString()
  const input = { start: START - MINUTE, order: 'desc' }
  const one = await pageOf(store, { input, request, rowLimit: 6 })
  const two = await pageOf(store, { input: { ...input, after: one.nextCursor }, request, rowLimit: 6 })
  for (const { meta, coverageComplete } of [one, two])
    assert.deepEqual([meta.clamped, meta.effective_start, coverageComplete], [true, first, true])
  assert.deepEqual([one.count, two.count], [6, 4])
})

test('a walk begins on all its pages where the window of the plan has moved the start of the first', async (t) => {
  const store = await filledStore()
  t.after(() => store.close())
  const windowMs = START + 3 * MINUTE
  const moved = new Date(windowMs).toISOString()
  const input = { start: START, order: 'desc' }
  const clamp = { originalStartMs: START }
  const first = { fromMs: windowMs, earliestMs: windowMs, graceMs: MINUTE, clamp }
  const one = await pageOf(store, { input, range: first, rowLimit: 4 })
  // The grace period of a walk reaches further back, and the window has moved on in the meantime.
  const later = { earliestMs: windowMs + MINUTE, graceMs: 60 * MINUTE }
  const next = { ...input, after: one.nextCursor }
  const two = await pageOf(store, { input: next, range: later, rowLimit: 2 })
  const three = await pageOf(store, { input: { ...next, after: two.nextCursor }, range: later, rowLimit: 4 })
  assert.deepEqual(
    [one, two, three].map(({ count, meta }) => [count, meta.clamped, meta.effective_start]),
    [
      [4, true, moved],
      [2, true, moved],
      [1, true, moved],
    ],
  )
  assert.equal(three.hasMore, false)
  const smallerPlan = { earliestMs: windowMs + 2 * MINUTE, graceMs: 0 }
  assert.equal((await pageOf(store, { input: next, range: smallerPlan, rowLimit: 9 })).count, 1)
})

test('what is missing between the window of the plan and the first row is a gap of every page that reaches it', async (t) => {
  const store = await filledStore()
  t.after(() => store.close())
  const windowMs = START - 5 * MINUTE
  const [moved, first] = [windowMs, START].map((ms) => new Date(ms).toISOString())
  const clamp = { originalStartMs: windowMs - MINUTE }
  const range = { fromMs: windowMs, earliestMs: windowMs, graceMs: MINUTE, clamp }
  const request = { clampToEarliest: true }
  const missing = { source: feed.source, from: moved, to: first, reason: 'before_start' }
  for (const order of ['asc', 'desc']) {
    const input = { start: windowMs - MINUTE, order }
    const one = await pageOf(store, { input, range, request, rowLimit: 6 })
    const two = await pageOf(store, {
      input: { ...input, after: one.nextCursor },
      range,
      request,
      rowLimit: 6,
    })
    assert.deepEqual([one.count, two.count], [6, 4])
    for (const { meta } of [one, two])
      assert.deepEqual([meta.clamped_reason, meta.effective_start], ['plan_history', moved])
    const reaching = order === 'asc' ? one : two
    for (const page of [one, two]) {
      const { gaps } = page.meta.coverage as { gaps: unknown[] }
      assert.deepEqual(gaps, page === reaching ? [missing] : [])
      assert.equal(page.coverageComplete, page !== reaching)
    }
  }
})

test('a start in 1970 is one: what was not observed since then is a gap', async (t) => {
  const store = await filledStore()
  t.after(() => store.close())
  for (const start of [0, 1])
    assert.equal((await pageOf(store, { input: { start } })).coverageComplete, false)
  assert.equal((await pageOf(store, { input: { order: 'desc' } })).coverageComplete, true)
})

test('a page without a start is current until its oldest row leaves the window of the plan', async (t) => {
  const store = await filledStore()
  t.after(() => store.close())
  const nowMs = end + 60 * MINUTE
  const range = { fromMs: START - MINUTE, earliestMs: START - MINUTE, startGiven: false }
  const page = await pageOf(store, { input: { order: 'desc' }, range, rowLimit: 4 })
  assert.equal(page.sealed, true)
  const oldestMs = START + 6 * MINUTE
  const leavesMs = nowMs + (oldestMs - range.earliestMs)
  assert.deepEqual([await page.isCurrent?.(leavesMs - 1), await page.isCurrent?.(leavesMs)], [true, false])
})
