/** The suites of rows, with every row treated as old, so that it is packed right after it is written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import type { EnvironmentStore } from '../environment.ts'
import { appendSuite } from './append.ts'
import { coveredSuite } from './covered.ts'
import { candle, candleFeed, START } from './engine.ts'
import { ENGINES } from './engines.ts'
import { environmentEngine } from './environment-engine.ts'
import { pagingSuite } from './paging.ts'
import { retentionSuite } from './retention.ts'

/** Far enough in the future that all rows are packed, however new they are. */
const FAR_MS = 1e12
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

for (const { create } of ENGINES.filter(({ name }) => name === 'sqlite on one thread')) {
  const engine = environmentEngine({ name: 'sqlite with packed rows', create }, packing)
  appendSuite(engine)
  pagingSuite(engine, process.env.TAPELINE_SOAK ? 1000 : 5)
  coveredSuite(engine)
  retentionSuite(engine)
}
