import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { appendSuite } from '../conformance/append.ts'
import { coverageSuite } from '../conformance/coverage.ts'
import type { Engine } from '../conformance/engine.ts'
import { marketSuite } from '../conformance/markets.ts'
import { pagingSuite } from '../conformance/paging.ts'
import { retentionSuite } from '../conformance/retention.ts'
import { snapshotSuite } from '../conformance/snapshots.ts'
import { openSqliteEnvironment } from './environment.ts'

const engine: Engine = {
  name: 'sqlite',
  async open(clock) {
    const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
    const file = join(folder, 'environment.db')
    let store = await openSqliteEnvironment({ file, clock })
    return {
      store,
      async reopen() {
        await store.close()
        store = await openSqliteEnvironment({ file, clock })
        return store
      },
      async remove() {
        await store.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
}

appendSuite(engine)
pagingSuite(engine, process.env.TAPELINE_SOAK ? 5000 : 150)
coverageSuite(engine)
snapshotSuite(engine)
marketSuite(engine)
retentionSuite(engine)
