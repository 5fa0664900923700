import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPEN_INTEREST_GRID_MS as GRID_MS, OpenInterestSampler } from './sample-open-interest.ts'

const observed = (receivedMs: number, openInterest: string, valueUsd: string | null = '10') => ({
  ...({ kind: 'open_interest', source: 'perpdex', symbol: 'BTC', instrument: 'BTC', key: null } as const),
  ...{ venueTimeMs: receivedMs, receivedMs, openInterest, valueUsd },
})

test('the sample of a grid point is the last observation before it', () => {
  const sampler = new OpenInterestSampler()
  assert.equal(sampler.receive(observed(GRID_MS - 20_000, '1')), undefined)
  assert.equal(sampler.receive(observed(GRID_MS - 10_000, '2')), undefined)
  assert.equal(sampler.hasPassed(GRID_MS), false)
  const sample = { time: GRID_MS, openInterest: '2', openInterestUsd: '10' }
  assert.deepEqual(sampler.receive(observed(GRID_MS + 1_000, '3')), sample)
  assert.deepEqual([sampler.hasPassed(GRID_MS), sampler.pass(GRID_MS + 2_000)], [true, undefined])
})

test('a grid point passes without an observation after it', () => {
  const sampler = new OpenInterestSampler()
  sampler.receive(observed(GRID_MS - 10_000, '1'))
  assert.equal(sampler.pass(GRID_MS - 1), undefined)
  assert.equal(sampler.pass(GRID_MS)?.openInterest, '1')
})

test('an old observation is no sample, and neither is one without a value', () => {
  const sampler = new OpenInterestSampler()
  sampler.receive(observed(GRID_MS - 40_000, '1'))
  sampler.receive(observed(GRID_MS - 10_000, '2', null))
  assert.equal(sampler.pass(GRID_MS), undefined)
  assert.equal(sampler.hasPassed(GRID_MS), true)
})
