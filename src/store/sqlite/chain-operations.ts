import type { DatabaseSync } from 'node:sqlite'
import { addressTable } from './chain-addresses.ts'
import { chainPruner } from './chain-prune.ts'
import { transactionTexts } from './chain-texts.ts'
import { chainWriter } from './chain-write.ts'
import { eventWriter } from './events-write.ts'

/** All writes of the chain index and the event log. */
export function chainWrites(database: DatabaseSync) {
  const addresses = addressTable(database)
  const texts = transactionTexts(database)
  const events = eventWriter(database, addresses)
  return {
    forget() {
      addresses.forget()
      texts.forget()
      events.forget()
    },
    operations: {
      write: chainWriter(database, { addresses, texts, events }),
      prune: chainPruner(database, texts),
      retain: events.retain,
      numberAbove: events.numberAbove,
    },
  }
}
