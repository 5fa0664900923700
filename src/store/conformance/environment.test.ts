/** Series, coverage and markets of an environment. */
import { appendSuite } from './append.ts'
import { coverageSuite } from './coverage.ts'
import { coveredSuite } from './covered.ts'
import type { Engine } from './engine.ts'
import { ENGINES } from './engines.ts'
import { marketSuite } from './markets.ts'
import { pagingSuite } from './paging.ts'
import { retentionSuite } from './retention.ts'
import { snapshotSuite } from './snapshots.ts'

for (const { name, create } of ENGINES) {
  const engine: Engine = {
    name,
    async open(clock) {
      const place = create()
      const open = () => place.open(clock).environment('test')
      let store = await open()
      return {
        store,
        async reopen() {
          await store.close()
          store = await open()
          return store
        },
        async remove() {
          await store.close()
          await place.remove()
        },
      }
    },
  }
  appendSuite(engine)
  pagingSuite(engine, process.env.TAPELINE_SOAK ? 5000 : 12)
  coverageSuite(engine)
  coveredSuite(engine)
  snapshotSuite(engine, process.env.TAPELINE_SOAK ? 1000 : 12)
  marketSuite(engine)
  retentionSuite(engine)
}
