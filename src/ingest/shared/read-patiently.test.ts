import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { readPatiently } from './read-patiently.ts'

test('a read that fails is repeated until it succeeds', async () => {
  const clock = manualClock(0)
  const stop = new AbortController()
  const errors: unknown[] = []
  let tries = 0
  const read = readPatiently(
    () => {
      tries += 1
      if (tries < 3) throw new Error('away')
      return tries
    },
    { clock, signal: stop.signal, onError: (error) => errors.push(error) },
  )
  for (let n = 0; n < 4; n++) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(2_000)
  }
  assert.equal(await read, 3)
  assert.equal(errors.length, 2)
})

test('it ends with the run', async () => {
  const stop = new AbortController()
  const read = readPatiently(() => Promise.reject(new Error('away')), {
    ...{ clock: manualClock(0), signal: stop.signal },
  })
  await new Promise((resolve) => setImmediate(resolve))
  stop.abort()
  await assert.rejects(read)
})
