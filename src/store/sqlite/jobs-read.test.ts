import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobReaders } from './jobs-read.ts'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'

test('counting pending deliveries rests after each webhook and each five thousand, and counts every one once', () => {
  const database = openDatabase({ file: ':memory:' })
  migrate(database, 'jobs', JOBS_MIGRATIONS)
  const insert = database.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
     INSERT INTO jobs (subscription_id, payload, created_at, due_at) SELECT ?1, 1, 1000 + i, 0 FROM n`,
  )
  const { countPending } = jobReaders(database)
  const counted = () => {
    const work = countPending()
    for (let rests = 0; ; rests++) {
      const next = work.next()
      if (next.done) return { ...next.value, rests }
    }
  }
  assert.deepEqual(counted(), { count: 0, oldestAtMs: null, rests: 0 })
  for (const [id, count] of [
    ['wh_b', 9_999],
    ['wh_a', 1],
    ['wh_c', 25_001],
  ] as const)
    insert.run(id, count)
  assert.deepEqual(counted(), { count: 35_001, oldestAtMs: 1_001, rests: 9 })
  database.exec('DELETE FROM jobs WHERE number > 10000')
  assert.deepEqual(counted(), { count: 10_000, oldestAtMs: 1_001, rests: 3 })
  database.close()
})
