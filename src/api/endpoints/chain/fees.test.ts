import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiError } from '../../../core/errors.ts'
import { feesEstimate } from './fees.ts'

const BUCKET = { feerate: 100, estimatedSeconds: 0.1 }
const ESTIMATE = { priorityBucket: BUCKET, normalBuckets: [BUCKET], lowBuckets: [] }

async function answerTo(value: unknown) {
  const upstreams = { network: 'mainnet', call: async () => ({ ok: true, node: 'n', value }) }
  return feesEstimate.run({ input: {}, services: { chain: { upstreams } }, dryRun: false } as never)
}

test('an estimate of another shape is an error of the node', async () => {
  assert.equal((await answerTo({ estimate: ESTIMATE })).kind, 'object')
  for (const value of [
    null,
    [],
    {},
    { estimate: null },
    { estimate: { ...ESTIMATE, priorityBucket: null } },
    { estimate: { ...ESTIMATE, normalBuckets: {} } },
    { estimate: { ...ESTIMATE, lowBuckets: [{ feerate: '1', estimatedSeconds: 1 }] } },
  ]) {
    await assert.rejects(answerTo(value), ({ kind }: ApiError) => kind === 'upstream_error')
  }
})
