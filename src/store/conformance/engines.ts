/** The engines that every suite runs over. An engine is added here, and nowhere else in the suites. */
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
  /** Writes are done in a thread, or on the calling one where that is asked for. */
  readonly hasWriterThread: boolean
  create(): StorePlace
}

/** Where stores are, empty at first; opened again they find what was written there. */
interface StorePlace {
  /** Another process opens the same place with it. */
  readonly address: StoreAddress
  open(clock: ManualClock): Stores
  remove(): Promise<void>
}

export const ENGINES: readonly StoreEngine[] = [
  sqlite('sqlite', {}),
  sqlite('sqlite on one thread', { writes: 'inline', sync: 'off' }),
  // A test of the engine itself reports itself as skipped where there is no server.
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
