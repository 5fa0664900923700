/** Following the chain while nodes die: nothing is lost and nothing is published twice. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSandboxChain, startSandboxNode } from '../../sandbox/node/run.ts'
import { systemClock } from '../../src/kit/clock.ts'
import type { ChainStores } from '../../src/store/chain.ts'
import { allEvents, caughtUp, settled, startChainRig } from '../fakes/chain-rig.ts'
import { acceptances, assertAddress, assertLog } from '../fakes/chain-truth.ts'
import { startNodeProcess } from '../fakes/sandbox-processes.ts'
import { startTestService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { connectStream } from '../fakes/stream-client.ts'
import { until } from '../until.ts'

const STREAMED = ['block_added', 'virtual_chain_changed', 'virtual_daa_score_changed']
const AWAY_MS = process.env.TAPELINE_SOAK === undefined ? 2_000 : 30_000

test('one node is killed, then all of them are gone for a while: no event is lost, none doubled', async (t) => {
  const rig = await startChainRig({
    nodes: 0,
    seed: 31,
    linkPort: 0,
    transactionsPerSecond: 8,
    reorgsPerMinute: 0,
    coinbaseMaturity: 50,
    keepBlocks: 20_000,
  })
  t.after(() => rig.close())
  const link = rig.chain.linkPort ?? 0
  const [a, b] = await Promise.all([startNodeProcess('a', link), startNodeProcess('b', link)])
  const witness = await startSandboxNode({ chain: rig.chain, name: 'witness' })
  t.after(() => witness.close())
  const spare = await startNodeProcess('c', link)
  t.after(() => Promise.all([a, b, spare].map((node) => node.end())))
  const followed = await rig.follow({ urls: [a.url, b.url, spare.url] })
  const { database } = followed
  await grown(database)
  const shake = setInterval(() => void witness.reorganize(4, false), 700)
  t.after(() => clearInterval(shake))
  await systemClock.sleep(1_000)

  // Each of the three nodes dies once, whichever carries the subscriptions.
  a.signal('SIGKILL')
  await systemClock.sleep(1_000)
  b.signal('SIGSTOP')
  await systemClock.sleep(1_000)
  spare.signal('SIGSTOP')
  await systemClock.sleep(AWAY_MS)
  b.signal('SIGCONT')
  spare.signal('SIGCONT')
  await systemClock.sleep(2_000)
  b.signal('SIGKILL')
  await systemClock.sleep(1_000)

  clearInterval(shake)
  await stopChain(rig)
  await caughtUp(database, () => witness.truth.sink())
  await settled(database)
  const events = await allEvents(database)
  const { retractions, startScore } = assertLog(events, witness)
  assert.ok(retractions > 0)
  const truth = { blueScore: startScore, accepted: acceptances(witness) }
  let rows = 0
  for (const { address } of witness.wallets()) rows += await assertAddress(database, witness, address, truth)
  assert.ok(rows > 30, `${rows} rows`)
  assert.deepEqual(followed.gaps, [])
})

test('a stream client gets every event of the log once while its node is killed, and while all are gone', async (t) => {
  const chain = await startSandboxChain({
    seed: 32,
    linkPort: 0,
    transactionsPerSecond: 8,
    reorgsPerMinute: 0,
    keepBlocks: 20_000,
  })
  t.after(() => chain.close())
  const link = chain.linkPort ?? 0
  const [a, b] = await Promise.all([startNodeProcess('a', link), startNodeProcess('b', link)])
  t.after(() => Promise.all([a, b].map((node) => node.end())))
  const witness = await startSandboxNode({ chain, name: 'witness' })
  t.after(() => witness.close())
  const service = await startTestService({
    env: { TAPELINE_TEST: 'off', TAPELINE_NODES: `${a.url},${b.url}`, TAPELINE_NETWORK: 'testnet-10' },
  })
  t.after(() => service.stop())
  const client = connectStream(service.url, await service.key({ environment: 'live' }))
  t.after(() => client.close())
  client.send({ op: 'subscribe', kinds: STREAMED, resume_after: 0 })
  await client.next('live')
  const database = storesIn(service.folder).chain('live')
  t.after(() => database.close())
  await until('the first blocks', () => client.events.length > 20)

  // Whichever node carried the subscriptions first, the second one carries them when it is killed.
  a.signal('SIGSTOP')
  await systemClock.sleep(4_000)
  a.signal('SIGCONT')
  await systemClock.sleep(1_000)
  b.signal('SIGKILL')
  const killedAt = client.events.length
  await until('events from the other node', () => client.events.length > killedAt + 40)

  // The last node is down too, for a while.
  a.signal('SIGSTOP')
  await systemClock.sleep(AWAY_MS)
  const goneAt = client.events.length
  a.signal('SIGCONT')
  await until('events after all were gone', () => client.events.length > goneAt + 40)
  chain.chain.skipTo(systemClock.now() + 3_600_000)
  await systemClock.sleep(200)
  await caughtUp(database, () => witness.truth.sink())
  await settled(database)

  const log = await allEvents(database)
  assertLog(log, witness)
  const wanted = log.filter(({ kind }) => STREAMED.includes(kind)).map(({ seq, id }) => ({ seq, id }))
  await until('the end of the log', () => client.events.at(-1)?.seq === wanted.at(-1)?.seq)
  assert.deepEqual(
    client.events.map(({ seq, id }) => ({ seq, id })),
    wanted,
  )
  assert.deepEqual(
    client.frames.filter(({ type }) => type === 'gap'),
    [],
  )
})

/** Waits until the chain is longer than what the test reorganises. */
async function grown(database: ChainStores): Promise<void> {
  for (;;) {
    const [tip, oldest] = [await database.chain.checkpoint(), await database.chain.chainBlockBelow(1e9)]
    if (tip !== undefined && oldest !== undefined && tip.blueScore - oldest.blueScore > 8) return
    await systemClock.sleep(50)
  }
}

/** Stops new blocks, so that the index can catch up with the node. */
async function stopChain(rig: Awaited<ReturnType<typeof startChainRig>>): Promise<void> {
  rig.chain.chain.skipTo(systemClock.now() + 3_600_000)
  await systemClock.sleep(200)
}
