import type { DatabaseSync } from 'node:sqlite'
import { Lru } from '../../kit/lru.ts'

const CACHED = 100_000

/** Maps addresses to numbers. */
export function addressTable(database: DatabaseSync) {
  const select = database.prepare('SELECT id FROM addresses WHERE address = ?')
  const insert = database.prepare('INSERT INTO addresses (address) VALUES (?)')
  const cache = new Lru<string, number>({ maxEntries: CACHED })
  const find = (address: string): number | undefined => {
    const cached = cache.get(address)
    if (cached !== undefined) return cached
    const row = select.get(address)
    if (row === undefined) return undefined
    const id = Number(row.id)
    cache.set(address, id)
    return id
  }
  return {
    find,
    /** Returns the number of an address, assigning one if it has none. Only inside a write transaction. */
    open(address: string): number {
      const known = find(address)
      if (known !== undefined) return known
      const id = Number(insert.run(address).lastInsertRowid)
      cache.set(address, id)
      return id
    },
    /** Called after a rollback, which also undoes assigned numbers. */
    forget: () => cache.clear(),
  }
}

export type AddressTable = ReturnType<typeof addressTable>
