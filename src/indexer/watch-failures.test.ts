import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { superviseIndexing } from './supervise-indexing.ts'
import { watchFailures } from './watch-failures.ts'

test('an index that keeps failing is not running until it succeeds again', async (t) => {
  const clock = manualClock(0)
  const { watch, probe } = watchFailures(clock)
  const kept = await superviseIndexing({
    start: async () => ({ ended: new Promise<undefined>(() => {}), probe, close: async () => {} }),
    clock,
    random: () => 0,
    onEnd: () => assert.fail(),
  })
  t.after(() => kept.close())
  const fail = () => assert.rejects(watch(Promise.reject(new Error('block 7'))), /block 7/)
  await fail()
  clock.advance(29_000)
  await fail()
  // Nothing is asked for, so nothing fails.
  clock.advance(60_000)
  assert.equal(kept.state, 'running')
  await fail()
  assert.equal(kept.state, 'restarting')
  assert.throws(kept.probe, /it has been failing for 89 s: block 7/)
  assert.equal(await watch(Promise.resolve(1)), 1)
  assert.equal(kept.state, 'running')
  kept.probe()
})
