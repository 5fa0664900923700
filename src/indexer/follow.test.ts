import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allEvents, caughtUp, settled, startChainRig } from '../../test/fakes/chain-rig.ts'
import {
  acceptances,
  assertAddress,
  assertLog,
  chainBalance,
  historyOf,
} from '../../test/fakes/chain-truth.ts'
import { assertCovenants } from '../../test/fakes/covenant-truth.ts'
import { drawnSeed } from '../../test/seeded-random.ts'
import { until } from '../../test/until.ts'
import { systemClock } from '../kit/clock.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined
const SIZE = SOAK ? { blocks: 36_000, reorgs: 200 } : { blocks: 240, reorgs: 8 }

const WARM_UP_BLOCKS = 300

const SEED = drawnSeed()

function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

test(`after many reorganisations (seed ${SEED}) every address has the history, status and balance that the node has`, async (t) => {
  const rig = await startChainRig({
    seed: 11,
    paced: false,
    reorgsPerMinute: 0,
    transactionsPerSecond: 8,
    warmUpBlocks: WARM_UP_BLOCKS,
    coinbaseMaturity: 50,
    // Keeps all blocks, because pruned ones could not be compared.
    keepBlocks: WARM_UP_BLOCKS + SIZE.blocks * 3,
  })
  t.after(() => rig.close())
  const [node] = rig.nodes
  assert.ok(node)
  const pick = random(SEED)
  const startHash = node.truth.sink()
  const balances = new Map(
    node.wallets().map(({ address }) => [address, chainBalance(rig.chain, node, address)]),
  )
  const followed = await rig.follow()
  const { database } = followed
  await caughtUp(database, () => startHash)

  const every = Math.floor(SIZE.blocks / SIZE.reorgs)
  let deep = 0
  for (let block = 1; block <= SIZE.blocks; block++) {
    rig.chain.chain.step()
    if (block % every === 0) {
      const isDeep = pick(5) === 0 || (deep === 0 && block > SIZE.blocks / 2)
      const depth = isDeep ? 20 + pick(20) : 1 + pick(6)
      if (depth >= 20) deep++
      // Only what has been followed can be retracted.
      if (isDeep || pick(2) === 0) await caughtUp(database, () => node.truth.sink())
      await node.reorganize(Math.min(depth, Math.floor(block * 0.6)), pick(3) === 0)
    }
    if (block % 7 === 0) await new Promise((resolve) => setImmediate(resolve))
    if (pick(40) === 0) await caughtUp(database, () => node.truth.sink())
  }
  await caughtUp(database, () => node.truth.sink())
  await settled(database)
  assert.ok(deep > 0, 'some of them are deep')

  const events = await allEvents(database)
  const { retractions, startScore } = assertLog(events, node)
  assert.ok(retractions > SIZE.reorgs, `${retractions} confirmations were taken back`)

  const start = { blueScore: startScore, accepted: acceptances(node) }
  let rows = 0
  for (const [address, before] of balances) {
    const after = chainBalance(rig.chain, node, address)
    rows += await assertAddress(database, node, address, start, { before, after })
  }
  const strangers = [...new Set(events.flatMap((event) => event.addresses))].filter((a) => !balances.has(a))
  let compared = 0
  for (let i = 0; i < Math.min(60, strangers.length); i++) {
    const address = strangers[pick(strangers.length)] ?? ''
    const before = node.truth
      .address(address)
      .transactions.filter((tx) => tx.acceptingBlueScore <= BigInt(startScore))
      .reduce((sum, tx) => sum + tx.received - tx.sent, 0n)
    const after = chainBalance(rig.chain, node, address)
    rows += await assertAddress(database, node, address, start, { before, after })
    compared++
  }
  assert.ok(compared >= 20, `${compared} addresses that nobody asked for were compared`)
  assert.ok(rows > 100, `${rows} rows were compared`)
  const covenants = await assertCovenants(database, rig.chain, startScore)
  assert.ok(covenants > 3, `${covenants} covenants were compared`)
  // Stopping while the node has calls to answer: cancelled calls are not reported as trouble.
  node.setFaults({ latencyMs: 1_000 })
  await systemClock.sleep(250)
  await followed.stop()
  assert.deepEqual(followed.gaps, [])
  assert.deepEqual(followed.troubles, [])
})

test('a double-spent transaction goes from confirmed to pending to dropped, and its rows with it', async (t) => {
  const rig = await startChainRig({
    seed: 4,
    paced: false,
    reorgsPerMinute: 0,
    warmUpBlocks: 100,
    coinbaseMaturity: 20,
  })
  t.after(() => rig.close())
  const [node] = rig.nodes
  assert.ok(node)
  const { database } = await rig.follow({ dropAfterMs: 700 })
  await caughtUp(database, () => node.truth.sink())
  const mine = async (blocks: number) => {
    for (let i = 0; i < blocks; i++) rig.chain.chain.step()
    await caughtUp(database, () => node.truth.sink())
  }
  await mine(30)
  const before = new Set((await allEvents(database)).flatMap((event) => event.addresses))
  let lost: string | undefined
  for (let round = 0; round < 30 && lost === undefined; round++) {
    await mine(4)
    const confirmed = node.truth
      .chain()
      .slice(-8)
      .flatMap((block) => block.accepted.map((tx) => tx.transactionId))
    await node.reorganize(6, true)
    await mine(3)
    for (const txId of confirmed) {
      const row = await database.chain.transaction(txId)
      if (
        row !== undefined &&
        !row.parsed.includes('"coinbase"') &&
        node.truth.transaction(txId) === undefined
      )
        lost = txId
    }
  }
  assert.ok(lost, 'a payment was taken back')
  assert.notEqual((await database.chain.transaction(lost))?.status, 'confirmed')
  const accepted = node.truth.transaction(lost)
  const expected = accepted === undefined ? 'dropped' : 'confirmed'
  const lostId = lost
  await until(expected, async () => (await database.chain.transaction(lostId))?.status === expected)
  const row = await database.chain.transaction(lost)
  for (const address of before) {
    for (const item of await historyOf(database, address)) {
      if (item.txId === lost) assert.equal(item.status, row?.status)
    }
  }
})

test('what a node shows before the index has its first block is not taken for pending', async (t) => {
  const rig = await startChainRig({
    seed: 12,
    paced: false,
    reorgsPerMinute: 0,
    transactionsPerSecond: 30,
    warmUpBlocks: 100,
    coinbaseMaturity: 20,
  })
  t.after(() => rig.close())
  const [node] = rig.nodes
  assert.ok(node)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let looks = 0
  const { database } = await rig.follow({
    // The loops run, but the one that begins the index is held.
    wrap: (indexer) => ({
      ...indexer,
      checkpoint: async () => {
        if (looks++ > 0) await released
        return indexer.checkpoint()
      },
    }),
  })
  const mine = async (blocks: number) => {
    for (let block = 0; block < blocks; block++) {
      rig.chain.chain.step()
      await systemClock.sleep(20)
    }
  }
  await mine(20)
  const startHash = node.truth.sink()
  release()
  await caughtUp(database, () => startHash)
  await mine(20)
  await caughtUp(database, () => node.truth.sink())
  await settled(database)
  const { startScore } = assertLog(await allEvents(database), node)
  const start = { blueScore: startScore, accepted: acceptances(node) }
  let rows = 0
  for (const { address } of node.wallets()) rows += await assertAddress(database, node, address, start)
  assert.ok(rows > 0)
})
