/** The suites of rows, as if every row were old: what is written is packed at once. */
import type { EnvironmentStore } from '../environment.ts'
import { appendSuite } from './append.ts'
import { coveredSuite } from './covered.ts'
import { ENGINES } from './engines.ts'
import { environmentEngine } from './environment-engine.ts'
import { pagingSuite } from './paging.ts'
import { retentionSuite } from './retention.ts'

/** Rows are packed however new they are. */
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

for (const { create } of ENGINES.filter(({ name }) => name === 'sqlite on one thread')) {
  const engine = environmentEngine({ name: 'sqlite with packed rows', create }, packing)
  appendSuite(engine)
  pagingSuite(engine, process.env.TAPELINE_SOAK ? 1000 : 5)
  coveredSuite(engine)
  retentionSuite(engine)
}
