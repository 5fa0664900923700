/** A table of texts on a server, for tests that only need to know the outcome of a write. */
import { systemClock } from '../../src/kit/clock.ts'
import { parsePostgresAddress } from '../../src/store/postgres/address.ts'
import { statement } from '../../src/store/postgres/database.ts'
import { openDatabase } from '../../src/store/postgres/open-database.ts'

const INSERT = statement('insert', 'INSERT INTO notes VALUES ($1)')
const NOTES = statement('notes', 'SELECT text FROM notes ORDER BY text')

export function openNotes(place: string) {
  const address = parsePostgresAddress(place, 8)
  const migrations = [{ version: 1, name: 'notes', sql: 'CREATE TABLE notes (text text PRIMARY KEY)' }]
  const database = openDatabase({
    ...{ address, schema: address.schema, label: 'notes', migrations, clock: systemClock },
  })
  return {
    database,
    put: (text: string) =>
      database.write(async (transaction) => {
        await transaction.run(INSERT, [text])
        return text
      }),
    all: async () => (await database.rows<{ text: string }>(NOTES)).map(({ text }) => text),
    close: () => database.close(),
  }
}
