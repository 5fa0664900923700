import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Recording, startRecording, startWorld } from '../../test/ingest/recording.ts'
import { fastClock } from '../../test/predictions/loopback.ts'
import { until } from '../../test/until.ts'
import { systemClock } from '../kit/clock.ts'
import { createLogger } from '../kit/log.ts'
import type { CoverageStore } from '../store/coverage.ts'
import { noAudits } from './audit/audit.ts'
import type { Recorder, RecorderStatus } from './shared/recorder.ts'
import { supervise } from './supervise.ts'

const log = createLogger({ level: 'silent' })
const coverage = {
  read: async () => ({ complete: true, observed: [], gaps: [] }),
} as unknown as CoverageStore

const status: RecorderStatus = {
  ...{ name: 'toy', source: 'cexa', channels: 1, channelsUp: 1, lastEventMs: null, rowsInserted: 0 },
  ...{ waitingRows: 0, storeFailure: null, backfill: null, counts: {}, audits: noAudits(), feeds: [] },
}

test('a recorder that fails is started again and never stops the others', async () => {
  const started = { failing: 0, steady: 0 }
  const untilStopped = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  const recorder = (name: 'failing' | 'steady', source: Recorder['source']): Recorder => ({
    name,
    source,
    async run(signal) {
      started[name] += 1
      if (name === 'failing' && started.failing < 3) throw new Error('broken')
      await untilStopped(signal)
    },
    status: () => ({ ...status, name, source, lastEventMs: systemClock.now() }),
  })
  const fast = {
    now: systemClock.now,
    sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 50, signal),
  }
  const recorders = [recorder('failing', 'cexa'), recorder('steady', 'perpdex')]
  const supervisor = supervise({ recorders, coverage, random: Math.random, clock: fast, log })
  await until('three starts', () => started.failing === 3)
  assert.equal(started.steady, 1)
  assert.deepEqual(
    supervisor.status().map(({ state }) => state),
    ['healthy', 'healthy'],
  )
  await supervisor.close()
})

/** Generous, because the test runs at 20 times real speed on a machine that it shares with other tests. */
const PATIENCE_MS = 240_000

test('a venue that goes away is down in the status, and healthy when it is back', async () => {
  const world = await startWorld(fastClock(Date.parse('2026-11-10T00:02:10Z'), 20))
  const recording: Recording = await startRecording(world, { venues: ['spot'] })
  const state = () => recording.supervisor.status()[0]?.state
  try {
    await until('healthy', () => state() === 'healthy', PATIENCE_MS)
    const fault = world.sandbox.faults.set({ kind: 'drop', venue: 'spot', durationMs: 3_600_000 })
    await until('down', () => state() === 'down', PATIENCE_MS)
    world.sandbox.faults.clear(fault.id)
    await until('healthy', () => state() === 'healthy', PATIENCE_MS)
  } finally {
    await recording.close()
    await world.close()
  }
})
