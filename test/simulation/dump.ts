/** A digest of every table of every database file in a folder: two runs of one seed must have the same digests. */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export function dumpFolder(folder: string): string {
  const hash = createHash('sha256')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.db')).sort()) {
    hash.update(`${file}\n`)
    const database = new DatabaseSync(join(folder, file), { readOnly: true })
    try {
      const tables = database
        .prepare(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )
        .all() as { name: string }[]
      for (const { name } of tables) {
        const statement = database.prepare(`SELECT * FROM "${name}"`)
        statement.setReadBigInts(true)
        hash.update(`${name}\n`)
        statement.setReturnArrays(true)
        const names = statement.columns().map((column) => JSON.stringify(column.name))
        const rows = (statement.all() as unknown as unknown[][]).map((row) => rowText(names, row))
        if (rows.length > 0) hash.update(`${rows.sort().join('\n')}\n`)
      }
    } finally {
      database.close()
    }
  }
  return hash.digest('hex')
}

/** The row as JSON, written by hand: a replacer would be called for every value. */
const rowText = (names: readonly string[], row: readonly unknown[]): string =>
  `{${row.map((value, index) => `${names[index]}:${valueText(value)}`).join()}}`

function valueText(value: unknown): string {
  if (typeof value === 'bigint') return `"${value}"`
  return JSON.stringify(value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value)
}
