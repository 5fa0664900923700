/** A write whose answer is lost is known to be done or not done. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCuttingProxy } from '../../../test/postgres/cutting-proxy.ts'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { systemClock } from '../../kit/clock.ts'
import { parsePostgresAddress } from './address.ts'
import { statement } from './database.ts'
import { openDatabase } from './open-database.ts'

const INSERT = statement('insert', 'INSERT INTO notes VALUES ($1)')
const NOTES = statement('notes', 'SELECT text FROM notes ORDER BY text')

test('a write whose commit was cut is answered as done when it is, and as not done when it is not', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace()
  const proxy = await startCuttingProxy(place.address)
  const address = parsePostgresAddress(proxy.address, 8)
  const migrations = [{ version: 1, name: 'notes', sql: 'CREATE TABLE notes (text text)' }]
  const database = openDatabase({
    ...{ address, schema: address.schema, label: 'notes', migrations, clock: systemClock },
  })
  const put = (text: string) =>
    database.write(async (transaction) => {
      await transaction.run(INSERT, [text])
      return text
    })
  try {
    await put('a')
    proxy.cutNextCommit('after')
    assert.equal(await put('b'), 'b')
    proxy.cutNextCommit('before')
    await assert.rejects(
      put('c'),
      (error) => error instanceof StoreUnavailableError && error.mayBeDone === false,
    )
    assert.equal(proxy.cuts, 2)
    assert.deepEqual(await database.rows(NOTES), [{ text: 'a' }, { text: 'b' }])
  } finally {
    await database.close()
    await proxy.close()
    await place.remove()
  }
})
