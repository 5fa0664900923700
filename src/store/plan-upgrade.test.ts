import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOf } from './plan-upgrade.ts'

const BYTES = 1e9

function planOfStep(sql: string) {
  const migrations = [
    { version: 1, name: 'first', sql: '' },
    { version: 2, name: 'second', sql },
  ]
  const { seconds, rewritesRows } = planOf('x', { found: 1, bytes: BYTES, migrations })
  return { seconds, rewritesRows }
}

test('a step that reads stored rows takes as long as there are rows', () => {
  const short = { seconds: 1, rewritesRows: false }
  assert.deepEqual(planOfStep('CREATE TABLE a (x); CREATE INDEX a_by_x ON a (x);'), short)
  assert.deepEqual(planOfStep('ALTER TABLE a ADD COLUMN y'), short)
  const read = { seconds: 100, rewritesRows: false }
  assert.deepEqual(planOfStep('CREATE INDEX jobs_by_number ON jobs (number)'), read)
  assert.deepEqual(planOfStep('CREATE TABLE a (x); CREATE UNIQUE INDEX ON ab(x)'), read)
  assert.deepEqual(planOfStep('UPDATE a SET x = 1'), { seconds: 100, rewritesRows: true })
})
