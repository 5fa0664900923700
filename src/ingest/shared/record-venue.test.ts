import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import { recordVenue } from './record-venue.ts'

test('a recorder that cannot begin leaves nothing behind, however often it is started', async (t) => {
  const clock = manualClock(Date.parse('2026-11-16T05:00:00Z'))
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const recorder = recordVenue(
    {
      venue: VENUES['binance-spot'].create({ clock }),
      store,
      clock,
      random: Math.random,
      log: createLogger({ level: 'silent' }),
    },
    {
      channels: [],
      feeds: [],
      hasSnapshots: false,
      open: () => Promise.reject(new Error('the store cannot be read')),
    },
  )
  for (let attempt = 0; attempt < 3; attempt++)
    await assert.rejects(recorder.run(new AbortController().signal), /cannot be read/)
  await new Promise(setImmediate)
  assert.equal(clock.sleepers, 0, 'no loop of a writer is left')
})
