import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startCluster, withoutPrograms } from '../../../test/postgres/cluster.ts'
import { openNotes } from '../../../test/postgres/notes.ts'
import { isDistributed, postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { systemClock } from '../../kit/clock.ts'
import { parsePostgresAddress } from './address.ts'
import { statement } from './database.ts'
import { openDatabase } from './open-database.ts'

const skip = withoutPostgres
const INSERT = statement('insert', 'INSERT INTO notes VALUES ($1)')
const LOCK = statement('lock', 'SELECT 1 FROM notes WHERE text = $1 FOR UPDATE')

async function withNotes(run: (notes: ReturnType<typeof openNotes>) => Promise<void>): Promise<void> {
  const place = postgresPlace()
  const notes = openNotes(place.address)
  try {
    await run(notes)
  } finally {
    await notes.close()
    await place.remove()
  }
}

test('a commit that the server answers with a rollback is a failure', { skip }, () =>
  withNotes(async (notes) => {
    await notes.put('a')
    const writing = notes.database.write(async (tx) => {
      await tx.run(INSERT, ['b'])
      // Ignoring a failure does not turn it into a success.
      await tx.run(INSERT, ['a']).catch(() => {})
    })
    await assert.rejects(writing, /duplicate key/)
    assert.deepEqual(await notes.all(), ['a'])
    await notes.put('c')
  }),
)

test('a reader may rest in its transaction for longer than a writer', { skip }, () =>
  withNotes(async ({ database }) => {
    const show = statement(
      'idle_limit',
      `SELECT current_setting('idle_in_transaction_session_timeout') AS idle`,
    )
    const isolation = statement('isolation', `SELECT current_setting('transaction_isolation') AS level`)
    assert.deepEqual(await database.snapshot((tx) => Promise.all([tx.rows(show), tx.rows(isolation)])), [
      [{ idle: '30s' }],
      // A snapshot would cover only one of several servers.
      [{ level: isDistributed ? 'read committed' : 'repeatable read' }],
    ])
    assert.deepEqual(await database.write((tx) => tx.rows(show)), [{ idle: '4s' }])
  }),
)

test('of two writes that wait for each other one is unavailable and can be repeated', { skip }, () =>
  withNotes(async (notes) => {
    await notes.put('a')
    await notes.put('b')
    let arrived = 0
    let meet = () => {}
    const both = new Promise<void>((resolve) => {
      meet = resolve
    })
    const lock = (first: string, second: string) =>
      notes.database.write(async (tx) => {
        await tx.rows(LOCK, [first])
        if (++arrived === 2) meet()
        await both
        await tx.rows(LOCK, [second])
      })
    const outcomes = await Promise.allSettled([lock('a', 'b'), lock('b', 'a')])
    const [failed, ...others] = outcomes.filter(({ status }) => status === 'rejected')
    assert.equal(others.length, 0)
    const { reason } = failed as PromiseRejectedResult
    assert.ok(reason instanceof StoreUnavailableError && !reason.mayBeDone, String(reason))
  }),
)

test('tables are created although that takes longer than a statement of the service may', {
  skip: withoutPrograms,
}, async () => {
  // A separate server, because on the shared one the processes of all tests would wait for the lock.
  const cluster = await startCluster()
  const address = parsePostgresAddress(`${cluster.address}?statement_timeout=1`, 8)
  // Longer than the server's limit for a statement and than the driver waits for its answer.
  const sql = 'SELECT pg_sleep(4); CREATE TABLE slow (text text)'
  const open = () =>
    openDatabase({
      ...{ address, schema: address.schema, label: 'slow', clock: systemClock },
      migrations: [{ version: 1, name: 'slow', sql }],
    })
  const [first, second] = [open(), open()]
  const count = statement('count_slow', 'SELECT count(*) AS count FROM slow')
  try {
    // The second waits for the lock of the first.
    const [a, b] = await Promise.all([first.rows(count), delay(100).then(() => second.rows(count))])
    assert.deepEqual([a, b], [[{ count: 0 }], [{ count: 0 }]])
  } finally {
    await Promise.all([first.close(), second.close()])
    await cluster.stop()
  }
})
