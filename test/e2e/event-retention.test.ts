/** How long the running service keeps events: by time and by size, according to its settings. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { loadConfig } from '../../src/config/config.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { dataFolder, startTestService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { connectStream } from '../fakes/stream-client.ts'
import { blockEvent } from '../fakes/webhook-rig.ts'
import { startFakeNode } from '../fakes/wrpc-node.ts'
import { until } from '../until.ts'

const DAY_MS = 86_400_000

/** A service on a log that has ten events of each age, oldest first. */
async function startOn(t: TestContext, agesDays: readonly number[], env: Record<string, string> = {}) {
  const folder = dataFolder().path
  const database = storesIn(folder).chain('live')
  t.after(() => database.close())
  const nowMs = Date.now()
  for (const days of agesDays) {
    const event = { ...blockEvent(1), createdAtMs: nowMs - days * DAY_MS }
    await appendEvents(database.chain, new Array(10).fill(event))
  }
  const before = await database.events.bounds()
  const node = await startFakeNode({ networkId: 'testnet-10' })
  t.after(() => node.close())
  const service = await startTestService({
    folder,
    env: { TAPELINE_TEST: 'off', TAPELINE_NODES: node.url, TAPELINE_NETWORK: 'testnet-10', ...env },
  })
  t.after(() => service.stop())
  return { database, service, before }
}

test('events are kept for 7 days live and 1 day in the test environment unless a setting says otherwise', async (t) => {
  const { config } = loadConfig({})
  assert.deepEqual([config.eventDays, config.testEventDays], [7, 1])
  const { database, service } = await startOn(t, [8, 6.9, 0])
  await until('the old ones are forgotten', async () => (await database.events.bounds()).oldestSeq === 11)
  const client = connectStream(service.url, await service.key({ environment: 'live' }))
  client.send({ op: 'subscribe', kinds: ['block_added'], resume_after: 4 })
  const gap = await client.next('gap')
  assert.deepEqual([gap.reason, gap.after_seq, gap.up_to_seq], ['retention', 4, 10])
  await client.next('live')
  assert.equal(client.events.length, 20)
  client.close()
})

test('a shorter time and a smaller size are kept as they are set, whichever is reached first', async (t) => {
  const byTime = await startOn(t, [8, 6.9, 2.5, 0], { TAPELINE_EVENT_DAYS: '3' })
  await until('by time', async () => (await byTime.database.events.bounds()).oldestSeq === 21)
  const ages = Array.from({ length: 900 }, () => 0)
  const bySize = await startOn(t, ages, { TAPELINE_EVENT_BYTES: '1048576' })
  assert.ok(bySize.before.bytes > 2_000_000, `${bySize.before.bytes} bytes`)
  await until('by size', async () => (await bySize.database.events.bounds()).bytes <= 1_048_576)
  const { oldestSeq, newestSeq, bytes } = await bySize.database.events.bounds()
  assert.ok(bytes > 900_000, 'and not much more than needed goes')
  assert.equal(newestSeq, 9_000)
  assert.ok(oldestSeq > 1)
})
