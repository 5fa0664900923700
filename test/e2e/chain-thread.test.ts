/** Must hold: when the indexing thread dies it is started again, visibly, and no event is lost or doubled. */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { INDEX_THREAD } from '../../src/app/index-worker.ts'
import { allEvents, caughtUp, depthOver, settled } from '../fakes/chain-rig.ts'
import { startChainService } from '../fakes/chain-service.ts'
import { acceptances, assertAddress, assertLog } from '../fakes/chain-truth.ts'
import { storesIn } from '../fakes/stores.ts'
import { until } from '../until.ts'

const REORGANISED = 10
/** The same value as in `supervise-indexing.ts`. */
const RESTARTED_AFTER_MS = 250
const DEATHS = process.env.TAPELINE_SOAK === undefined ? 1 : 30

test('a thread that dies again and again comes back, and the log is as if nothing had happened', async (t) => {
  const threads: Worker[] = []
  const note = (message: unknown) => {
    const { worker } = message as { worker: Worker }
    threads.push(worker)
  }
  subscribe('worker_threads', note)
  t.after(() => unsubscribe('worker_threads', note))
  const chain = await startChainService({
    nodes: 1,
    chain: {
      seed: 23,
      transactionsPerSecond: 8,
      reorgsPerMinute: 0,
      coinbaseMaturity: 50,
      keepBlocks: 20_000,
    },
  })
  t.after(() => chain.stop())
  const database = storesIn(chain.service.folder).chain('live')
  t.after(() => database.close())
  const [node] = chain.nodes
  assert.ok(node)
  const key = await chain.key()
  const { url } = chain.service
  const status = async () =>
    (await chain.get('/v1/status', key)).json.index as { state: string; restarts: number; gaps: object[] }
  const shownIndex = async () => {
    const { state, restarts } = await status()
    return { state, restarts }
  }
  // A reorganisation that goes below the first block of the index brings blocks that are older than it.
  const indexed = async () => (await database.chain.checkpoint())?.blueScore ?? 0
  await until('an index', async () => (await indexed()) > 0)
  const enough = (await indexed()) + 2 * REORGANISED
  await until('a longer index', async () => (await indexed()) > enough)
  assert.deepEqual(await shownIndex(), { state: 'running', restarts: 0 })

  for (let death = 1, seen = 0; seen < DEATHS; death++) {
    assert.ok(death <= 10 * DEATHS, 'its absence is never seen in time')
    // Deep enough to undo something that the index has applied, however far behind it is.
    await node.reorganize(await depthOver(database.chain, node, REORGANISED), false)
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 300))
    const thread = threads.findLast(({ threadName }) => threadName === INDEX_THREAD)
    assert.ok(thread)
    const endedMs = performance.now()
    await thread.terminate()
    const ready = await fetch(`${url}/ready`)
    const [text, shown] = [await ready.text(), await shownIndex()]
    // On a busy machine the answers may arrive after it is back.
    if (performance.now() - endedMs < RESTARTED_AFTER_MS) {
      assert.equal(ready.status, 503)
      assert.match(text, /live indexer/)
      assert.deepEqual(shown, { state: 'restarting', restarts: death - 1 })
      seen++
    }
    await until('a new thread', async () => (await shownIndex()).restarts === death)
    assert.equal((await shownIndex()).state, 'running')
  }
  await until('ready', async () => (await fetch(`${url}/ready`)).status === 200)

  chain.chain.chain.skipTo(Date.now() + 3_600_000)
  await caughtUp(database, () => node.truth.sink())
  await settled(database)
  const { retractions, startScore } = assertLog(await allEvents(database), node)
  assert.ok(retractions > 0)
  const truth = { blueScore: startScore, accepted: acceptances(node) }
  let rows = 0
  for (const { address } of node.wallets()) rows += await assertAddress(database, node, address, truth)
  assert.ok(rows > 10, `${rows} rows`)
  assert.deepEqual(await database.chain.gaps(), [])
})
