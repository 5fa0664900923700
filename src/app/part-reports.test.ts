import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { createLogger } from '../kit/log.ts'
import type { Heartbeats } from '../store/heartbeats.ts'
import { openStores, parseStoreAddress } from '../store/open-stores.ts'
import { sharedReports } from './part-reports.ts'

const log = createLogger({ level: 'silent' })
const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('what a part reports in one process is found in all, until it is withdrawn or has been silent for 20 s', async () => {
  const clock = manualClock(1_000_000)
  const store = openStores(parseStoreAddress(':memory:'), clock).coordination()
  let isCut = false
  const cuttable: Heartbeats = {
    putHeartbeat: async (heartbeat) =>
      isCut ? Promise.reject(new Error('cut')) : store.putHeartbeat(heartbeat),
    listHeartbeats: () => store.listHeartbeats(),
    removeHeartbeat: (part) => store.removeHeartbeat(part),
  }
  const a = sharedReports(cuttable, { clock, log })
  const b = sharedReports(store, { clock, log })
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000)
      await turns()
    }
  }
  let rows = 1
  const withdraw = a.add('record:cexa/live', () => ({
    report: { rows },
    problem: rows > 1 ? 'too many' : null,
  }))
  a.add('index/live', () => ({ report: {}, problem: null }))
  await pass(2)
  const found = () => b.find<{ rows: number }>((part) => part.startsWith('record:'))
  assert.deepEqual(found(), [
    { part: 'record:cexa/live', report: { rows: 1 }, problem: null, isSilent: false },
  ])
  rows = 2
  assert.equal(
    a.find((part) => part === 'record:cexa/live')[0]?.problem,
    'too many',
    'its own process knows at once',
  )
  assert.equal(found()[0]?.problem, null)
  await pass(2)
  assert.equal(found()[0]?.problem, 'too many')
  isCut = true
  await pass(19)
  assert.equal(found()[0]?.isSilent, false)
  await pass(3)
  assert.deepEqual(
    found().map(({ isSilent, problem }) => [isSilent, problem]),
    [[true, 'record:cexa/live has not reported for 22 s']],
  )
  isCut = false
  await pass(1)
  await withdraw()
  await pass(1)
  assert.deepEqual(found(), [])
  assert.equal(b.find((part) => part === 'index/live').length, 1)
  await a.close()
  await b.close()
  await store.close()
})
