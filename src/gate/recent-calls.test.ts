import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import type { Credential } from '../accounts/key-ring.ts'
import { ApiError } from '../core/errors.ts'
import { createRecentCalls, SLOW_MS } from './recent-calls.ts'
import type { GateRequest } from './request.ts'

const DAY = 86_400_000
const who = (accountId: string) => ({ accountId, keyId: 'key_1', environment: 'test' }) as Credential
const asked = (path: string, search = '') => ({ id: 'req_1', method: 'GET', path, search }) as GateRequest
const error = new ApiError('invalid_param', 'x'.repeat(10_000))

test('the slowest calls of a day are kept, fast ones and older ones are not', () => {
  const clock = manualClock(DAY)
  const calls = createRecentCalls(clock)
  for (const durationMs of [SLOW_MS - 0.1, 40, 10, 30, ...Array.from({ length: 50 }, () => 7)]) {
    calls.finished(asked(`/${durationMs}`), who('acc_1'), durationMs)
  }
  const slowest = () => calls.of('acc_1').slowest.map(({ durationMs }) => durationMs)
  assert.deepEqual(slowest(), [40, 30, 10, 7, 7, 7, 7, 7, 7, 7])
  clock.advance(DAY)
  assert.deepEqual(slowest(), [])
  calls.finished(asked('/new'), who('acc_1'), 6)
  assert.deepEqual(slowest(), [6])
})

test('errors are bounded per account and in length, accounts in number; a key in a query is never kept', () => {
  const clock = manualClock(DAY)
  const calls = createRecentCalls(clock)
  for (let i = 0; i < 100; i++) calls.failed(asked(`/${i}`), who('acc_1'), error)
  const { failed } = calls.of('acc_1')
  assert.equal(failed.length, 30)
  assert.deepEqual([failed[0]?.target, failed[0]?.message.length], ['/99', 300])
  calls.failed(
    asked('/v1/x', 'a=1&api-key=secret&api%2Dkey=secret&api_key=%ZZsecret&b=2'),
    who('acc_1'),
    error,
  )
  assert.equal(calls.of('acc_1').failed[0]?.target, '/v1/x?a=1&b=2')
  for (let i = 0; i < 3_000; i++) calls.failed(asked('/'), who(`acc_${i + 10}`), error)
  const known = Array.from({ length: 3_010 }, (_, i) => calls.of(`acc_${i}`).failed.length > 0)
  assert.ok(known.filter(Boolean).length <= 1_000)
})
