/** The engines that every suite runs over. This is the only place in the suites where an engine is added. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ManualClock, manualClock } from '../../../test/fakes/manual-clock.ts'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import {
  openStores,
  parseStoreAddress,
  type SqliteAddress,
  type StoreAddress,
  type Stores,
} from '../open-stores.ts'

export interface StoreEngine {
  readonly name: string
  /** Whether writes run in a thread of the engine unless they are requested on the calling one. */
  readonly hasWriterThread: boolean
  create(): StorePlace
}

/** A place for stores, empty at first; stores opened there again find what was written. */
interface StorePlace {
  /** Lets another process open the same place. */
  readonly address: StoreAddress
  open(clock: ManualClock): Stores
  remove(): Promise<void>
}

export const ENGINES: readonly StoreEngine[] = [
  sqlite('sqlite', {}),
  sqlite('sqlite on one thread', { writes: 'inline', sync: 'off' }),
  // Without a server, the tests of the engine itself report that they are skipped.
  ...(withoutPostgres === false ? [postgres()] : []),
]

function postgres(): StoreEngine {
  return {
    name: 'postgres',
    hasWriterThread: false,
    create() {
      const { address: text, remove } = postgresPlace()
      const address = parseStoreAddress(text)
      return { address, open: (clock) => openStores(address, clock), remove }
    },
  }
}

function sqlite(name: string, settings: Pick<SqliteAddress, 'writes' | 'sync'>): StoreEngine {
  return {
    name,
    hasWriterThread: true,
    create() {
      const folder = mkdtempSync(join(tmpdir(), 'tapeline-store-'))
      const address: SqliteAddress = { engine: 'sqlite', folder, cacheMb: 128, ...settings }
      return {
        address,
        open: (clock) => openStores(address, clock),
        remove: async () => rmSync(folder, { recursive: true }),
      }
    },
  }
}

/** Runs a test on a fresh store; `again` opens the same data once more, as another process would. */
export async function withFreshStore<S extends { close(): Promise<void> }>(
  engine: StoreEngine,
  open: (stores: Stores) => S,
  run: (store: S, tools: { clock: ManualClock; again: () => S }) => Promise<void>,
): Promise<void> {
  const place = engine.create()
  const clock = manualClock(0)
  const opened: S[] = []
  const again = () => {
    const store = open(place.open(clock))
    opened.push(store)
    return store
  }
  try {
    await run(again(), { clock, again })
  } finally {
    await Promise.all(opened.map((store) => store.close()))
    await place.remove()
  }
}
