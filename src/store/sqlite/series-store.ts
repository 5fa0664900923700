import type { Clock } from '../../kit/clock.ts'
import type { SeriesStore } from '../series.ts'
import type { EnvironmentOperations } from './environment-operations.ts'
import type { Writer } from './group-commit.ts'
import type { FeedLookup } from './series-lookup.ts'
import type { SeriesReader } from './series-read.ts'

export function sqliteSeries(parts: {
  reader: SeriesReader
  lookup: FeedLookup
  writer: Writer<EnvironmentOperations>
  clock: Clock
}): SeriesStore {
  const { reader, lookup, writer, clock } = parts
  return {
    async page(query) {
      const page = reader.page(query)
      return 'finish' in page ? page.finish() : page
    },
    count: async (query) => reader.count(query),
    at: async (query) => reader.at(query),
    earliest: async (filter) => lookup.earliest(filter),
    feeds: async (filter) => lookup.feeds(filter),
    finality: (feeds, maxAgeMs) => lookup.finality(feeds, maxAgeMs),
    revisions: async (query) => lookup.revisions(query),
    async retain(filter, maxAgeMs) {
      const olderThan = clock.now() - maxAgeMs
      let deleted = 0
      for (const { feed } of lookup.feeds(filter)) {
        for (let more = true; more; ) {
          const step = await writer.call('retain', [feed, olderThan])
          deleted += step.deleted
          more = step.more
        }
      }
      return deleted
    },
  }
}
