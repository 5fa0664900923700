import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { postgresPlace, postgresRows, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { systemClock } from '../../kit/clock.ts'
import { parsePostgresAddress } from './address.ts'
import { statement } from './database.ts'
import { openPostgresJobs } from './jobs.ts'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'
import { openDatabase, schemaOf } from './open-database.ts'

const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
const CLAIM_ALL = statement('claim_all', 'UPDATE jobs SET due_at = now_ms() + 25000, claim = 99')
const INSERT = statement(
  'insert',
  `INSERT INTO job_history (subscription_id, number, seq, event_id, kind, state, attempts, last_attempt_at, created_at)
   VALUES ('wh_a', $1, $1, 'evt', 'block_added', 'delivered', 1, $2, 1)`,
)

test('the history of an older release is kept, and months that have expired are dropped', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace({ distribute: false })
  const address = parsePostgresAddress(place.address, 16)
  const schema = schemaOf(address, 'test')
  const open = (migrations: typeof JOBS_MIGRATIONS) =>
    openDatabase({ address, schema, label: 'jobs', migrations, clock: systemClock })
  const clock = manualClock(Date.now())
  const before = open(JOBS_MIGRATIONS.slice(0, 1))
  await before.run(INSERT, [1, clock.now() - DAY_MS])
  await before.close()
  const jobs = openPostgresJobs({ address, environment: 'test', clock })
  const after = open(JOBS_MIGRATIONS)
  const owned = { accountId: 'a', keyId: 'k', url: 'https://example.com/', secret: 's', createdAtMs: 1 }
  await jobs.createSubscription({ ...owned, id: 'wh_a', kinds: [], addresses: [], batch: false }, 1)
  const parts = async () =>
    (
      await postgresRows(
        `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = to_regclass($1) ORDER BY c.relname`,
        [`${schema}.job_history`],
      )
    ).map(({ name }) => String(name))
  const numbers = async () =>
    (await jobs.deliveries({ subscriptionId: 'wh_a', limit: 10 })).map(({ seq }) => seq)
  try {
    assert.deepEqual(await numbers(), [1])
    assert.equal(await jobs.prune(WEEK_MS), 0)
    const first = await parts()
    // The current month belongs to the part that existed before.
    assert.equal(first.length, 4, first.join())
    assert.ok(first.includes('job_history_first') && first.includes('job_history_other'))

    const [year = 0, month = 0] = [
      new Date(clock.now()).getUTCFullYear(),
      new Date(clock.now()).getUTCMonth(),
    ]
    const later = Date.UTC(year, month + 1, 15)
    await after.run(INSERT, [2, later])
    assert.deepEqual(await numbers(), [2, 1])
    const [inMonth] = await postgresRows(
      `SELECT tableoid::regclass::text AS part FROM ${schema}.job_history WHERE number = 2`,
      [],
    )
    assert.match(String(inMonth?.part), /job_history_y\d{4}m\d\d$/)

    clock.set(later + DAY_MS)
    await jobs.prune(WEEK_MS)
    assert.deepEqual(await numbers(), [2], 'the first part has expired as a whole')
    assert.ok(!(await parts()).includes('job_history_first'))
    clock.set(Date.UTC(year, month + 3, 15))
    await jobs.prune(WEEK_MS)
    assert.deepEqual(await numbers(), [])
    assert.equal((await parts()).length, 4, (await parts()).join())
    // A row dated by a wrong clock is kept, and deleted in time.
    await after.run(INSERT, [3, Date.UTC(year + 9, 0)])
    assert.deepEqual(await numbers(), [3])
    clock.set(Date.UTC(year + 9, 1))
    assert.equal(await jobs.prune(WEEK_MS), 1)
    assert.deepEqual(await numbers(), [])
  } finally {
    await after.close()
    await jobs.close()
    await place.remove()
  }
})

test('an old job that a worker claims at the moment it would expire is left to the worker', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace({ distribute: false })
  const address = parsePostgresAddress(place.address, 16)
  const clock = manualClock(Date.now())
  const jobs = openPostgresJobs({ address, environment: 'test', clock })
  const owned = { accountId: 'a', keyId: 'k', url: 'https://example.com/', secret: 's', createdAtMs: 1 }
  await jobs.createSubscription({ ...owned, id: 'wh_a', kinds: [], addresses: [], batch: false }, 1)
  await jobs.startAt({ id: 'log', newestSeq: 0 }, await jobs.position())
  const event = { seq: 1, id: 'evt_1', kind: 'block_added', text: '{}' }
  await jobs.plan({ after: 0, upTo: 1, events: [event], jobs: [{ subscriptionId: 'wh_a', seq: 1 }] })
  clock.set(clock.now() + WEEK_MS + 60_000)
  const schema = schemaOf(address, 'test')
  const worker = openDatabase({ address, schema, label: 'jobs', migrations: JOBS_MIGRATIONS, clock })
  try {
    let pruning: Promise<number> | undefined
    await worker.write(async (tx) => {
      await tx.run(CLAIM_ALL)
      pruning = jobs.prune(WEEK_MS)
      // Pruning either goes on or waits for this claim.
      await Promise.race([pruning, sleep(500)])
    })
    await pruning
    const [row] = await jobs.deliveries({ subscriptionId: 'wh_a', limit: 1 })
    assert.equal(row?.state, 'pending')
  } finally {
    await worker.close()
    await jobs.close()
    await place.remove()
  }
})
