/** The indexing process is killed at random moments and resumes: the index is as if nothing had happened. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import { allEvents, settled, startChainRig } from '../fakes/chain-rig.ts'
import { acceptances, assertAddress, assertLog } from '../fakes/chain-truth.ts'
import { storesIn } from '../fakes/stores.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'

const ENTRY = join(import.meta.dirname, '../fakes/index-process.ts')
const KILLS = process.env.TAPELINE_SOAK === undefined ? 2 : 60

const GUARANTEE = 'after every kill -9 the index goes on where it stood, and loses and doubles nothing'

test(GUARANTEE, (t) => killAndCheck(t))

test(`${GUARANTEE}, on PostgreSQL`, { skip: withoutPostgres }, async (t) => {
  const place = postgresPlace()
  try {
    await killAndCheck(t, place.address)
  } finally {
    // After the process that writes there has ended.
    t.after(() => place.remove())
  }
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
    if (kill === 0) await systemClock.sleep(1_000)
    // The kill falls into whatever a reorganisation and the blocks after it make the indexer do.
    await systemClock.sleep(Math.random() * 400)
    await node.reorganize(3, kill % 2 === 0)
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
  const endsAt = performance.now() + 15_000
  while ((await database.chain.checkpoint())?.hash !== node.truth.sink()) {
    assert.ok(performance.now() < endsAt, 'the index reaches the end')
    await systemClock.sleep(50)
  }
  await settled(database)
  const { retractions, startScore } = assertLog(await allEvents(database), node)
  assert.ok(retractions > 0)
  const truth = { blueScore: startScore, accepted: acceptances(node) }
  let rows = 0
  for (const { address } of node.wallets()) rows += await assertAddress(database, node, address, truth)
  assert.ok(rows > 10, `${rows} rows`)
  assert.deepEqual(await database.chain.gaps(), [])
}
