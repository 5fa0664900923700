/** What a lease means for the writes of its holder, on a real server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { systemClock } from '../../kit/clock.ts'
import { LeaseLostError } from '../leases.ts'
import { openStores, parseStoreAddress } from '../open-stores.ts'
import { parsePostgresAddress } from './address.ts'
import { statement } from './database.ts'
import { openDatabase } from './open-database.ts'

const PART = 'record:cexa/live'
const INSERT = statement('insert', 'INSERT INTO notes VALUES ($1)')
const COUNT = statement('count', 'SELECT count(*) AS count FROM notes')

test('a write holds its lease until it has committed: renewed meanwhile, but not taken; afterwards it is refused', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace()
  const leases = openStores(parseStoreAddress(place.address), systemClock).leases()
  const take = (holder: string) => leases.take({ part: PART, holder, durationMs: 1 })
  try {
    const fence = await take('a')
    assert.ok(fence !== undefined)
    const address = parsePostgresAddress(place.address, 8)
    const migrations = [{ version: 1, name: 'notes', sql: 'CREATE TABLE notes (text text)' }]
    const database = openDatabase({
      ...{ address, schema: address.schema, label: 'notes', migrations, clock: systemClock, fence },
    })
    let goOn = () => {}
    const waiting = new Promise<void>((resolve) => {
      goOn = resolve
    })
    let hasBegun = () => {}
    const begun = new Promise<void>((resolve) => {
      hasBegun = resolve
    })
    const writing = database.write(async (transaction) => {
      await transaction.run(INSERT, ['first'])
      hasBegun()
      await waiting
    })
    await begun
    assert.equal(await leases.renew(fence, 1), true)
    await systemClock.sleep(20)
    let isTaken = false
    const taking = take('b').then((taken) => {
      isTaken = true
      return taken
    })
    await systemClock.sleep(200)
    assert.equal(isTaken, false)
    goOn()
    await writing
    assert.equal((await taking)?.term, fence.term + 1)
    await assert.rejects(
      database.write((transaction) => transaction.run(INSERT, ['late'])),
      LeaseLostError,
    )
    assert.deepEqual(await database.rows(COUNT), [{ count: 1 }])
    await database.close()
  } finally {
    await leases.close()
    await place.remove()
  }
})
