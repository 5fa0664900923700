import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../kit/clock.ts'
import type { CoverageStore } from '../coverage.ts'
import { type EnvironmentStore, StoreClosedError } from '../environment.ts'
import type { MarketStore } from '../markets.ts'
import { cacheBytesFor } from './cache-sizes.ts'
import { coverageReader } from './coverage-read.ts'
import { coveredReads } from './covered-reads.ts'
import { type EnvironmentOperations, environmentWrites } from './environment-operations.ts'
import { ENVIRONMENT_MIGRATIONS, PAGE_BYTES } from './environment-schema.ts'
import { environmentWrite } from './environment-write.ts'
import { inlineWriter, type Writer, writerThread } from './group-commit.ts'
import { marketReader } from './markets-read.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { feedLookup } from './series-lookup.ts'
import { seriesReader } from './series-read.ts'
import { sqliteSeries } from './series-store.ts'

export interface SqliteEnvironmentOptions {
  /** One file per environment; `:memory:` stores nothing and writes on the calling thread. */
  file: string
  clock: Clock
  cacheBytes?: CacheSizes
  /**
   * How long rows may be encoded before the thread does other work. A thread that only records may take longer: it
   * reads from sockets in between, and encoding must keep up with reading.
   */
  holdMs?: number
}

/** Page caches of both connections, and blocks in memory: final candles, and as much again of books. */
interface CacheSizes {
  reader: number
  writer: number
  blocks: number
}

const DEFAULT_CACHES: CacheSizes = {
  reader: cacheBytesFor('api'),
  writer: cacheBytesFor('writer'),
  blocks: cacheBytesFor('blocks'),
}
const HOLD_MS = 1
/** Rows that may wait for the writer; above it writes wait before they are sent. */
export const MAX_ROWS_IN_FLIGHT = 40_000

type EnvironmentWriter = Writer<EnvironmentOperations>

/** Writes in a thread of its own: the caller's event loop only sends. */
export function environmentWriter(file: string, cacheBytes = DEFAULT_CACHES.writer): EnvironmentWriter {
  return writerThread(new URL('./environment-thread.ts', import.meta.url), {
    name: 'environment writer',
    file,
    cacheBytes,
    maxWeight: MAX_ROWS_IN_FLIGHT,
  })
}

/**
 * The embedded engine: reads on a connection of the calling thread, writes in a thread of its own. Other
 * processes may open the same file; they wait for each other's write lock.
 */
export async function openSqliteEnvironment(options: SqliteEnvironmentOptions): Promise<EnvironmentStore> {
  const caches = options.cacheBytes ?? DEFAULT_CACHES
  const database = openDatabase({
    file: options.file,
    cacheBytes: caches.reader,
    pageBytes: PAGE_BYTES,
  })
  let writer: EnvironmentWriter | undefined
  try {
    migrate(database, 'environment', ENVIRONMENT_MIGRATIONS)
    writer =
      options.file === ':memory:'
        ? inlineWriter(database, environmentWrites(database))
        : environmentWriter(options.file, caches.writer)
    return assemble(database, writer, caches.blocks, options)
  } catch (error) {
    await writer?.close()
    database.close()
    throw error
  }
}

function assemble(
  database: DatabaseSync,
  plainWriter: EnvironmentWriter,
  blockBytes: number,
  { clock, holdMs = HOLD_MS }: SqliteEnvironmentOptions,
): EnvironmentStore {
  const { writer, count } = countedWriter(plainWriter)
  const lookup = feedLookup(database, clock, count)
  const coverage = coverageReader(database, lookup.id)
  let closing: Promise<void> | undefined
  const isClosed = () => closing !== undefined
  const reader = seriesReader({ database, lookup, blockBytes, holdMs })
  return {
    series: guarded(sqliteSeries({ reader, lookup, writer, clock }), isClosed),
    ...guarded(coveredReads({ reader, lookup, coverage }), isClosed),
    coverage: guarded<CoverageStore>({ read: async (...args) => coverage.read(...args) }, isClosed),
    markets: guarded(sqliteMarkets(database), isClosed),
    ...guarded({ write: environmentWrite({ writer, clock, holdMs }) }, isClosed),
    close() {
      closing ??= writer.close().then(() => database.close())
      return closing
    },
  }
}

/** Counts calls twice, when they are sent and when they are done: what was read before either may be outdated. */
function countedWriter(writer: EnvironmentWriter): { writer: EnvironmentWriter; count: () => number } {
  let count = 0
  return {
    count: () => count,
    writer: {
      ...writer,
      call: (...args) => {
        count++
        return writer.call(...args).finally(() => {
          count++
        })
      },
    },
  }
}

function sqliteMarkets(database: DatabaseSync): MarketStore {
  const reader = marketReader(database)
  return {
    get: async (identifier, filter) => reader.get(identifier, filter),
    list: async (query) => reader.list(query),
    count: async (query) => reader.count(query),
    holding: async (query) => reader.holding(query),
  }
}

/** Refuses calls after close() with the port's own error instead of the engine's. */
function guarded<T extends object>(store: T, isClosed: () => boolean): T {
  const wrapped = Object.entries(store).map(([name, method]) => [
    name,
    (...args: unknown[]) => (isClosed() ? Promise.reject(new StoreClosedError()) : method(...args)),
  ])
  return Object.fromEntries(wrapped) as T
}
