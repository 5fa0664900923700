/** The indexing process is killed at random moments and resumes: the index is as if nothing had happened. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import type { ChainStore } from '../../src/store/chain.ts'
import { allEvents, caughtUp, depthOver, settled, startChainRig } from '../fakes/chain-rig.ts'
import { acceptances, assertAddress, assertLog } from '../fakes/chain-truth.ts'
import { storesIn } from '../fakes/stores.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'
import { until } from '../until.ts'

const ENTRY = join(import.meta.dirname, '../fakes/index-process.ts')
const KILLS = process.env.TAPELINE_SOAK === undefined ? 1 : 60

const GUARANTEE = 'after every kill -9 the index goes on where it stood, and loses and doubles nothing'

test(GUARANTEE, (t) => killAndCheck(t))

/** An indexer on PostgreSQL that is killed while another takes over: `test/many-machines/failover.test.ts`. */
const isShort = process.env.TAPELINE_SOAK === undefined
const skip = withoutPostgres || (isShort ? 'only in the long size: failover.test.ts kills one there' : false)

test(`${GUARANTEE}, on PostgreSQL`, { skip }, async (t) => {
  const place = postgresPlace()
  try {
    await killAndCheck(t, place.address)
  } finally {
    // Removed after the process that writes there has ended.
    t.after(() => place.remove())
  }
})

async function withChain<T>(store: string, look: (chain: ChainStore) => Promise<T>): Promise<T> {
  const { chain, close } = storesIn(store).chain('test')
  return look(chain).finally(close)
}

/** The number of chain blocks above the first one. */
const followedBlocks = (store: string) =>
  withChain(store, async (chain) => {
    const first = await chain.chainBlockBelow(1e9)
    return first === undefined ? 0 : ((await chain.chainAbove(first.hash))?.length ?? 0)
  })

async function killAndCheck(t: TestContext, storeAddress?: string): Promise<void> {
  const rig = await startChainRig({
    seed: 41,
    transactionsPerSecond: 8,
    reorgsPerMinute: 0,
    coinbaseMaturity: 50,
    keepBlocks: 50_000,
  })
  t.after(() => rig.close())
  const store = storeAddress ?? rig.folder
  const [node] = rig.nodes
  assert.ok(node)
  const run = () => {
    const child = spawn(process.execPath, [ENTRY, store, node.url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return { child, lines: createInterface({ input: child.stdout }) }
  }
  for (let kill = 0; kill < KILLS; kill++) {
    const { child, lines } = run()
    await once(lines, 'line')
    if (kill === 0) await until('followed blocks', async () => (await followedBlocks(store)) > 4, 60_000, 100)
    // The kill hits the work that a reorganisation and the blocks after it cause in the indexer.
    await systemClock.sleep(Math.random() * 400)
    await node.reorganize(
      kill === 0 ? await withChain(store, (chain) => depthOver(chain, node, 3)) : 3,
      kill % 2 === 0,
    )
    await systemClock.sleep(Math.random() * 150)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const { child, lines } = run()
  t.after(() => child.kill('SIGKILL'))
  await once(lines, 'line')
  await systemClock.sleep(500)
  rig.chain.chain.skipTo(systemClock.now() + 3_600_000)
  const database = storesIn(store).chain('test')
  t.after(() => database.close())
  await caughtUp(database, () => node.truth.sink())
  await settled(database)
  const { retractions, startScore } = assertLog(await allEvents(database), node)
  assert.ok(retractions > 0)
  const truth = { blueScore: startScore, accepted: acceptances(node) }
  let rows = 0
  for (const { address } of node.wallets()) rows += await assertAddress(database, node, address, truth)
  assert.ok(rows > 10, `${rows} rows`)
  assert.deepEqual(await database.chain.gaps(), [])
}
