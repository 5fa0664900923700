import type { Clock } from '../../kit/clock.ts'
import type { CoordinationStore } from '../coordination.ts'
import type { Heartbeat } from '../heartbeats.ts'
import { accountsWrites } from './accounts-operations.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import { asRecord } from './rows.ts'
import { openStoreFile, type StoreFileOptions } from './store-file.ts'

/** Stored in the accounts file, which all processes on a data folder share. */
export function openSqliteCoordination({
  clock,
  ...options
}: StoreFileOptions & { clock: Clock }): CoordinationStore {
  const { database, writer, functions, writes, close } = openStoreFile(options, {
    name: 'accounts',
    migrations: ACCOUNTS_MIGRATIONS,
    writes: accountsWrites,
    readerCache: 'accounts',
    writerCache: 'accounts',
  })
  const heartbeats = database.prepare(
    'SELECT part, text, MAX(? - at, 0) AS ageMs FROM heartbeats ORDER BY part',
  )
  return {
    ...functions({
      listHeartbeats: () => heartbeats.all(clock.now()).map(asRecord<Heartbeat & { ageMs: number }>),
    }),
    ...writes(['takeBackAttempts', 'forgetAttempts', 'sharedSecret', 'removeHeartbeat']),
    exchangeCounts: (own) => writer.call('exchangeCounts', [own, clock.now()]),
    addAttempts: (names, windowMs) => writer.call('addAttempts', [names, windowMs, clock.now()]),
    putHeartbeat: (heartbeat) => writer.call('putHeartbeat', [heartbeat, clock.now()]),
    close,
  }
}
