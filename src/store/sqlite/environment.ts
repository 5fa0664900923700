import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../kit/clock.ts'
import { type EnvironmentStore, StoreClosedError } from '../environment.ts'
import { blockFormOf } from '../rows/block-form.ts'
import type { PageQuery, SeriesQuery } from '../series.ts'
import { cacheBytesFor } from './cache-sizes.ts'
import { coverageReader } from './coverage-read.ts'
import { coveredReads } from './covered-reads.ts'
import { type EnvironmentOperations, environmentWrites } from './environment-operations.ts'
import { ENVIRONMENT_MIGRATIONS, PAGE_BYTES } from './environment-schema.ts'
import { environmentWrite } from './environment-write.ts'
import type { Writer } from './group-commit.ts'
import { longReads, type Readers } from './long-reads.ts'
import { marketReader } from './markets-read.ts'
import { isLogTooLong, openDatabase } from './open.ts'
import { feedLookup } from './series-lookup.ts'
import { blockCaches, seriesReader } from './series-read.ts'
import { openStoreFile, type StoreFileOptions } from './store-file.ts'

export interface SqliteEnvironmentOptions extends StoreFileOptions {
  clock: Clock
  /** Who reads: a recorder needs less memory for it. */
  use?: 'api' | 'recorder'
  /**
   * How long rows may be encoded before the thread does other work. A thread that only records may take longer: it
   * reads from sockets in between, and encoding must keep up with reading.
   */
  holdMs?: number
}

const HOLD_MS = 1
/** Rows that may wait for the writer; above it writes wait before they are sent. */
export const MAX_ROWS_IN_FLIGHT = 40_000

export function openEnvironmentFile({ use = 'api', ...options }: Omit<SqliteEnvironmentOptions, 'clock'>) {
  return openStoreFile(options, {
    name: 'environment',
    migrations: ENVIRONMENT_MIGRATIONS,
    writes: environmentWrites,
    readerCache: use,
    writerCache: 'writer',
    pageBytes: PAGE_BYTES,
    maxWeight: MAX_ROWS_IN_FLIGHT,
  })
}

export async function openSqliteEnvironment(options: SqliteEnvironmentOptions): Promise<EnvironmentStore> {
  const { clock, file, cacheMb, holdMs = HOLD_MS } = options
  const { database, functions, isClosed, close, writer: fileWriter } = openEnvironmentFile(options)
  const { writer, count } = countedWriter(fileWriter)
  const caches = blockCaches(cacheBytesFor('blocks', cacheMb))
  const cacheBytes = cacheBytesFor('longReads', cacheMb)
  const readersOf = (own: DatabaseSync): Readers => {
    const lookup = feedLookup(own, clock, count)
    const reader = seriesReader({ database: own, lookup, caches, holdMs, turnMs: long.turnMs })
    return { database: own, lookup, reader, coverage: coverageReader(own, lookup.id) }
  }
  const long = longReads(
    file === ':memory:' ? undefined : () => readersOf(openDatabase({ file, readOnly: true, cacheBytes })),
    { clock, isLogTooLong: () => isLogTooLong(file) },
  )
  const { lookup, reader, coverage } = readersOf(database)
  const { earliest, feeds, revisions } = lookup
  return {
    series: {
      ...functions({ at: reader.at, earliest, feeds, revisions }),
      ...functions({
        async page(query: PageQuery) {
          const page =
            (long.isFor(query) ? undefined : reader.page(query)) ??
            (await long.inOneState((own) => own.reader.pageInTurns(query)))
          return 'finish' in page ? page.finish() : page
        },
        count: (query: SeriesQuery) =>
          (long.isFor(query) ? undefined : reader.count(query)) ??
          long.inOneState((own) => own.reader.countInTurns(query)),
      }),
      finality: (wanted, maxAgeMs) =>
        isClosed() ? Promise.reject(new StoreClosedError()) : lookup.finality(wanted, maxAgeMs),
      async retain(filter, maxAgeMs, { betweenSteps = async () => true, nowMs } = {}) {
        const olderThan = Math.min(clock.now(), nowMs ?? Number.POSITIVE_INFINITY) - maxAgeMs
        let deleted = 0
        for (const feed of lookup.named(filter)) {
          for (let more = true; more; ) {
            const step = await writer.call('retain', [feed, olderThan])
            deleted += step.deleted
            more = step.more
            if (step.deleted > 0 && !(await betweenSteps())) return deleted
          }
        }
        return deleted
      },
    },
    coverage: functions(coverage),
    markets: functions(marketReader(database)),
    ...functions(coveredReads({ reader, lookup, coverage, long })),
    ...functions({ write: environmentWrite({ writer, clock, holdMs }) }),
    async compact(maxAgeMs, { betweenSteps = async () => true, blockRows, withUnfinal = false } = {}) {
      const before = clock.now() - maxAgeMs
      let packed = 0
      for (const feed of lookup.named({})) {
        const usual = blockFormOf(feed)
        if (usual === undefined) continue
        const form = { ...usual, rows: blockRows ?? usual.rows }
        for (let more = true; more; ) {
          const step = await writer.call('compact', [feed, before, { form, withUnfinal }])
          packed += step.packed
          more = step.more
          if (step.packed > 0 && !(await betweenSteps())) return packed
        }
      }
      return packed
    },
    async giveBackRoom({ betweenSteps = async () => true } = {}) {
      let bytes = 0
      for (let more = true; more && (await betweenSteps()); ) {
        const step = await writer.call('giveBackRoom', [])
        bytes += step.bytes
        more = step.more
      }
      return bytes
    },
    close: () => close(long.close()),
  }
}

/** Counts calls twice, when they are sent and when they are done: what was read before either may be outdated. */
function countedWriter(writer: Writer<EnvironmentOperations>): {
  writer: Writer<EnvironmentOperations>
  count: () => number
} {
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
