import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateWindow } from '../accounts/rate-window.ts'
import type { ApiError } from '../core/errors.ts'
import { limitRate } from './limit-rate.ts'

test('a batch above the rate is refused and counts as one request, once', () => {
  const rate = new RateWindow({ perSecond: 3, perMinute: 100 })
  const send = (counted: number) =>
    assert.throws(() => limitRate(rate, 1_000, 'rate_limited', 4, counted), /Send at most 3 in a batch/)
  send(0)
  assert.equal(rate.state(1_000).remaining, 2)
  send(1)
  assert.equal(rate.state(1_000).remaining, 2, 'it was counted before')
  send(0)
  send(0)
  assert.throws(() => limitRate(rate, 1_000, 'rate_limited'), /The rate of 3 requests per second/)
})

test('a refused batch above the rate names the time after which one of the largest size passes', () => {
  const rate = new RateWindow({ perSecond: 3, perMinute: 100 })
  assert.throws(
    () => limitRate(rate, 1_000, 'rate_limited', 4),
    (error: ApiError) => {
      assert.equal(error.detail.retry_after, 1)
      assert.deepEqual(error.headers, [['Retry-After', '1']])
      return true
    },
  )
  limitRate(rate, 2_000, 'rate_limited', 3)
})
