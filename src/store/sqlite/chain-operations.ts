import type { DatabaseSync } from 'node:sqlite'
import type { ChainWrite, IndexRetention } from '../chain.ts'
import type { NewEvent, Retention } from '../events.ts'
import { addressTable } from './chain-addresses.ts'
import { chainWriter } from './chain-write.ts'
import { eventWriter } from './events-write.ts'
import { writeTransaction } from './open.ts'

/** Everything that writes the chain index and the event log: one transaction each. */
export function chainOperations(database: DatabaseSync) {
  const addresses = addressTable(database)
  const events = eventWriter(database, addresses)
  const chain = chainWriter(database, addresses, events)
  const whole = <T>(work: () => T): T => {
    try {
      return writeTransaction(database, work)
    } catch (error) {
      addresses.forget()
      throw error
    }
  }
  return {
    write: (batch: ChainWrite) => whole(() => chain.write(batch)),
    append: (list: readonly NewEvent[]) => whole(() => events.append(list) + list.length - 1),
    retain: (retention: Retention) => whole(() => events.retain(retention)),
    numberAbove: (seq: number) => whole(() => events.numberAbove(seq)),
    prune: (retention: IndexRetention) => whole(() => chain.prune(retention)),
    savePosition: (reader: string, seq: number, force: boolean) =>
      whole(() => events.savePosition(reader, seq, force)),
    removePosition: (reader: string) => whole(() => events.removePosition(reader)),
  }
}

export type ChainOperations = ReturnType<typeof chainOperations>
