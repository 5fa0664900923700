import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCallRate } from './call-rate.ts'
import { DashboardError } from './route.ts'

test('a user calls at most 300 times a second and 1,200 times a minute; others are not concerned', () => {
  let nowMs = 0
  const limitRate = createCallRate(() => nowMs)
  const refused = () => {
    try {
      limitRate('usr_1')
      return undefined
    } catch (error) {
      assert.ok(error instanceof DashboardError && error.status === 429)
      return Number(error.headers[1])
    }
  }
  for (let second = 0; second < 4; second++) {
    nowMs = second * 1_000
    for (let i = 0; i < 300; i++) assert.equal(refused(), undefined)
    assert.ok(Number(refused()) >= 1)
  }
  nowMs = 20_000
  assert.ok(Number(refused()) > 1, 'until the first second is a minute ago')
  limitRate('usr_2')
  nowMs = 61_000
  assert.equal(refused(), undefined)
})
