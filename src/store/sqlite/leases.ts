import type { Clock } from '../../kit/clock.ts'
import type { LeaseRecord, LeaseStore } from '../leases.ts'
import { accountsWrites } from './accounts-operations.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import { asRecord } from './rows.ts'
import { openStoreFile, type StoreFileOptions } from './store-file.ts'

/** Stored in the accounts file, which all processes on a data folder share. */
export function openSqliteLeases({ clock, ...options }: StoreFileOptions & { clock: Clock }): LeaseStore {
  const { database, writer, functions, close } = openStoreFile(options, {
    name: 'accounts',
    migrations: ACCOUNTS_MIGRATIONS,
    writes: accountsWrites,
    readerCache: 'accounts',
    writerCache: 'accounts',
  })
  const list = database.prepare(
    'SELECT part, holder, term, max(until - ?, 0) AS leftMs FROM leases ORDER BY part',
  )
  return {
    ...functions({ list: () => list.all(clock.now()).map(asRecord<LeaseRecord>) }),
    take: (request) => writer.call('takeLease', [request, clock.now()]),
    renew: (fence, durationMs) => writer.call('renewLease', [fence, clock.now() + durationMs]),
    release: (fence) => writer.call('releaseLease', [fence]),
    close,
  }
}
