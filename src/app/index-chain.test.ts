import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { STARTING_MS } from '../api/endpoints/account/service-status.ts'
import { loadConfig } from '../config/config.ts'
import { createLogger } from '../kit/log.ts'
import { createMetrics } from '../kit/metrics.ts'
import { createShutdown } from '../kit/shutdown.ts'
import { openStores, parseStoreAddress } from '../store/open-stores.ts'
import { startIndexedChain } from './index-chain.ts'
import { sharedReports } from './part-reports.ts'
import type { ReadinessProbe } from './parts.ts'

const log = createLogger({ level: 'silent' })
const STATE = { state: 'running', restarts: 2 } as const

/** What a process that only answers callers knows of the index, and another process that indexes. */
async function apiProcess(nodes: string) {
  const clock = manualClock(1_000_000)
  const stores = openStores(parseStoreAddress(':memory:'), clock)
  const store = stores.coordination()
  const other = sharedReports(store, { clock, log })
  const reports = sharedReports(store, { clock, log })
  const probes: ReadinessProbe[] = []
  const shutdown = createShutdown(clock)
  const { config } = loadConfig({ TAPELINE_TEST: 'off', TAPELINE_LIVE: 'cexa', TAPELINE_NODES: nodes })
  const parts = {
    ...{ environment: 'live' as const, config, stores, reports, probes, clock, log, tracing: undefined },
    leadership: { leases: stores.leases(), holder: 'api', clock, log },
    does: (role: string) => role === 'api',
    limits: { rates: undefined, processes: undefined } as never,
    metrics: createMetrics({ defaults: false }),
    shutdown,
  }
  const upstreams = { network: config.network, nodes: () => config.nodes } as never
  const index = await startIndexedChain(parts, upstreams, 0)
  return {
    other,
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 1_000) {
        clock.advance(1_000)
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
    },
    async shown() {
      const { state, restarts } = await index.indexing()
      return { state, restarts }
    },
    problem: () =>
      probes
        .find(({ name }) => name === 'live indexer')
        ?.check()
        .then(
          () => undefined,
          (error: Error) => error.message,
        ),
    async close() {
      await shutdown.run(1_000)
      await other.close()
      await reports.close()
      await store.close()
    },
  }
}

test('an index that no process keeps up does not work, and is not the same as none', async () => {
  const { other, pass, shown, problem, close } = await apiProcess('ws://node.example')
  await pass(STARTING_MS)
  assert.deepEqual([await shown(), await problem()], [{ state: 'off', restarts: 0 }, undefined])
  await pass(1_000)
  assert.deepEqual(
    [await shown(), await problem()],
    [{ state: 'restarting', restarts: 0 }, 'no process indexes'],
  )
  const withdraw = other.add('index/live', () => ({ report: STATE, problem: null }))
  await pass(2_000)
  assert.deepEqual([await shown(), await problem()], [STATE, undefined])
  await withdraw()
  await pass(1_000)
  assert.equal(await problem(), undefined, 'its leader may change')
  await pass(20_000)
  assert.deepEqual(
    [await shown(), await problem()],
    [{ state: 'restarting', restarts: 0 }, 'no process indexes'],
  )
  await close()
})

test('an indexer that changes is no absence, also for whoever asks for the first time in a while', async () => {
  const { other, pass, shown, problem, close } = await apiProcess('ws://node.example')
  const withdraw = other.add('index/live', () => ({ report: STATE, problem: null }))
  await pass(STARTING_MS + 60_000)
  await withdraw()
  await pass(2_000)
  assert.deepEqual([await shown(), await problem()], [{ state: 'off', restarts: 0 }, undefined])
  await pass(25_000)
  assert.equal(await problem(), 'no process indexes')
  await close()
})

test('an indexer that was killed is forgotten once there are no nodes to index any more', async () => {
  const { other, pass, shown, problem, close } = await apiProcess('off')
  other.add('index/live', () => ({ report: STATE, problem: null }))
  await pass(2_000)
  await other.close()
  await pass(STARTING_MS)
  assert.deepEqual([await shown(), await problem()], [{ state: 'off', restarts: 0 }, undefined])
  await close()
})
