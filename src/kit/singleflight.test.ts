import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSingleflight } from './singleflight.ts'

test('concurrent callers share one run; a later one runs again, also after a failure', async () => {
  const flights = createSingleflight<number>()
  let runs = 0
  const work = async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return ++runs
  }
  assert.deepEqual(
    await Promise.all([flights.run('a', work), flights.run('a', work), flights.run('b', work)]),
    [1, 1, 2],
  )
  await assert.rejects(flights.run('a', () => Promise.reject(new Error('no'))))
  assert.equal(await flights.run('a', work), 3)
  assert.equal(flights.size, 0)
})
