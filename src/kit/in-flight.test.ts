import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InFlight } from './in-flight.ts'

test('each owner is counted apart, until its release and not beyond', () => {
  const inFlight = new InFlight<string>()
  const first = inFlight.add('a')
  const second = inFlight.add('a', 3)
  inFlight.add('b')
  assert.deepEqual([inFlight.of('a'), inFlight.of('b'), inFlight.of('c')], [4, 1, 0])
  first()
  first()
  assert.equal(inFlight.of('a'), 3)
  second()
  assert.deepEqual([inFlight.of('a'), inFlight.of('b')], [0, 1])
})
