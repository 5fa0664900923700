/**
 * Every engine gives the same bytes: the same drawn writes go to the embedded engine and to PostgreSQL, and every read
 * has the same SHA-256 on both. `TAPELINE_SOAK` reads more.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ENGINES } from '../../src/store/conformance/engines.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { withoutPostgres } from '../postgres/test-postgres.ts'
import { seededRandom } from '../seeded-random.ts'
import { drawn, START_MS } from './drawn-data.ts'

const isLong = process.env.TAPELINE_SOAK !== undefined
const READS = isLong ? 1_000 : 120
/** Reads after each group of writes, so that groups of rows are read while they grow. */
const READS_AT_ONCE = 10
const WRITES_AT_ONCE = 4
/** Rows are packed however new they are. */
const FAR_MS = 1e11

test('pages, coverage and finality have the same bytes on both engines', {
  skip: withoutPostgres,
}, async (t) => {
  const random = seededRandom(t)
  const clock = manualClock(START_MS)
  const places = ['sqlite on one thread', 'postgres'].map((name) => {
    const engine = ENGINES.find((each) => each.name === name)
    assert.ok(engine !== undefined)
    return engine.create()
  })
  const [one, other] = (await Promise.all(places.map((place) => place.open(clock).environment('test')))) as [
    EnvironmentStore,
    EnvironmentStore,
  ]
  const draw = drawn(random)
  const counts = new Map<string, number>()
  let packed = 0
  try {
    for (let round = 0; round * READS_AT_ONCE < READS; round++) {
      for (let i = 0; i < WRITES_AT_ONCE; i++) {
        const write = draw.write()
        clock.advance(random.int(0, 2_000))
        // One after the other: the embedded engine holds the thread, and the other waits inside a transaction.
        const [first, second] = [await one.write(write), await other.write(write)]
        assert.deepEqual(second, first, `write ${i} of round ${round}`)
      }
      if (random.int(0, 2) > 0)
        packed += await one.compact(-FAR_MS, { blockRows: random.int(1, 24), withUnfinal: true })
      for (let i = 0; i < READS_AT_ONCE; i++) {
        const { name, run } = draw.read()
        const [expected, found] = [await run(one), await run(other)]
        counts.set(name, (counts.get(name) ?? 0) + 1)
        assert.equal(
          hashOf(found),
          hashOf(expected),
          `${name} in round ${round}: ${difference(found, expected)}`,
        )
      }
    }
    // Retention may drop a month as a whole, which counts as one version where rows one by one are several.
    clock.set(START_MS + 2 * 3_600_000)
    for (const dataset of ['trades', 'snapshots', 'candles'] as const) {
      const [deleted, also] = await Promise.all([
        one.series.retain({ dataset }, 3_000_000),
        other.series.retain({ dataset }, 3_000_000),
      ])
      assert.equal(also, deleted, `rows of ${dataset} deleted`)
      const range = { from: 0, to: START_MS * 2 }
      for (const store of [one, other])
        assert.ok(((await store.series.earliest({ dataset })) ?? START_MS * 2) >= clock.now() - 3_000_000)
      for (const { feed } of await one.series.feeds({ dataset })) {
        const query = { feeds: [feed], range, order: 'asc', limit: 10_000, separator: '\n' } as const
        const covered = { ...query, coverageTo: clock.now() }
        const [expected, found] = await Promise.all([one.coveredPage(covered), other.coveredPage(covered)])
        assert.equal(found.page.text, expected.page.text)
        assert.deepEqual(found.coverage, expected.coverage)
      }
    }
    t.diagnostic(`${JSON.stringify(Object.fromEntries(counts))}, ${packed} rows packed`)
    assert.ok(packed > (isLong ? 500 : 100), `${packed} rows packed`)
  } finally {
    await Promise.all([one.close(), other.close()])
    await Promise.all(places.map((place) => place.remove()))
  }
})

function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? 'undefined')
    .digest('hex')
}

/** The answers from a little before the place where they differ. */
function difference(found: unknown, expected: unknown): string {
  const [a, b] = [JSON.stringify(found) ?? '', JSON.stringify(expected) ?? '']
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const [from, to] = [Math.max(0, at - 200), at + 200]
  return `\n${a.slice(from, to)}\n  and on the embedded engine\n${b.slice(from, to)}`
}
