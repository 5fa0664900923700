import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { createLogger } from '../../kit/log.ts'
import type { Venue } from '../../venues/venue.ts'
import type { LiveRecorder } from './live-recorder.ts'
import { runLive } from './run-live.ts'
import { createCoverageTracker } from './track-coverage.ts'
import type { RowWriter } from './write-rows.ts'

test('while the store fails nothing is put, and what is received is judged', async () => {
  const clock = manualClock(0)
  const stop = new AbortController()
  const calls: string[] = []
  const called = (name: string) => () => void calls.push(name)
  const recorder: LiveRecorder = {
    ...{ observe() {}, gap() {}, begins() {}, close: async () => {} },
    ...{ show: called('show'), sample: called('sample'), judge: called('judge') },
  }
  let failure: string | null = 'the disk is full'
  const writer = { stats: () => ({ failure }), ready: async () => {} } as unknown as RowWriter
  const session = {
    async *batches() {},
    stats: () => ({ queued: 0, sockets: 0, routes: 0 }),
    close: async () => {},
  }
  const live = runLive({
    venue: { describe: { name: 'kalshi', live: {} }, live: () => session } as unknown as Venue,
    ...{ channels: [], hasSnapshots: true, recorders: new Map([['BTC', recorder] as const]), writer, clock },
    tracker: createCoverageTracker({ feeds: [], coverage: { read: async () => assert.fail() }, writer }),
    ...{ log: createLogger({ level: 'silent' }), signal: stop.signal },
  })
  const pass = async () => {
    clock.advance(500)
    await new Promise(setImmediate)
    return calls.splice(0)
  }
  assert.deepEqual([...(await pass()), ...(await pass())], ['judge', 'judge'])
  failure = null
  assert.deepEqual(await pass(), ['sample', 'judge'])
  stop.abort()
  await live.close()
})
