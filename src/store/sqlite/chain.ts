/**
 * The chain index and the event log in one file per environment. Reads on a connection of the calling thread.
 * Writes go to a thread of their own, started by the first one; `inline` writes on the calling thread, for an
 * indexer that has a thread of its own. Several connections, also of other processes, may share the file.
 */
import type { Clock } from '../../kit/clock.ts'
import type { ChainStores } from '../chain.ts'
import { cacheBytesFor } from './cache-sizes.ts'
import { addressTable } from './chain-addresses.ts'
import { type ChainOperations, chainWrites } from './chain-operations.ts'
import type { IndexBorders } from './chain-prune.ts'
import { chainReader } from './chain-read.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import { eventReader } from './events-read.ts'
import { inlineWriter, type Writer, writerThread } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { asyncReads } from './port-calls.ts'

const THREAD = new URL('./chain-thread.ts', import.meta.url)
const PAGE_BYTES = 8192

export function openSqliteChain(options: {
  file: string
  clock: Clock
  cacheBytes?: number
  inline?: boolean
}): ChainStores {
  const { file, clock, cacheBytes = cacheBytesFor('chain'), inline } = options
  const database = openDatabase({ file, cacheBytes, pageBytes: PAGE_BYTES })
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
      : writerThread(THREAD, { name: 'chain writer', file, cacheBytes })
  let closing: Promise<void> | undefined
  const isClosed = () => closing !== undefined
  return {
    chain: {
      ...asyncReads(chainReader(database, addresses), isClosed),
      ...writer.functions(['write']),
      prune: ({ maxTransactionAgeMs, maxDroppedAgeMs, maxSeenAgeMs, chainBlocks }) => {
        const nowMs = clock.now()
        const borders: IndexBorders = {
          transactionsBeforeMs: maxTransactionAgeMs === null ? null : nowMs - maxTransactionAgeMs,
          droppedBeforeMs: nowMs - maxDroppedAgeMs,
          seenBeforeMs: nowMs - maxSeenAgeMs,
          chainBlocks,
        }
        return writer.call('prune', [borders])
      },
    },
    events: {
      ...asyncReads(eventReader(database, addresses), isClosed),
      ...writer.functions(['numberAbove']),
      retain: ({ maxAgeMs, maxBytes }) =>
        writer.call('retain', [{ beforeMs: clock.now() - maxAgeMs, maxBytes }]),
    },
    close() {
      closing ??= writer.close().then(() => database.close())
      return closing
    },
  }
}
