import type { Environment } from '../../core/environment.ts'
import type { Clock } from '../../kit/clock.ts'
import { type EnvironmentStore, StoreClosedError } from '../environment.ts'
import type { EnvironmentOptions } from '../stores.ts'
import type { PostgresAddress } from './address.ts'
import { blockCache } from './books-groups.ts'
import { readCoverage } from './coverage-read.ts'
import { coveredReads } from './covered-reads.ts'
import { ENVIRONMENT_MIGRATIONS } from './environment-schema.ts'
import { environmentWriter } from './environment-write.ts'
import { marketReader } from './markets-read.ts'
import { ofOneState } from './one-moment.ts'
import { openDatabase, schemaOf } from './open-database.ts'
import { partitions as partitionsOf } from './partitions.ts'
import { readSlots } from './read-slots.ts'
import { feedLookup } from './series-lookup.ts'
import { seriesReader } from './series-read.ts'
import { retention } from './series-retain.ts'
import { readCoverageByFeed } from './spread-reads.ts'

const HOLD_MS = 1
/** The share of the cache memory that unpacked blocks of books may take. */
const BLOCKS_SHARE = 1 / 4

export async function openPostgresEnvironment(
  options: EnvironmentOptions & {
    address: PostgresAddress
    environment: Environment
    clock: Clock
  },
): Promise<EnvironmentStore> {
  const { address, environment, clock, fence, holdMs = HOLD_MS } = options
  const database = openDatabase({
    address,
    schema: schemaOf(address, environment),
    label: 'environment',
    migrations: ENVIRONMENT_MIGRATIONS,
    clock,
    fence,
  })
  const lookup = feedLookup(database, clock)
  const partitions = partitionsOf(database)
  const blocks = blockCache(BLOCKS_SHARE * address.cacheMb * 1024 * 1024)
  const inReadSlot = readSlots(address.poolSize)
  const reader = seriesReader({ database, lookup, blocks, holdMs, inReadSlot })
  const writer = environmentWriter({ database, lookup, partitions, holdMs })
  let isClosed = false
  return {
    series: {
      page: reader.page,
      count: reader.count,
      at: reader.at,
      earliest: lookup.earliest,
      feeds: lookup.feeds,
      finality: (feeds, maxAgeMs) =>
        isClosed ? Promise.reject(new StoreClosedError()) : lookup.finality(feeds, maxAgeMs),
      revisions: lookup.revisions,
      retain: retention({ database, lookup, partitions }),
    },
    coverage: {
      async read(feeds, from, to) {
        await lookup.findMissing(database, feeds)
        const ids = () => feeds.map(lookup.id).filter((id) => id !== undefined)
        const known = ids()
        const read = await ofOneState(database, ids, {
          together: () => readCoverage(database, ids(), from, to),
          byFeed: () => readCoverageByFeed(database, ids(), from, to),
        })
        lookup.forgetMissing(known, read.states)
        return read.coverage(feeds, lookup.id, from, to)
      },
    },
    markets: marketReader(database),
    ...coveredReads({ database, lookup, reader, inReadSlot }),
    write: writer.write,
    // There is nothing to do: the server compresses long values itself, and short rows not at all.
    compact: async () => 0,
    // There is nothing to do: dropped months free their space at once, and new rows reuse what autovacuum frees.
    giveBackRoom: async () => 0,
    probe: lookup.probe,
    async close() {
      isClosed = true
      await writer.end()
      await database.close()
    },
  }
}
