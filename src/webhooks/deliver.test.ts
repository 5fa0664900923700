import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job } from '../store/jobs.ts'
import { deliveryBody } from './deliver.ts'

const job = (n: number) =>
  ({ id: `dlv_0a_${n}`, event: { kind: 'block_added', text: '{}' } }) as unknown as Job

test('a batch keeps its id as long as it has the same events', () => {
  const idOf = (...numbers: number[]) => deliveryBody(numbers.map(job), true).id
  assert.equal(idOf(1), 'dlv_0a_1')
  assert.match(idOf(1, 2), /^dlv_0a_1_[0-9a-f]{32}$/)
  assert.equal(idOf(2, 1), idOf(1, 2))
  assert.equal(new Set([idOf(1), idOf(1, 2), idOf(1, 3), idOf(1, 2, 3)]).size, 4)
})
