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

test('a thread that had no turn has not waited: a connection whose answer lies unread is not busy', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace()
  const connections = openConnections({ ...parsePostgresAddress(place.address, 16), poolSize: 1 }, ['public'])
  try {
    const first = await connections.take(60_000)
    const answered = first.client
      .query('SELECT pg_sleep(0.1)')
      .then(() => connections.giveBack(first, 'good'))
    const second = connections.take(300)
    // Waits until the query is sent, so that the server works on it while the thread is blocked.
    await new Promise((resolve) => setTimeout(resolve, 20))
    await new Promise((resolve) => setImmediate(resolve))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
    assert.equal(await second, first)
    await answered
    connections.giveBack(first, 'good')
  } finally {
    await connections.close()
    await place.remove()
  }
})
