/** A real store in its own folder, and direct access to the same file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Feed } from '../../src/core/feed.ts'
import { type CoverageTracker, createCoverageTracker } from '../../src/ingest/shared/track-coverage.ts'
import { createRowWriter, type RowWriter } from '../../src/ingest/shared/write-rows.ts'
import { createLogger } from '../../src/kit/log.ts'
import { seeded } from '../../src/store/conformance/engine.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { type ManualClock, manualClock } from '../fakes/manual-clock.ts'
import { storesIn } from '../fakes/stores.ts'

export interface FileBehind {
  /** Changes the file of the test environment without the store, as a defect of the program or of the disk would. */
  behind(sql: string, ...values: (string | number)[]): number
  /** The key of a feed in the file. */
  idOf(feed: Feed): number
}

export function fileBehind(folder: string): FileBehind {
  function inFile<T>(use: (file: DatabaseSync) => T): T {
    const file = new DatabaseSync(join(folder, 'test.db'), { timeout: 60_000 })
    try {
      return use(file)
    } finally {
      file.close()
    }
  }
  const find = 'SELECT id FROM feeds WHERE dataset = ? AND source = ? AND symbol = ? AND interval = ?'
  return {
    behind: (sql, ...values) => inFile((file) => Number(file.prepare(sql).run(...values).changes)),
    idOf: ({ dataset, source, symbol, interval }) =>
      inFile((file) => Number(file.prepare(find).get(dataset, source, symbol, interval)?.id)),
  }
}

export interface AuditedStore extends FileBehind {
  readonly clock: ManualClock
  readonly store: EnvironmentStore
  readonly writer: RowWriter
  readonly tracker: CoverageTracker
  close(): Promise<void>
}

export async function openAuditedStore(startMs: number): Promise<AuditedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-audit-'))
  const clock = manualClock(startMs)
  const store = await storesIn(folder, clock).environment('test')
  const log = createLogger({ level: 'silent' })
  const writer = createRowWriter({ store, clock, random: Math.random, log })
  const tracker = createCoverageTracker({ feeds: [], coverage: store.coverage, writer })
  return {
    clock,
    store,
    writer,
    tracker,
    ...fileBehind(folder),
    async close() {
      await writer.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Numbers in [0, 1) that are the same in every run. */
export function fixedRandom(seed: number): () => number {
  const random = seeded(seed)
  return () => random.below(1_000_000_007) / 1_000_000_007
}
