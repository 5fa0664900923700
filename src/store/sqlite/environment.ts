import type { DatabaseSync } from 'node:sqlite'
import { feedName } from '../../core/feed.ts'
import type { Clock } from '../../kit/clock.ts'
import { type EnvironmentStore, StoreClosedError } from '../environment.ts'
import { blockFormOf } from '../rows/block-form.ts'
import { workInTurns } from '../rows/work-in-turns.ts'
import type { FeedFilter, PageQuery, SeriesQuery } from '../series.ts'
import { blockCache } from './block-cache.ts'
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
import { seriesReader } from './series-read.ts'
import { openStoreFile, type StoreFileOptions } from './store-file.ts'

export interface SqliteEnvironmentOptions extends StoreFileOptions {
  clock: Clock
  /** Who reads; a recorder needs less memory for caches. */
  use?: 'api' | 'recorder'
  /**
   * How long encoding may take before the thread does other work. A thread that only records may take longer, because
   * encoding must keep up with what it reads from sockets in between.
   */
  holdMs?: number
}

const HOLD_MS = 1
/** Maximum number of rows waiting for the writer; beyond it, writes wait before they are sent. */
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
  const { clock, file, cacheMb, use = 'api', holdMs = HOLD_MS } = options
  const {
    database,
    functions,
    isClosed,
    untilClosed,
    close,
    writer: fileWriter,
  } = openEnvironmentFile(options)
  const { writer, count } = countedWriter(fileWriter)
  const cache = blockCache(cacheBytesFor(use === 'api' ? 'blocks' : 'recorderBlocks', cacheMb))
  const cacheBytes = cacheBytesFor('longReads', cacheMb)
  const readersOf = (own: DatabaseSync): Readers => {
    const lookup = feedLookup(own, clock, count)
    const reader = seriesReader({ database: own, lookup, cache, holdMs, turnMs: long.turnMs })
    return { database: own, lookup, reader, coverage: coverageReader(own, lookup.id) }
  }
  const long = longReads(
    file === ':memory:' ? undefined : () => readersOf(openDatabase({ file, readOnly: true, cacheBytes })),
    { clock, isLogTooLong: () => isLogTooLong(file) },
  )
  const { lookup, reader, coverage } = readersOf(database)
  return {
    series: {
      ...functions({ at: reader.at, revisions: lookup.revisions }),
      ...functions({
        earliest: (filter: FeedFilter) => workInTurns(untilClosed(lookup.earliest(filter)), holdMs),
        feeds: (filter: FeedFilter) => workInTurns(untilClosed(lookup.feeds(filter)), holdMs),
        async page(query: PageQuery) {
          const page =
            (long.isFor(query) ? undefined : reader.page(query)) ??
            (await long.inOneState(query, (own) => own.reader.pageInTurns(query)))
          return 'finish' in page ? page.finish() : page
        },
        count: (query: SeriesQuery) =>
          (long.isFor(query) ? undefined : reader.count(query)) ??
          long.inOneState(query, (own) => own.reader.countInTurns(query)),
      }),
      finality: (wanted, maxAgeMs) =>
        isClosed() ? Promise.reject(new StoreClosedError()) : lookup.finality(wanted, maxAgeMs),
      async retain(filter, maxAgeMs, { feeds, betweenSteps = async () => true, nowMs } = {}) {
        const olderThan = Math.min(clock.now(), nowMs ?? Number.POSITIVE_INFINITY) - maxAgeMs
        const names = feeds && new Set(feeds.map(feedName))
        let deleted = 0
        for (const feed of lookup.named(filter)) {
          if (names?.has(feedName(feed)) === false) continue
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
    ...functions({ write: environmentWrite({ writer, clock, holdMs }), probe: lookup.probe }),
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

/**
 * Counts each call twice, when it is sent and when it is done, because anything read before either point may be
 * outdated.
 */
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
