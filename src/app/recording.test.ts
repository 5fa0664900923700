import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManualClock, manualClock } from '../../test/fakes/manual-clock.ts'
import { STARTING_MS } from '../api/endpoints/account/service-status.ts'
import { loadConfig } from '../config/config.ts'
import type { ProcessRole } from '../config/service.ts'
import { createLogger } from '../kit/log.ts'
import { createMetrics } from '../kit/metrics.ts'
import { createShutdown } from '../kit/shutdown.ts'
import type { LeaseStore } from '../store/leases.ts'
import { openStores, parseStoreAddress } from '../store/open-stores.ts'
import { type PartReports, sharedReports } from './part-reports.ts'
import type { ReadinessProbe } from './parts.ts'
import { prepareRecording } from './recording.ts'

const log = createLogger({ level: 'silent' })

async function pass(clock: ManualClock, ms: number) {
  for (let left = ms; left > 0; left -= 1_000) {
    clock.advance(1_000)
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

interface ProcessOptions {
  readonly role: ProcessRole
  readonly leases?: LeaseStore
}

/** What a process knows of the recording of `live`, and another process that records. */
function processOn(live: string, { role, leases }: ProcessOptions = { role: 'api' }) {
  const clock = manualClock(1_000_000)
  const stores = openStores(parseStoreAddress(':memory:'), clock)
  const store = stores.coordination()
  const other = sharedReports(store, { clock, log })
  const reports = sharedReports(store, { clock, log })
  const probes: ReadinessProbe[] = []
  const shutdown = createShutdown(clock)
  const { config } = loadConfig({ TAPELINE_TEST: 'off', TAPELINE_LIVE: live })
  const recording = prepareRecording({
    ...{ environment: 'live', config, stores, reports, probes, clock, log, tracing: undefined },
    leadership: { leases: leases ?? stores.leases(), holder: 'this process', clock, log },
    does: (asked) => asked === role,
    limits: { rates: undefined, processes: undefined } as never,
    metrics: createMetrics({ defaults: false }),
    shutdown,
  })
  return {
    ...{ clock, other, shutdown, recording },
    statuses: () => recording.ingestion().map(({ source, status }) => [source, status]),
    problem: () => problemOf(probes),
    async close() {
      await other.close()
      await reports.close()
      await store.close()
    },
  }
}

async function problemOf([probe]: readonly ReadinessProbe[]): Promise<string | undefined> {
  return probe?.check().then(
    () => undefined,
    (error: Error) => error.message,
  )
}

function records(process: PartReports, source: string) {
  const row = {
    ...{ source, status: 'healthy', last_event_at: null, lag_seconds: null, rows_inserted: 1, gaps_24h: 0 },
    ...{ backfill: null, audit: { checked: 0, differences: 0 }, notice: null },
  }
  return process.add(`record:${source}/live`, () => ({ report: [row], problem: null }))
}

test('a source that no process records is down, although the others are recorded', async () => {
  const { clock, other, statuses, problem, close } = processOn('cexa,perpdex')
  records(other, 'cexa')
  const withdraw = records(other, 'perpdex')
  await pass(clock, STARTING_MS + 2_000)
  assert.deepEqual(statuses(), [
    ['cexa', 'healthy'],
    ['perpdex', 'healthy'],
  ])
  assert.equal(await problem(), undefined)
  await withdraw()
  await pass(clock, 1_000)
  assert.deepEqual([statuses(), await problem()], [[['cexa', 'healthy']], undefined], 'its leader may change')
  await pass(clock, 20_000)
  assert.deepEqual(statuses(), [
    ['cexa', 'healthy'],
    ['perpdex', 'down'],
  ])
  assert.equal(await problem(), 'no process records perpdex')
  await close()
})

test('a leader that changes is no absence, also for whoever asks for the first time in a while', async () => {
  const { clock, other, statuses, problem, shutdown, close } = processOn('cexa')
  const withdraw = records(other, 'cexa')
  await pass(clock, STARTING_MS + 60_000)
  await withdraw()
  await pass(clock, 2_000)
  assert.deepEqual([statuses(), await problem()], [[], undefined])
  await pass(clock, 25_000)
  assert.deepEqual([statuses(), await problem()], [[['cexa', 'down']], 'no process records cexa'])
  await shutdown.run(1_000)
  await close()
})

test('sources have time to be recorded after the start of a process', async () => {
  const { clock, statuses, problem, close } = processOn('cexa')
  await pass(clock, STARTING_MS)
  assert.deepEqual(statuses(), [])
  assert.equal(await problem(), undefined)
  await pass(clock, 1_000)
  assert.deepEqual(statuses(), [['cexa', 'down']])
  assert.equal(await problem(), 'no process records cexa')
  await close()
})

test('a recorder that was killed is forgotten once its source is not to be recorded any more', async () => {
  const { clock, other, statuses, problem, close } = processOn('cexa')
  records(other, 'cexa')
  records(other, 'perpdex')
  await pass(clock, 2_000)
  await other.close()
  await pass(clock, STARTING_MS)
  assert.deepEqual(statuses(), [['cexa', 'down']])
  assert.match((await problem()) ?? '', /^record:cexa\/live has not reported for \d+ s$/)
  await close()
})

test('recorders stop at the same time, so that one that hangs takes no time from the others', async () => {
  const hanging = Promise.withResolvers<undefined>()
  const asked = { 'record:cexa/live': 0, 'record:perpdex/live': 0 }
  const leases: LeaseStore = {
    async take({ part }) {
      asked[part as keyof typeof asked]++
      return part === 'record:cexa/live' ? hanging.promise : undefined
    },
    renew: async () => true,
    release: async () => {},
    list: async () => [],
    close: async () => {},
  }
  const { clock, recording, shutdown, close } = processOn('cexa,perpdex', { role: 'record', leases })
  recording.begin()
  await pass(clock, 3_000)
  assert.ok(asked['record:perpdex/live'] > 1, 'it stands by')
  const stopping = shutdown.run(10_000)
  await pass(clock, 1_000)
  const before = asked['record:perpdex/live']
  await pass(clock, 5_000)
  assert.equal(asked['record:perpdex/live'], before)
  hanging.resolve(undefined)
  assert.deepEqual(await stopping, { clean: true, failures: [] })
  await close()
})
