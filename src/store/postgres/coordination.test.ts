import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { systemClock } from '../../kit/clock.ts'
import { parsePostgresAddress } from './address.ts'
import { openPostgresCoordination } from './coordination.ts'
import { COORDINATION_MIGRATIONS } from './coordination-schema.ts'
import { statement } from './database.ts'
import { openDatabase } from './open-database.ts'

const EXCHANGES = 10
const PLANS = statement(
  'test_plans',
  `SELECT pg_backend_pid() AS pid, custom_plans AS custom, generic_plans AS generic FROM pg_prepared_statements
    WHERE name = 'count_exchange'`,
)

test('postgres: the server plans an exchange of counts once for each connection', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace()
  const address = { ...parsePostgresAddress(place.address, 16), poolSize: 2 }
  const options = { address, clock: systemClock }
  const coordination = openPostgresCoordination(options)
  const database = openDatabase({
    ...options,
    ...{ schema: address.schema, label: 'coordination', migrations: COORDINATION_MIGRATIONS },
  })
  try {
    const counts = [{ name: 'rate', windowStartMs: 0, count: 1, validMs: 60_000 }]
    for (let i = 0; i < EXCHANGES; i++) await coordination.exchangeCounts({ holder: 'one', counts })
    // Both connections, since either may have been used; one of them may answer several of these.
    const found = await Promise.all(
      Array.from({ length: 8 }, () => database.rows<{ pid: number; custom: number; generic: number }>(PLANS)),
    )
    const byConnection = new Map(found.flat().map((plans) => [plans.pid, plans]))
    const sum = (of: 'custom' | 'generic') =>
      byConnection.values().reduce((total, plans) => total + plans[of], 0)
    assert.deepEqual([sum('custom'), sum('generic')], [0, EXCHANGES])
  } finally {
    await Promise.all([coordination.close(), database.close()])
    await place.remove()
  }
})
