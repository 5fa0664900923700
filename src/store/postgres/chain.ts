/** The chain index and the event log of one environment. */
import type { Environment } from '../../core/environment.ts'
import type { ChainStores } from '../chain.ts'
import { chainPruner } from './chain-prune.ts'
import { chainReader } from './chain-read.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import { chainWriter } from './chain-write.ts'
import { eventReader } from './events-read.ts'
import { eventWriter } from './events-write.ts'
import { type DatabaseOptions, openDatabase, schemaOf } from './open-database.ts'

export function openPostgresChain({
  environment,
  ...options
}: Pick<DatabaseOptions, 'address' | 'clock' | 'fence'> & { environment: Environment }): ChainStores {
  const database = openDatabase({
    ...options,
    schema: schemaOf(options.address, environment),
    label: 'chain',
    migrations: CHAIN_MIGRATIONS,
  })
  return {
    chain: {
      ...chainReader(database),
      write: chainWriter(database, { clock: options.clock, onWritten: () => {} }),
      prune: chainPruner(database),
    },
    events: { ...eventReader(database), ...eventWriter(database) },
    close: () => database.close(),
  }
}
