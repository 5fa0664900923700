import assert from 'node:assert/strict'
import type { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { parsePostgresAddress } from './address.ts'
import { connect } from './connection.ts'
import { statement } from './database.ts'

const PARTS = statement(
  'parts',
  'SELECT 12 / $1::int8 AS part, $2::bytea AS bytes, NULL::text AS nothing, now() > now() AS never',
)

test('the columns of a statement are described once per connection, and every answer has their types', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace()
  const connection = await connect(parsePostgresAddress(place.address, 2), ['public'])
  try {
    let descriptions = 0
    const { connection: wire } = connection.client as unknown as { connection: EventEmitter }
    wire.on('rowDescription', () => void descriptions++)
    const ask = async (by: number) => (await connection.ask(PARTS, [by, Buffer.from([by])])).rows
    const row = (by: number) => [{ part: 12 / by, bytes: Buffer.from([by]), nothing: null, never: false }]
    // The second is sent before the first is described.
    assert.deepEqual(await Promise.all([ask(1), ask(2)]), [row(1), row(2)])
    assert.equal(descriptions, 2)
    assert.deepEqual(await Promise.all([ask(3), ask(4)]), [row(3), row(4)])
    await assert.rejects(ask(0), /division by zero/)
    assert.deepEqual(await ask(6), row(6))
    assert.equal(descriptions, 2)
    // A statement that returns no rows.
    const { rowCount } = await connection.ask(statement('none', 'SELECT 1 AS one WHERE false'))
    assert.equal(rowCount, 0)
  } finally {
    await connection.client.end()
    await place.remove()
  }
})
