/** The chain index and the event log in one file per environment. */
import type { Clock } from '../../kit/clock.ts'
import type { ChainStores } from '../chain.ts'
import { addressTable } from './chain-addresses.ts'
import { chainWrites } from './chain-operations.ts'
import { chainReader } from './chain-read.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import { eventReader } from './events-read.ts'
import { openStoreFile, type StoreFileOptions } from './store-file.ts'

const PAGE_BYTES = 8192

/** `inline` writes on the calling thread, for an indexer that runs in its own thread. */
export function openSqliteChain({
  clock,
  inline = false,
  ...options
}: StoreFileOptions & { clock: Clock; inline?: boolean }): ChainStores {
  const { database, writer, functions, writes, close } = openStoreFile(options, {
    name: 'chain',
    migrations: CHAIN_MIGRATIONS,
    writes: chainWrites,
    readerCache: 'chain',
    writerCache: 'chain',
    pageBytes: PAGE_BYTES,
    inline,
  })
  const addresses = addressTable(database)
  return {
    chain: {
      ...functions(chainReader(database, addresses)),
      ...writes(['write']),
      prune: (retention) => writer.call('prune', [retention, clock.now()]),
    },
    events: {
      ...functions(eventReader(database, addresses)),
      ...writes(['numberAbove']),
      retain: (retention) => writer.call('retain', [retention, clock.now()]),
    },
    close,
  }
}
