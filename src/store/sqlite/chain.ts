/**
 * The chain index and the event log in one file per environment. Reads on a connection of the calling thread.
 * Writes go to a thread of their own, started by the first one; `inline` writes on the calling thread, for an
 * indexer that has a thread of its own. Several connections, also of other processes, may share the file.
 */
import type { ChainStore } from '../chain.ts'
import type { EventStore } from '../events.ts'
import { cacheBytesFor } from './cache-sizes.ts'
import { addressTable } from './chain-addresses.ts'
import { type ChainOperations, chainWrites } from './chain-operations.ts'
import { chainReader } from './chain-read.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import { eventReader } from './events-read.ts'
import { inlineWriter, type Writer, writerThread } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { asyncReads } from './port-calls.ts'

export interface ChainDatabase {
  readonly chain: ChainStore
  readonly events: EventStore
  close(): Promise<void>
}

const THREAD = new URL('./chain-thread.ts', import.meta.url)
const PAGE_BYTES = 8192

export function openSqliteChain({ file, inline }: { file: string; inline?: boolean }): ChainDatabase {
  const database = openDatabase({ file, cacheBytes: cacheBytesFor('chain'), pageBytes: PAGE_BYTES })
  try {
    migrate(database, 'chain', CHAIN_MIGRATIONS)
  } catch (error) {
    database.close()
    throw error
  }
  const addresses = addressTable(database)
  const writer: Writer<ChainOperations> =
    inline === true || file === ':memory:'
      ? inlineWriter(database, chainWrites(database))
      : writerThread(THREAD, { name: 'chain writer', file })
  let closing: Promise<void> | undefined
  const isClosed = () => closing !== undefined
  return {
    chain: {
      ...asyncReads(chainReader(database, addresses), isClosed),
      ...writer.functions(['write', 'prune']),
    },
    events: {
      ...asyncReads(eventReader(database, addresses), isClosed),
      ...writer.functions(['retain', 'numberAbove']),
    },
    close() {
      closing ??= writer.close().then(() => database.close())
      return closing
    },
  }
}
