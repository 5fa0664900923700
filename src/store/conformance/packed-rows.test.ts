/** The suites of rows, with every row treated as old, so that it is packed right after it is written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { drawnSeed } from '../../../test/seeded-random.ts'
import type { EnvironmentStore } from '../environment.ts'
import { PAGE_SEPARATOR } from '../rows/row-block.ts'
import type { PageQuery } from '../series.ts'
import { appendSuite } from './append.ts'
import { coveredSuite } from './covered.ts'
import { candle, candleFeed, START, seeded } from './engine.ts'
import { ENGINES } from './engines.ts'
import { environmentEngine } from './environment-engine.ts'
import { pagingSuite } from './paging.ts'
import { retentionSuite } from './retention.ts'

/** Far enough in the future that all rows are packed, however new they are. */
const FAR_MS = 1e12
const SEED = drawnSeed()
const EVERY = { blockRows: 7, withUnfinal: true }

function packing(store: EnvironmentStore): EnvironmentStore {
  return {
    ...store,
    async write(write) {
      const result = await store.write(write)
      await store.compact(-FAR_MS, EVERY)
      return result
    },
  }
}

test('a row that stays open does not end the packing of its feed', async (t) => {
  const store = await storesIn(':memory:', manualClock(START)).environment('test')
  t.after(() => store.close())
  const feed = candleFeed('cexa')
  const rows = Array.from({ length: 200 }, (_, i) => ({ ...candle(i), closed: i !== 30 && i !== 31 }))
  await store.write({ rows: [{ feed, rows }] })
  // Each block ends before the open rows or begins after them; the last few rows wait for more.
  assert.ok((await store.compact(-FAR_MS, EVERY)) > 180)
  assert.equal(await store.compact(-FAR_MS, EVERY), 0)
})

test(`a page over several feeds is the same from blocks as from tables, in both orders and from any row (seed ${SEED})`, async (t) => {
  const random = seeded(SEED)
  const stores = storesIn(':memory:', manualClock(START))
  const [plain, packed] = [await stores.environment('test'), await stores.environment('live')]
  t.after(() => Promise.all([plain.close(), packed.close()]))
  const feeds = [candleFeed('cexa'), candleFeed('cexa_futures'), candleFeed('perpdex')]
  for (const [volume, feed] of feeds.entries()) {
    const rows = Array.from({ length: 300 }, (_, i) => candle(i, { volume })).filter(
      () => random.below(4) > 0,
    )
    for (const store of [plain, packed]) await store.write({ rows: [{ feed, rows }] })
  }
  await packed.compact(-FAR_MS, EVERY)
  let joined = 0
  for (let round = 0; round < 300; round++) {
    const from = START + random.below(300) * 60_000
    const range = { from, to: from + random.below(300) * 60_000, toInclusive: random.below(2) === 0 }
    const order = random.pick(['asc', 'desc'] as const)
    const wanted = random.shuffle([...feeds]).slice(0, 1 + random.below(3))
    let query: PageQuery = {
      feeds: wanted,
      range,
      order,
      limit: 1 + random.below(60),
      separator: PAGE_SEPARATOR,
    }
    for (let page = 0; page < 3; page++) {
      const [expected, found] = [await plain.series.page(query), await packed.series.page(query)]
      const { text, count, hasMore, last, firstTs, lastTs } = expected
      const { parts: _, ...rest } = found
      assert.deepEqual(
        { ...rest, text: found.text },
        { text, count, hasMore, last, firstTs, lastTs },
        `round ${round}`,
      )
      if (wanted.length > 1) joined += count
      if (!hasMore || last === undefined) break
      query = { ...query, position: last }
    }
  }
  assert.ok(joined > 5_000, `${joined} rows of several feeds`)
})

for (const { create } of ENGINES.filter(({ name }) => name === 'sqlite on one thread')) {
  const engine = environmentEngine({ name: 'sqlite with packed rows', create }, packing)
  appendSuite(engine)
  pagingSuite(engine, process.env.TAPELINE_SOAK ? 1000 : 5)
  coveredSuite(engine)
  retentionSuite(engine)
}
