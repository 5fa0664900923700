import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { createAnswerCache } from './answer-cache.ts'
import type { CallOutcome } from './call-outcome.ts'
import { ValidCall } from './validate-params.ts'

const ANSWER: CallOutcome = { ok: true, node: 'a', bytes: Buffer.from('{}'), attempts: 1, inDoubt: false }

test('an answer expires after its time, even if the system clock is set back', async () => {
  const manual = manualClock(0)
  let setMs = 0
  const clock = { ...manual, now: () => manual.now() + setMs, elapsed: () => manual.now() }
  const cache = createAnswerCache(clock)
  const checked = ValidCall.check('getFeeEstimate', {}, 'mainnet')
  assert.ok(checked.ok)
  const { call } = checked
  await cache.fetch(call, async () => ANSWER)
  setMs = -3_600_000
  manual.advance(call.method.cacheMs - 1)
  assert.ok(cache.cached(call)?.ok)
  manual.advance(1)
  assert.equal(cache.cached(call), undefined)
})
