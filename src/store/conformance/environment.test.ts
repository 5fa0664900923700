/** Series, coverage and markets of an environment. */
import { appendSuite } from './append.ts'
import { coverageSuite } from './coverage.ts'
import { coveredSuite } from './covered.ts'
import { ENGINES } from './engines.ts'
import { environmentEngine } from './environment-engine.ts'
import { marketSuite } from './markets.ts'
import { pagingSuite } from './paging.ts'
import { retentionSuite } from './retention.ts'
import { snapshotSuite } from './snapshots.ts'

/** In a short run, `packed-rows.test.ts` covers writes on the calling thread. */
const engines = process.env.TAPELINE_SOAK
  ? ENGINES
  : ENGINES.filter(({ name }) => name !== 'sqlite on one thread')

for (const each of engines) {
  const engine = environmentEngine(each)
  appendSuite(engine)
  pagingSuite(engine, process.env.TAPELINE_SOAK ? 5000 : 5)
  coverageSuite(engine)
  coveredSuite(engine)
  snapshotSuite(engine, process.env.TAPELINE_SOAK ? 1000 : 5)
  marketSuite(engine)
  retentionSuite(engine)
}
