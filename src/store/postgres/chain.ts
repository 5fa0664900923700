/** The chain index and the event log of one environment. */
import type { Environment } from '../../core/environment.ts'
import type { ChainStores } from '../chain.ts'
import { chainPruner } from './chain-prune.ts'
import { chainReader } from './chain-read.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import { chainWriter } from './chain-write.ts'
import { eventNotifier, eventWatches } from './events-notify.ts'
import { eventReader } from './events-read.ts'
import { eventWriter } from './events-write.ts'
import { type DatabaseOptions, openDatabase, schemaOf } from './open-database.ts'

export function openPostgresChain({
  environment,
  ...options
}: Pick<DatabaseOptions, 'address' | 'clock' | 'fence'> & { environment: Environment }): ChainStores {
  const { address, clock } = options
  const schema = schemaOf(address, environment)
  const database = openDatabase({ ...options, schema, label: 'chain', migrations: CHAIN_MIGRATIONS })
  const channel = `${schema}_events`
  const read = eventReader(database)
  const newestSeq = async () => (await read.bounds()).newestSeq
  const watches = eventWatches({ address, channel, newestSeq })
  return {
    chain: {
      ...chainReader(database),
      write: chainWriter(database, { clock, onWritten: eventNotifier(database, channel) }),
      prune: chainPruner(database),
    },
    events: { ...read, ...eventWriter(database), watch: watches.watch },
    async close() {
      await watches.close()
      await database.close()
    },
  }
}
