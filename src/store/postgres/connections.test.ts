import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { parsePostgresAddress } from './address.ts'
import { openConnections } from './connections.ts'

test('a call waits for a connection for as long as it may, each for itself', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace()
  const connections = openConnections({ ...parsePostgresAddress(place.address, 16), poolSize: 2 }, ['public'])
  try {
    const [first, second] = await Promise.all([connections.take(60_000), connections.take(60_000)])
    const patient = connections.take(60_000)
    await assert.rejects(connections.take(20), /All connections to PostgreSQL are busy/)
    connections.giveBack(first, 'good')
    assert.equal(await patient, first)
    connections.giveBack(first, 'good')
    connections.giveBack(second, 'good')
  } finally {
    await connections.close()
    await place.remove()
  }
})
