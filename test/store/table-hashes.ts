/** Number and hash of the rows of every table of databases of the embedded engine, by plain SQL. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** `table: rows hash`. */
export type TableHashes = Record<string, string>

const FILES = ['accounts', 'test', 'test-chain', 'test-webhooks', 'live', 'live-chain', 'live-webhooks']

export function folderHashes(folder: string): TableHashes {
  const all: TableHashes = {}
  for (const name of FILES) {
    const path = join(folder, `${name}.db`)
    if (!existsSync(path)) continue
    const database = new DatabaseSync(path, { readOnly: true })
    Object.assign(all, tableHashes(`${name}.db`, database))
    database.close()
  }
  return all
}

export function tableHashes(file: string, database: DatabaseSync): TableHashes {
  const names = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`).all()
  return Object.fromEntries(
    names.map(({ name }) => {
      const columns = database
        .prepare(`SELECT * FROM pragma_table_info(?)`)
        .all(String(name))
        .map((column) => `"${String(column.name)}"`)
      const rows = database.prepare(`SELECT ${columns.join()} FROM "${name}" ORDER BY ${columns.join()}`)
      rows.setReadBigInts(true)
      rows.setReturnArrays(true)
      const hash = createHash('sha256')
      let count = 0
      for (const row of rows.iterate()) {
        count++
        for (const value of row as unknown as (null | bigint | number | string | Uint8Array)[])
          hash.update(`${typeof value}:`).update(value instanceof Uint8Array ? value : `${String(value)}\n`)
      }
      return [`${file} ${name}`, `${count} ${hash.digest('hex').slice(0, 16)}`]
    }),
  )
}

/** Both numbers go on above those that may have been given after the backup; nothing else differs. */
export const CONTINUED = ['test-chain.db event_log', 'test-webhooks.db sqlite_sequence']

export function withoutContinued(hashes: TableHashes): TableHashes {
  return Object.fromEntries(Object.entries(hashes).filter(([table]) => !CONTINUED.includes(table)))
}
