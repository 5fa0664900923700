import type { DatabaseSync } from 'node:sqlite'
import type { ChainWrite, IndexRetention } from '../chain.ts'
import type { NewEvent, Retention } from '../events.ts'
import { addressTable } from './chain-addresses.ts'
import { chainWriter } from './chain-write.ts'
import { eventWriter } from './events-write.ts'

/** Everything that writes the chain index and the event log. */
export function chainWrites(database: DatabaseSync) {
  const addresses = addressTable(database)
  const events = eventWriter(database, addresses)
  const chain = chainWriter(database, addresses, events)
  return {
    forget: () => addresses.forget(),
    operations: {
      write: (batch: ChainWrite) => chain.write(batch),
      append: (list: readonly NewEvent[]) => events.append(list) + list.length - 1,
      retain: (retention: Retention) => events.retain(retention),
      numberAbove: (seq: number) => events.numberAbove(seq),
      prune: (retention: IndexRetention) => chain.prune(retention),
    },
  }
}

export type ChainOperations = ReturnType<typeof chainWrites>['operations']
