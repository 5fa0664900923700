/** How soon an event that one process writes to the log on PostgreSQL is at a stream client of another one. */
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../src/kit/clock.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import { connectStream } from '../../test/fakes/stream-client.ts'
import { blockEvent } from '../../test/fakes/webhook-rig.ts'
import type { Cluster } from '../../test/postgres/cluster.ts'
import { until } from '../../test/until.ts'
import { type Figure, median } from '../frame.ts'
import { onCluster, storedIn } from '../on-cluster.ts'
import { startBenchService } from '../processes.ts'

/** Blocks come ten times a second. */
const EVERY_MS = 100
const WARM = 50
const EVENTS = 300

export const postgresStreamFigures = () => onCluster(streamFigures)

async function streamFigures(cluster: Cluster): Promise<Figure[]> {
  const address = `${cluster.address}?schema=flow`
  const service = await startBenchService({
    environment: { TAPELINE_SANDBOX: 'off', ...storedIn(address) },
  })
  const { chain, close } = openStores(parseStoreAddress(address), systemClock).chain('test')
  const arrivedAt = new Map<number, number>()
  const client = connectStream(`http://127.0.0.1:${service.port}`, service.key, {
    onEvent: ({ seq }) => void arrivedAt.set(seq, performance.now()),
  })
  try {
    client.send({ op: 'subscribe', kinds: ['block_added'] })
    await client.next('live')
    const writtenAt = new Map<number, number>()
    for (let n = 0; n < WARM + EVENTS; n++) {
      const seq = await appendEvents(chain, [blockEvent(n)])
      if (n >= WARM) writtenAt.set(seq, performance.now())
      await wait(EVERY_MS)
    }
    await until('every event has arrived', () => [...writtenAt.keys()].every((seq) => arrivedAt.has(seq)))
    const waits = [...writtenAt]
      .map(([seq, atMs]) => Math.max(0, (arrivedAt.get(seq) ?? Number.POSITIVE_INFINITY) - atMs))
      .sort((a, b) => a - b)
    return [
      {
        name: 'PostgreSQL: event log to stream in ms, 99th percentile',
        ...{ atMost: 150, value: waits[Math.floor(waits.length * 0.99)] ?? Number.NaN },
        detail: `median ${median(waits).toFixed(1)} ms, longest ${waits.at(-1)?.toFixed(1)} ms, ${EVENTS} events`,
      },
    ]
  } finally {
    client.close()
    await close()
    await service.stop()
  }
}
